"""Runs, their clusters, and what happens in a project as a stream, over REST."""

from collections.abc import AsyncIterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.accounts.access import Action, Me, authorize, identify
from app.clustering import export, queries, results, schedule, service
from app.clustering.algorithms import ALGORITHMS
from app.clustering.export import Format, Sort
from app.clustering.schemas import (
    ITEM_EXAMPLE,
    AlgorithmList,
    AlgorithmOut,
    ClusterList,
    ClusterName,
    NamedCluster,
    RunIn,
    RunList,
    RunOut,
)
from app.dependencies import Blobs, Db
from app.responses import problems

catalogue = APIRouter(prefix="/api/v1/algorithms", tags=["runs"], responses=problems(401, 403))
router = APIRouter(prefix="/api/v1/projects", tags=["runs"], responses=problems(401, 403, 404))
FOREVER = "private, max-age=31536000, immutable"
ROWS: dict[str, Any] = {"run": 41, "items": [{"item": ITEM_EXAMPLE["key"], "cluster": 1, "confidence": 0.99}]}
STREAM = 'event: clusters\nid: 118\ndata: {"run": 41}\n\nevent: answers\ndata: {"total": 1204, "last_hour": 38}\n\n'


@catalogue.get("")
def get_algorithms(me: Me, db: Db) -> AlgorithmList:
    """List the algorithms that a project or a run may name.

    Each with its parameters as a JSON schema: what they do, their bounds and their defaults.
    """
    with db.reading() as session:
        identify(session, me)
    return AlgorithmList(algorithms=[AlgorithmOut.of(algorithm) for algorithm in ALGORITHMS.values()])


@router.post("/{project}/runs", status_code=202, responses=problems(409, 422))
def post_run(project: str, body: RunIn, me: Me, db: Db) -> RunOut:
    """Start a run.

    It is queued and starts within a second unless a run of the project is being computed; at most one run waits,
    and asking again changes the one that does. 409: there are no features yet. 422: the algorithm or a parameter
    is not known or out of range, or there are fewer items than clusters.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        run = schedule.request_run(
            session, access.project, reason="request", algorithm=body.algorithm, parameters=body.parameters
        )
        return RunOut.of(run)


@router.get("/{project}/runs")
def get_runs(
    project: str, me: Me, db: Db, after: int | None = None, limit: Annotated[int, Query(ge=1, le=1_000)] = 50
) -> RunList:
    """List runs, newest first.

    Give `next` of one page as `after` of the next.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        found = queries.page_of_runs(session, access.project.id, after, limit + 1)
        page = [RunOut.of(run) for run in found[:limit]]
        return RunList(runs=page, next=page[-1].number if len(found) > limit else None)


@router.get("/{project}/runs/{run}")
def get_run(project: str, run: str, me: Me, db: Db) -> RunOut:
    """Read where a run stands.

    `run` is a number, or `latest` for the newest one that is done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return RunOut.of(service.find_run(session, access.project, run))


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
    """Look at a run's clusters.

    Each with its size, mean confidence, up to six typical items and up to six that it is least sure of. 409: the
    run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        found, key = service.find_result(session, access.project, run)
        clusters = service.clusters(session, blobs, access.project, found, key)
        return ClusterList(run=found.number, clusters=clusters)


@router.put("/{project}/runs/{run}/clusters/{cluster}", responses=problems(409, 422))
def put_cluster(
    project: str, run: str, cluster: int, body: ClusterName, me: Me, db: Db, blobs: Blobs
) -> NamedCluster:
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
                "application/x-ndjson": {"example": '{"item": "song-17", "cluster": 1, "confidence": 0.99}\n'},
                "text/csv": {"example": "item,cluster,confidence\r\nsong-17,1,0.99\r\n"},
            },
        },
    },
)
def get_items(
    project: str,
    run: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    format: Format = Format.JSON,
    cluster: Annotated[int | None, Query(ge=1)] = None,
    sort: Sort = Sort.POSITION,
) -> StreamingResponse:
    """Export which item is in which cluster.

    As `json`, `ndjson` or `csv`, streamed; of one `cluster` or all; in item order, or the least certain first
    with `sort=confidence`. In CSV a key that a spreadsheet would compute as a formula gets an apostrophe in
    front. 409: the run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        found, key = service.find_result(session, access.project, run)
    name = f'attachment; filename="{access.project.key}-run-{found.number}.{format}"'
    headers = {} if format == Format.JSON else {"Content-Disposition": name}
    rows = export.lines(db, blobs, found, key, cluster, sort, format)
    return StreamingResponse(rows, media_type=export.CONTENT_TYPES[format], headers=headers)


@router.get(
    "/{project}/runs/{run}/map",
    response_class=Response,
    responses={
        **problems(409),
        200: {"description": "N x 4 float32", "content": {"application/octet-stream": {"example": "16 N bytes"}}},
        304: {"description": "Not changed since the ETag that was sent."},
    },
)
def get_map(request: Request, project: str, run: str, me: Me, db: Db, blobs: Blobs) -> Response:
    """Read the map.

    Little-endian float32, a row an item in item order: x, y, cluster, confidence. 409: the run is not done.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        _, key = service.find_result(session, access.project, run)
    return _once(request, run, key, results.load_map(blobs, key))


@router.get(
    "/{project}/runs/{run}/resolutions",
    response_class=Response,
    responses={
        **problems(409),
        200: {"description": "(K - 1) x N bytes", "content": {"application/octet-stream": {"example": "29 N bytes"}}},
        304: {"description": "Not changed since the ETag that was sent."},
    },
)
def get_resolutions(request: Request, project: str, run: str, me: Me, db: Db, blobs: Blobs) -> Response:
    """Read a run's clusters at other resolutions.

    One byte an item in item order, first for 2 clusters, then for 3, up to `most_clusters` of the run's metrics.
    Numbers stay as far as they can from one resolution to the next. 409: the run is not done, or its algorithm
    finds one number of clusters only.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        key, found = service.find_resolutions(session, blobs, access.project, run)
    return _once(request, run, f"{key}-resolutions", found)


def _once(request: Request, run: str, tag: str, content: bytes) -> Response:
    """Send bytes that never change, or that they have not."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache" if run == "latest" else FOREVER}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/octet-stream", headers=headers)


def _place_in_events(
    project: str,
    me: Me,
    db: Db,
    last_event_id: Annotated[str, Header(pattern=r"^\d{0,18}$", description="the last id you got")] = "",
) -> tuple[int, int]:
    """Check everything before the stream begins, since afterwards the status is sent.

    Gives the project and the number behind which to begin: the one that was sent, else the newest.
    """
    with db.reading() as session:
        found = authorize(session, me, project, Action.READ).project
    return found.id, min(int(last_event_id), found.event_number) if last_event_id else found.event_number


@router.get(
    "/{project}/events",
    response_class=EventSourceResponse,
    tags=["events"],
    responses={
        **problems(422),
        200: {"description": "Server-sent events", "content": {"text/event-stream": {"example": STREAM}}},
    },
)
async def get_events(
    request: Request, place: Annotated[tuple[int, int], Depends(_place_in_events)]
) -> AsyncIterable[ServerSentEvent]:
    """Follow what happens, as server-sent events.

    `run` when a run is queued, starts, gets on or ends; `clusters` when there are new ones; `project` when
    settings, items, features or the answers set aside changed; each with a number as id. `answers`, without an id,
    carries counts. The stream never ends by itself; with `Last-Event-ID` it resumes where another one broke off,
    if no more than 10,000 events ago.
    """
    async with request.app.state.feed.listen(*place) as listener:
        yield ServerSentEvent(comment="listening")
        async for message in listener.messages():
            number = None if message.number is None else str(message.number)
            yield ServerSentEvent(event=message.kind, id=number, data=message.payload)
