"""REST: the figures of the dashboard."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.dashboard import columns, service, suggestions
from tercet.dashboard.schemas import (
    ColumnList,
    ColumnValues,
    MapItems,
    Positions,
    SuggestionChange,
    SuggestionList,
    Summary,
)
from tercet.errors import FieldError, Invalid
from tercet.items import filtering
from tercet.items.filtering import ItemFilter
from tercet.web.dependencies import Blobs, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count
from tercet.web.problems import problems
from tercet.web.texts import Text

MOST_ITEMS = 500
Limit = Annotated[Count, Query(ge=1, le=200)]
By = Annotated[Text, Query(max_length=210, examples=["column:site"])]
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


@router.get("/{project}/columns")
def get_columns(project: str, me: Me, db: Db) -> ColumnList:
    """List what items can be coloured by.

    Their bags, how many labelers were asked about them, columns of their metadata, their features.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return ColumnList(columns=columns.offered(session, access.project))


@router.get("/{project}/columns/values", responses=problems(422))
def get_column_values(project: str, by: By, me: Me, db: Db, blobs: Blobs) -> ColumnValues:
    """Read one value of every item.

    `by` is one of `GET .../columns`. Numbers of which nine or more differ are numbers, all else are groups. 422: there
    is no such column, or it has more than 80 groups.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return columns.values(session, blobs, access.project, by)


@router.get("/{project}/search")
def search_items(project: str, items: Annotated[ItemFilter, Query()], me: Me, db: Db) -> Positions:
    """Search items.

    The rows in the map of the items in use that pass all parts of the filter: that have a text, in capitals or not, in
    key, text, bag or metadata, a tag, or a value in a column. The dashboard and the answers page take the same filter.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return Positions(positions=filtering.positions(session, access.project.id, items))


@router.get("/{project}/similar", responses=problems(409, 422))
def get_similar(project: str, at: Count, me: Me, db: Db, blobs: Blobs, limit: Limit = 50) -> Positions:
    """List items like one.

    The rows in the map of the items whose features are nearest to those of the item in row `at`, itself first. Each
    feature counts by its own spread. 409: there are no features. 422: the row has no item.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return Positions(positions=columns.similar(session, blobs, access.project, at, limit))


@router.get("/{project}/suggestions")
def get_suggestions(project: str, me: Me, db: Db, blobs: Blobs) -> SuggestionList:
    """List what the newest finished run suggests to do next, and count the labelers on hold.

    Clusters that may be one, clusters of few items, and how many more answers are worthwhile. Suggestions that were
    dismissed are listed too. `GET .../labelers` says who is on hold, and why.
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
