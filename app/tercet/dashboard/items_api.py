"""REST: list items, by what they are and by the cluster they lie in."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.errors import FieldError, Invalid
from tercet.items import queries
from tercet.items.queries import ItemFilters
from tercet.items.schemas import ItemList, ItemOut
from tercet.runs.service import positions_in_cluster
from tercet.web.dependencies import Blobs, Db
from tercet.web.numbers import Count, Id, Position
from tercet.web.problems import problems
from tercet.web.texts import Text

MOST_KEYS = 500
MOST_COLUMNS = 20

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404))


@router.get("/{project}/items", responses=problems(422))
def get_items(
    project: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    after: Annotated[Position, Query(description="position of the last item of the page before")] = -1,
    limit: Annotated[Count, Query(ge=1, le=1_000)] = 100,
    set_aside: Annotated[bool, Query(description="list the items that are set aside instead")] = False,
    key: Annotated[list[Text] | None, Query(max_length=MOST_KEYS, description="give it again for several")] = None,
    bag: Annotated[Text | None, Query(description="key of a bag")] = None,
    label: Annotated[Text | None, Query(description="one of the labels of an item's bag")] = None,
    metadata: Annotated[
        list[Text] | None,
        Query(max_length=MOST_COLUMNS, description="column=value, such as site=A1; of several, all hold"),
    ] = None,
    tag: Annotated[Text | None, Query(max_length=40, description="only the items with this tag")] = None,
    cluster: Annotated[Id | None, Query(description="number of a cluster of the newest run")] = None,
) -> ItemList:
    """List the items in their order, without those that are set aside; of several conditions, all hold.

    Give `next` of one page as `after` of the next. 404: no run is done yet of which there could be a cluster. 422: the
    newest run has no such cluster, or `metadata` is not column=value.
    """
    cells = [_cell(text) for text in metadata or []]
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        places = None if cluster is None else positions_in_cluster(session, blobs, access.project, cluster)
        filters = ItemFilters(set_aside, key or (), bag, label, cells, tag, places)
        rows = queries.page_of_items(session, access.project.id, after, limit + 1, filters)
        tags = queries.tags_by_position(session, access.project.id, [item.position for item, _ in rows])
    page = [ItemOut.of_item(access.project.key, item, bag_key, tags) for item, bag_key in rows[:limit]]
    return ItemList(items=page, next=page[-1].position if len(rows) > limit else None)


def _cell(text: str) -> tuple[str, str]:
    column, separator, value = text.partition("=")
    if not separator or not column:
        raise Invalid("A column was not understood.", [FieldError("metadata", "column=value was expected: site=A1")])
    return column, value
