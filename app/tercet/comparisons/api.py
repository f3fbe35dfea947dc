"""REST: compare systems."""

from fastapi import APIRouter

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.comparisons import service
from tercet.comparisons.schemas import ComparisonIn, ComparisonOut
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["runs"], responses=problems(401, 403, 404), route_class=JsonRoute)


@router.post("/{project}/comparisons", status_code=202, responses=problems(409, 422))
def post_comparison(project: str, body: ComparisonIn, me: Me, db: Db) -> ComparisonOut:
    """Compare systems.

    Each is fitted several times and judged by answers that it has not seen. That takes as long as tens of runs;
    runs that people wait for go first. It is a run like others: `POST .../runs/{run}/cancel` ends it. 409: there are
    no features yet, or a comparison is under way. 422: a system is not known, or the project lacks what it needs.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return ComparisonOut.of(service.request_comparison(session, access.project, body.systems))


@router.get("/{project}/comparisons/latest")
def get_comparison(project: str, me: Me, db: Db) -> ComparisonOut:
    """Read the newest comparison, whatever its status.

    `sentence` says which system is recommended, why, and whether its lead is more than luck. 404: there is none.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return ComparisonOut.of(service.latest(session, access.project))
