"""REST: how the clusters of two runs differ, and what a labeler's answers changed."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.history import effects, service
from tercet.history.schemas import Effect, RunChanges
from tercet.web.dependencies import Blobs, Db, InWords
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


@router.get("/{project}/effect-of-my-answers")
def get_effect(project: str, me: Me, db: Db, blobs: Blobs, words: InWords) -> Effect:
    """Read what your newest fifty answers that runs know have changed.

    It is computed from the last run before them and the first that knows all of them: how many items moved, whether two
    clusters are told apart better, and how many new answers were foreseen. `sentence` is null where the runs differ in
    more than their answers: in parameters, items or edits of clusters.
    """
    with db.reading() as session:
        return effects.effect(session, blobs, authorize(session, me, project, Action.LABEL), words)
