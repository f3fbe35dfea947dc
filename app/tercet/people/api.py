"""REST: what is stored about a labeler, for owners: take it out, or erase it."""

from fastapi import APIRouter, Response

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.people import service
from tercet.people.schemas import AnswersOfErased, ErasedOut, LabelerData
from tercet.web.dependencies import Db
from tercet.web.numbers import Id
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["people"], responses=problems(401, 403, 404))


@router.get("/{project}/labelers/{labeler}/data")
def get_labeler_data(project: str, labeler: Id, me: Me, db: Db, response: Response) -> LabelerData:
    """Take out everything that is stored about a labeler in this project, as one JSON object.

    Name, address, sign-ins, answers with their notes, skips, flags, decisions about the answers, and what the audit log
    says that they did.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        data = service.everything_about(session, access.project, labeler)
    name = f"{project}-labeler-{labeler}.json"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return data


@router.delete("/{project}/labelers/{labeler}", responses=problems(409))
def erase_labeler(
    project: str, labeler: Id, me: Me, db: Db, answers: AnswersOfErased = AnswersOfErased.KEEP
) -> ErasedOut:
    """Erase a labeler: name, links, sign-ins, skips, and the notes on answers and flags. This cannot be undone.

    With `answers=keep` the answers stay under a pseudonym; with `remove` they go too, their questions are asked again,
    and the next run does without them. The audit log and earlier backups are left as they are. 409: they are analyst
    or owner, or erased already.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        return ErasedOut.model_validate(service.erase(session, access.project, labeler, answers))
