"""REST: edit clusters by hand, read the log of edits, take edits back."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.edits import service
from tercet.edits.schemas import EditIn, EditList, EditOut
from tercet.web.dependencies import Blobs, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count, Id
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["edits"], responses=problems(401, 403, 404), route_class=JsonRoute)


@router.post("/{project}/edits", status_code=201, responses=problems(409, 422))
def post_edit(project: str, body: EditIn, me: Me, db: Db, blobs: Blobs) -> EditOut:
    """Edit clusters by hand.

    Items are moved, kept where they are or out of there, called typical of their clusters, declared to belong together
    or apart, or split off as a cluster of their own; two clusters are merged. Typical items stay where they are, come
    first among `exemplars`, and labelers compare others with them. An edit is stored as links between pairs of items,
    which the next run, queued at once, learns from as from answers. To merge makes the number of clusters one less, to
    split one more. 409: no run is done. 422: there is no such item or cluster.
    """
    with db.transaction() as session:
        return service.make(session, blobs, authorize(session, me, project, Action.WRITE), body)


@router.get("/{project}/edits", responses=problems(422))
def get_edits(
    project: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    before: Id | None = None,
    limit: Annotated[Count, Query(ge=1, le=100)] = 20,
) -> EditList:
    """List edits, newest first.

    With how many of their links hold in the newest finished run. Give `next` of one page as `before` of the next.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return service.page(session, blobs, access.project, before, limit)


@router.delete("/{project}/edits/{edit}", responses=problems(409))
def delete_edit(project: str, edit: Id, me: Me, db: Db, blobs: Blobs) -> EditOut:
    """Take an edit back.

    It stays in the log, and runs do not learn from it any more. 409: it was taken back before.
    """
    with db.transaction() as session:
        return service.take_back(session, blobs, authorize(session, me, project, Action.WRITE), edit)
