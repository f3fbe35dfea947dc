"""The form on the settings page that erases a labeler."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.people import service
from tercet.people.schemas import AnswersOfErased
from tercet.web.dependencies import Db
from tercet.web.numbers import Id

router = APIRouter(include_in_schema=False)


@router.post("/projects/{project}/settings/labelers/{labeler}/erase")
def erase_labeler(
    project: str, labeler: Id, me: Me, db: Db, answers: Annotated[AnswersOfErased, Form()]
) -> RedirectResponse:
    """Erase a labeler."""
    with db.transaction() as session:
        service.erase(session, authorize(session, me, project, Action.OWN).project, labeler, answers)
    return RedirectResponse(f"/projects/{project}/settings#labelers", 303)
