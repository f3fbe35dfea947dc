"""REST: start, read and cancel runs; read their clusters and results."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.runs import export, queries, results, schedule, service
from tercet.runs.export import Sort
from tercet.runs.schemas import (
    ITEM_EXAMPLE,
    ClusterList,
    ClusterName,
    ItemsBetween,
    NamedCluster,
    RunIn,
    RunList,
    RunOut,
)
from tercet.runs.waiting import when_ended
from tercet.web.dependencies import Blobs, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count, Id
from tercet.web.problems import problems
from tercet.web.row_formats import RowFormat

router = APIRouter(prefix="/api/v1/projects", tags=["runs"], responses=problems(401, 403, 404), route_class=JsonRoute)
Wait = Annotated[Count, Query(ge=0, le=30, description="how many seconds to wait for its end, at most")]
FOREVER = "private, max-age=31536000, immutable"
ROW: dict[str, Any] = {"item": ITEM_EXAMPLE["key"], "cluster": 1, "confidence": 0.99, "tags": ["two birds"]}
ROWS: dict[str, Any] = {"run": 41, "items": [ROW]}


def _binary(description: str, example: str) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a response of bytes that browsers cache."""
    return {
        **problems(409),
        200: {"description": description, "content": {"application/octet-stream": {"example": example}}},
        304: {"description": "Not changed since the ETag that was sent."},
    }


@router.post("/{project}/runs", status_code=202, responses=problems(409, 422))
def post_run(project: str, body: RunIn, me: Me, db: Db, response: Response) -> RunOut:
    """Start a run; `Location` is its address.

    It is queued and starts within a second unless a run of the project is being computed; at most one run waits,
    and asking again changes the one that does. 409: there are neither features nor answers. 422: the algorithm
    or a parameter is not known or out of range, there are fewer items than clusters, or the algorithm needs features.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        run = schedule.request_run(
            session, access.project, reason="request", algorithm=body.algorithm, parameters=body.parameters
        )
        response.headers["Location"] = f"/api/v1/projects/{project}/runs/{run.number}"
        return RunOut.of(run)


@router.get("/{project}/runs")
def get_runs(
    project: str, me: Me, db: Db, after: Count | None = None, limit: Annotated[Count, Query(ge=1, le=1_000)] = 50
) -> RunList:
    """List runs, newest first.

    Give `next` of one page as `after` of the next.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        runs = queries.page_of_runs(session, access.project.id, after, limit + 1)
        page = [RunOut.of(run) for run in runs[:limit]]
        return RunList(runs=page, next=page[-1].number if len(runs) > limit else None)


@router.get("/{project}/runs/{run}")
async def get_run(project: str, run: str, me: Me, db: Db, wait: Wait = 0) -> RunOut:
    """Read a run.

    `run` is a number, or `latest` for the newest one that is done. With `wait` the response comes when the run has
    ended, or after so many seconds.
    """

    def read() -> RunOut:
        with db.reading() as session:
            access = authorize(session, me, project, Action.READ)
            return RunOut.of(service.find_run(session, access.project, run))

    return await when_ended(read, wait)


@router.post("/{project}/runs/{run}/cancel", status_code=202, responses=problems(409))
def cancel_run(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RunOut:
    """Cancel a run.

    One that waits ends at once; one that is being computed ends at its next checkpoint, within about a second.
    409: it has already ended.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return RunOut.of(service.cancel_run(session, blobs, access.project, run))


@router.get("/{project}/runs/{run}/clusters", responses=problems(409))
def get_clusters(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> ClusterList:
    """List a run's clusters.

    Each with its size, mean confidence, up to six typical items and up to six that it is least sure of. 409: the
    run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        row, key = service.find_result(session, access.project, run)
        return ClusterList(run=row.number, clusters=service.clusters(session, blobs, access.project, row, key))


@router.get("/{project}/runs/{run}/between/{first}/{second}", responses=problems(409))
def get_items_between(project: str, run: str, first: Id, second: Id, me: Me, db: Db, blobs: Blobs) -> ItemsBetween:
    """List the items between two clusters.

    Up to 500 whose two most probable clusters these are and of which the most probable has less than 0.9, the most
    doubtful first. 409: the run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        row, key = service.find_result(session, access.project, run)
        items = service.items_between(session, blobs, access.project, row, key, (first, second))
        return ItemsBetween(run=row.number, clusters=(first, second), items=items)


@router.put("/{project}/runs/{run}/clusters/{cluster}", responses=problems(409, 422))
def put_cluster(project: str, run: str, cluster: Id, body: ClusterName, me: Me, db: Db, blobs: Blobs) -> NamedCluster:
    """Name a cluster.

    Clusters keep their numbers from run to run, so the name holds from this run on until another is given.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        note = service.name_cluster(session, blobs, access.project, run, cluster, body)
        return NamedCluster(cluster=note.cluster, name=note.name, note=note.note)


@router.get(
    "/{project}/runs/{run}/items",
    response_class=StreamingResponse,
    responses={
        **problems(409, 422),
        200: {
            "description": "One row an item.",
            "content": {
                "application/json": {"example": ROWS},
                "application/x-ndjson": {
                    "example": '{"item": "song-17", "cluster": 1, "confidence": 0.99, "tags": ["two birds"]}\n'
                },
                "text/csv": {"example": "item,cluster,confidence,tags\r\nsong-17,1,0.99,two birds\r\n"},
                "application/octet-stream": {"example": "an .npz with the arrays keys, clusters, confidence, tags"},
                "application/vnd.apache.parquet": {"example": "a Parquet file"},
            },
        },
    },
)
def get_run_items(
    project: str,
    run: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    format: RowFormat = RowFormat.JSON,
    cluster: Id | None = None,
    sort: Sort = Sort.POSITION,
) -> StreamingResponse:
    """Export which item is in which cluster.

    As `json`, `ndjson`, `csv`, `npz` or `parquet`, streamed; of one `cluster` or all; in item order, or the least
    certain first with `sort=confidence`. In CSV a key that a spreadsheet would compute as a formula gets an apostrophe
    in front. 409: the run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        row, key = service.find_result(session, access.project, run)
    name = f'attachment; filename="{access.project.key}-run-{row.number}.{format}"'
    headers = {} if format == RowFormat.JSON else {"Content-Disposition": name}
    lines = export.lines(db, blobs, row, key, cluster, sort, format)
    return StreamingResponse(lines, media_type=format.content_type, headers=headers)


@router.get(
    "/{project}/runs/{run}/map",
    response_class=Response,
    responses=_binary("N x 4 float32", "16 N bytes"),
)
def get_map(request: Request, project: str, run: str, me: Me, db: Db, blobs: Blobs) -> Response:
    """Read the map.

    Little-endian float32, a row an item in item order: x, y, cluster, confidence. 409: the run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        _, key = service.find_result(session, access.project, run)
    return _cacheable(request, run, key, results.load_map(blobs, key))


@router.get(
    "/{project}/runs/{run}/resolutions",
    response_class=Response,
    responses=_binary("(K - 1) x N bytes", "29 N bytes"),
)
def get_resolutions(request: Request, project: str, run: str, me: Me, db: Db, blobs: Blobs) -> Response:
    """Read a run's clusters at other resolutions.

    One byte an item in item order, first for 2 clusters, then for 3, up to `most_clusters` of the run's metrics.
    Numbers stay as far as they can from one resolution to the next. 409: the run is not done, or its algorithm
    finds one number of clusters only.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        key, labels = service.find_resolutions(session, blobs, access.project, run)
    return _cacheable(request, run, f"{key}-resolutions", labels)


def _cacheable(request: Request, run: str, tag: str, content: bytes) -> Response:
    """Return bytes that never change, or 304 if the browser already has them."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache" if run == "latest" else FOREVER}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/octet-stream", headers=headers)
