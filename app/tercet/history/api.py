"""REST: how the clusters of two runs differ."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, Me, authorize
from tercet.history import service
from tercet.history.schemas import RunChanges
from tercet.web.dependencies import Blobs, Db
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["runs"], responses=problems(401, 403, 404))


@router.get("/{project}/runs/{run}/changes", responses=problems(409, 422))
def get_run_changes(
    project: str,
    run: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    since: Annotated[str | None, Query(max_length=20, examples=["40"])] = None,
) -> RunChanges:
    """Compare a run with an earlier one.

    Which clusters go together, how many items went from which cluster to which, the items that moved, the answers about
    them that only the later run knows, and the parameters that differ. Without `since`, the number of the other run, it
    is the one before. `POST .../runs/{run}/adopt` makes an earlier run's clusters the current ones again. 409: a run
    has no clusters, or there is no run before. 422: both are the same run.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return service.as_json(service.changes(session, blobs, access.project, run, since))
