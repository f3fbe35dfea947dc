"""REST: list the algorithms."""

from fastapi import APIRouter

from tercet.accounts.access import identify
from tercet.accounts.dependencies import Me
from tercet.catalogue.algorithms import ALGORITHMS
from tercet.catalogue.schemas import AlgorithmList, AlgorithmOut
from tercet.web.dependencies import Db
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/algorithms", tags=["runs"], responses=problems(401, 403))


@router.get("")
def get_algorithms(me: Me, db: Db) -> AlgorithmList:
    """List the algorithms that a project or a run may name.

    Each with its parameters as a JSON schema: what they do, their bounds and their defaults.
    """
    with db.reading() as session:
        identify(session, me)
    return AlgorithmList(algorithms=[AlgorithmOut.of(algorithm) for algorithm in ALGORITHMS.values()])
