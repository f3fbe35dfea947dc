"""Alternative clusterings over REST: find one, name it, compare it, make it the current one."""

from typing import Annotated

from fastapi import APIRouter, Query

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.alternatives import overview, service
from tercet.alternatives.schemas import AlternativeList, AnotherIn, Contingency, RunName
from tercet.runs.schemas import RunOut
from tercet.web.dependencies import Blobs, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.problems import problems

router = APIRouter(
    prefix="/api/v1/projects", tags=["alternatives"], responses=problems(401, 403, 404), route_class=JsonRoute
)


@router.post("/{project}/runs/{run}/another", status_code=202, responses=problems(409, 422))
def find_another(project: str, run: str, body: AnotherIn, me: Me, db: Db) -> RunOut:
    """Find another clustering.

    One that is unlike this run's clusters, those of `known_runs` and the groups of `known_columns` of metadata. It is
    a run of the purpose `alternative`, which stands beside: labelers, `latest` and the dashboard keep the current one.
    409: the run has no clusters. 422: what it shall be unlike does not exist, or there are fewer items than clusters.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return RunOut.of(service.find_another(session, access.project, run, body))


@router.post("/{project}/runs/{run}/adopt", status_code=201, responses=problems(409))
def adopt(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RunOut:
    """Make a run's clustering the current one.

    That of an alternative, or of an older run, which is so restored. Returns the new run, which has the same clusters
    and names; the next run with new answers continues from it. Adopting the former clustering undoes it. 409: the run
    has no clusters, or is the current one.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return RunOut.of(service.adopt(session, blobs, access.project, run))


@router.patch("/{project}/runs/{run}", responses=problems(422))
def patch_run(project: str, run: str, body: RunName, me: Me, db: Db) -> RunOut:
    """Name a run.

    Nothing else of a run can be changed.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return RunOut.of(service.name_run(session, access.project, run, body.name))


@router.get("/{project}/runs/{run}/contingency", responses=problems(409, 422))
def get_contingency(
    project: str,
    run: str,
    grouping: Annotated[str, Query(alias="with", max_length=200, examples=["recorder"])],
    me: Me,
    db: Db,
    blobs: Blobs,
) -> Contingency:
    """Compare a run's clusters with another grouping.

    `with` is the number of another run, `latest`, or a column of the items' metadata. 409: one of the runs has no
    clusters.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return overview.contingency(session, blobs, access.project, run, grouping)


@router.get("/{project}/alternatives")
def get_alternatives(project: str, me: Me, db: Db, blobs: Blobs) -> AlternativeList:
    """List the alternative clusterings.

    The current clustering, the newest twenty alternatives and named runs, what these are unlike, and how much each
    shares with each.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return overview.list_alternatives(session, blobs, access.project)
