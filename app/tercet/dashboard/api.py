"""REST: the figures of the dashboard."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, Me, authorize
from tercet.dashboard import service, suggestions
from tercet.dashboard.schemas import MapItems, SuggestionChange, SuggestionList, Summary
from tercet.web.dependencies import Blobs, Db
from tercet.web.errors import FieldError, Invalid
from tercet.web.json_bodies import JsonRoute
from tercet.web.problems import problems

MOST_ITEMS = 500
ERRORS = problems(401, 403, 404)

router = APIRouter(prefix="/api/v1/projects", tags=["dashboard"], responses=ERRORS, route_class=JsonRoute)


@router.get("/{project}/summary")
def get_summary(project: str, me: Me, db: Db) -> Summary:
    """Return the figures of the dashboard.

    Answers in total and per labeler, what happens next, the newest finished run and the last fifty of any status.
    Needs the role of an analyst; 404 for those who are no members.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return service.summarize(session, access.project)


@router.get("/{project}/positions", responses=problems(422))
def get_positions(project: str, at: Annotated[str, Query(examples=["16,3"])], me: Me, db: Db) -> MapItems:
    """Describe the items at up to 500 rows of the map.

    `at` lists the rows, from 0, separated by commas. 422: a row that is no number or has no item.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return service.map_items(session, access.project, _read_numbers(at))


@router.get("/{project}/suggestions")
def get_suggestions(project: str, me: Me, db: Db, blobs: Blobs) -> SuggestionList:
    """List what the newest finished run suggests to do next.

    Clusters that may be one, clusters of few items, and how many more answers are worthwhile. Suggestions that were
    dismissed are listed too.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return service.suggest(session, blobs, access.project)


@router.put("/{project}/suggestions", responses=problems(422))
def put_suggestion(project: str, body: SuggestionChange, me: Me, db: Db) -> SuggestionChange:
    """Dismiss a suggestion, or take that back.

    A dismissal holds until it is taken back or a cluster that it is about is gone; clusters that a merge renumbers take
    theirs along.
    """
    with db.transaction() as session:
        suggestions.change(session, authorize(session, me, project, Action.WRITE), body)
        return body


def _read_numbers(text: str) -> list[int]:
    parts = text.split(",")
    if len(parts) > MOST_ITEMS or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        detail = f"up to {MOST_ITEMS} numbers separated by commas are expected"
        raise Invalid("The rows cannot be read.", [FieldError("at", detail)])
    return [int(part) for part in parts]
