"""REST: import and export constraints in bulk, and download what a run computed; all streamed."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from tercet.accounts.access import Action, Caller, authorize
from tercet.accounts.dependencies import Me
from tercet.audit import chain
from tercet.database import Database
from tercet.exchange import downloads, service
from tercet.exchange.contents import MatrixFormat
from tercet.exchange.downloads import Download
from tercet.exchange.exporting import export, export_foreign
from tercet.exchange.foreign import ForeignFormat
from tercet.exchange.reading import READERS
from tercet.exchange.schemas import ROW_EXAMPLE, ROW_OUT_EXAMPLE, ReceivedOut
from tercet.exchange.selections import SelectionFormat
from tercet.exchange.service import Upload
from tercet.intake.uploads import content_type, spooled
from tercet.models import Project
from tercet.web.dependencies import Blobs, Db
from tercet.web.numbers import Count
from tercet.web.problems import problems
from tercet.web.row_formats import RowFormat

Names = Annotated[bool, Query(description="labelers by their names, not by pseudonyms")]
router = APIRouter(prefix="/api/v1/projects", tags=["exchange"], responses=problems(401, 403, 404))
CSV_EXAMPLE = "anchor,left,right,answer,labeler\nsong-17,song-3,song-21,yes,Ada\n"
EXAMPLES: dict[str, Any] = {
    "application/json": [ROW_EXAMPLE],
    "application/x-ndjson": json.dumps(ROW_EXAMPLE),
    "application/jsonl": json.dumps(ROW_EXAMPLE),
    "text/csv": CSV_EXAMPLE,
    "application/x-npz": "the bytes of an .npz with triplets (M, 3) and responses (M,), as cblearn takes them",
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {name: {"schema": {}, "example": EXAMPLES[name]} for name in READERS},
    }
}
ROWS_OUT: dict[str, Any] = {
    "application/x-ndjson": {"example": json.dumps(ROW_OUT_EXAMPLE)},
    "text/csv": {"example": CSV_EXAMPLE},
    "application/json": {"example": [ROW_OUT_EXAMPLE]},
    "application/octet-stream": {"example": "an .npz with the arrays keys, triplets, answers, labelers and more"},
    "application/vnd.apache.parquet": {"example": "a Parquet file"},
}


@router.post("/{project}/constraints", status_code=201, openapi_extra=BODY, responses=problems(409, 413, 415, 422))
async def post_constraints(project: str, request: Request, me: Me, db: Db) -> ReceivedOut:
    """Store triplets with their answers in bulk: NDJSON, CSV or a JSON list of any length.

    A row has a triplet [anchor, left, right] of item keys (in CSV three columns) and an answer; labeler (a name;
    without one the rows are yours), response_ms and id (a UUID) may be given. CSV may also be what Salmon writes, with
    head, winner and loser: its items are named by what was shown, else by their positions from 0. In an .npz, triplets
    (anchor, nearer, farther) are positions too, or have responses of 1, -1 and 0. All rows are checked before the first
    is stored, so a file with a wrong row stores nothing; 422: errors[] names the first hundred; 409: an id is taken by
    another answer. They are then stored 500 at a time, so that labelers need not wait; if the server stops in between,
    the rows stored so far stay. Sending the same file again stores the missing rows, and none twice.
    """
    ids = await run_in_threadpool(_allow, db, me, project)
    async with spooled(request) as path:
        done = await run_in_threadpool(service.receive, db, Upload(path, content_type(request), *ids))
    return ReceivedOut(rows=done.rows, stored=done.stored, repeated=done.rows - done.stored)


@router.get(
    "/{project}/constraints",
    response_class=StreamingResponse,
    responses={200: {"description": "The answers, streamed.", "content": ROWS_OUT}},
)
def get_constraints(
    project: str,
    request: Request,
    me: Me,
    db: Db,
    form: Annotated[
        RowFormat | ForeignFormat | None, Query(alias="format", description="wins over the Accept header")
    ] = None,
    after: Annotated[Count, Query(description="number of the last answer you have")] = 0,
    withdrawn: Annotated[bool, Query(description="also those that were withdrawn or set aside")] = True,
    names: Names = False,
) -> Response:
    """Export all answers in the order in which they were given, as NDJSON (the default), CSV, one JSON list, NPZ or
    Parquet.

    Answers that their labelers withdrew and those that an analyst set aside are marked with the time. What comes out
    without them (`withdrawn=false`) is what runs use, and can be sent in again. In CSV, an apostrophe keeps a cell
    that begins with = + - @ from being computed by a spreadsheet. As `salmon` (CSV) and `cblearn` (NPZ) only yes and
    no come out, of answers that runs use, with items by position. Labelers have pseudonyms, the same in every export,
    unless `names` are asked for; what comes out with pseudonyms can be sent in again too.
    """
    row = _readable(db, me, project, {"answers after": after, "names": names})
    stem = f"{row.key}-answers-with-names" if names else f"{row.key}-answers"
    if isinstance(form, ForeignFormat):
        headers = {"Content-Disposition": f'attachment; filename="{stem}.{form.suffix}"'}
        return StreamingResponse(
            export_foreign(db, row, form, with_names=names), media_type=form.content_type, headers=headers
        )
    chosen = form or _accepted(request.headers.get("accept", ""))
    headers = {"Content-Disposition": f'attachment; filename="{stem}.{chosen}"'}
    pieces = export(db, row.id, chosen, after=after, with_withdrawn=withdrawn, with_names=names)
    return StreamingResponse(pieces, media_type=chosen.content_type, headers=headers)


ZIP_OUT: dict[str, Any] = {"application/zip": {"example": "the bytes of a ZIP"}}
BYTES_OUT: dict[str, Any] = {"application/octet-stream": {"example": "the bytes of an .npz"}}


def _file(description: str, content: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a download of a run or of the features."""
    return {**problems(409), 200: {"description": description, "content": content}}


def _send(download: Download) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{download.name}"'}
    return StreamingResponse(download.pieces, media_type=download.media_type, headers=headers)


@router.get(
    "/{project}/runs/{run}/selections",
    response_class=StreamingResponse,
    responses=_file("A table for each recording, in a ZIP.", ZIP_OUT),
)
def get_selections(
    project: str, run: str, me: Me, db: Db, blobs: Blobs, format: SelectionFormat = SelectionFormat.RAVEN
) -> StreamingResponse:
    """Export clusters as Raven selection tables or Audacity labels, to open over the recordings.

    An item is a part of a recording if its metadata says so: `begin_s`, `end_s`, perhaps `low_hz`, `high_hz` and
    `recording` (or else its bag). Any other sound is one selection from beginning to end. 409: the run is not done, or
    no item is a sound.
    """
    return _send(downloads.selections(db, blobs, _readable(db, me, project, {"selections of run": run}), run, format))


@router.get(
    "/{project}/runs/{run}/clips", response_class=StreamingResponse, responses=_file("The media, streamed.", ZIP_OUT)
)
def get_clips(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> StreamingResponse:
    """Export the items' media in a ZIP with a folder for each cluster, the surest first, and a table `clusters.csv`.

    409: the run is not done.
    """
    return _send(downloads.clips(db, blobs, _readable(db, me, project, {"media of run": run}), run))


@router.get(
    "/{project}/runs/{run}/posterior",
    response_class=StreamingResponse,
    responses=_file("N x K probabilities.", {**BYTES_OUT, "text/csv": {"example": "item,cluster_1\r\nsong-17,1\r\n"}}),
)
def get_posterior(
    project: str, run: str, me: Me, db: Db, blobs: Blobs, format: MatrixFormat = MatrixFormat.NPZ
) -> StreamingResponse:
    """Export the probability of every item and cluster.

    As `npz` with the arrays keys (N,), posterior (N, K) and cluster_names (K,), or as `csv`. 409: the run is not done.
    """
    return _send(downloads.posterior(db, blobs, _readable(db, me, project, {"posterior of run": run}), run, format))


@router.get(
    "/{project}/features/{version}",
    response_class=StreamingResponse,
    responses={200: {"description": "The features, streamed.", "content": BYTES_OUT}},
)
def get_feature_array(project: str, version: str, me: Me, db: Db, blobs: Blobs) -> StreamingResponse:
    """Download a version of the features, or the `latest`.

    An .npz with the arrays X (N, D), keys (N,) and, where there are any, feature_names (D,), as it can be uploaded.
    """
    return _send(downloads.features(db, blobs, _readable(db, me, project, {"features": version}), version))


@router.get("/{project}/runs/{run}/model", response_class=StreamingResponse, responses=_file("The model.", BYTES_OUT))
def get_model(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> StreamingResponse:
    """Download the fitted model, to cluster new items in Python.

    `tercet.load_model(file)` gives an object with `predict` and `predict_proba` of rows of features and, where Tercet
    made the features, `predict_files`. An .npz without pickles. 409: the run
    is not done, or its method cannot predict.
    """
    return _send(downloads.model(db, blobs, _readable(db, me, project, {"model of run": run}), run))


@router.get(
    "/{project}/runs/{run}/report",
    response_class=StreamingResponse,
    responses=_file("The page.", {"text/html": {"example": "<!doctype html>"}}),
)
def get_report(project: str, run: str, me: Me, db: Db, blobs: Blobs, names: Names = False) -> StreamingResponse:
    """Export a run as one HTML page with pictures, map and figures, which opens without this server. 409: not done."""
    row = _readable(db, me, project, {"report of run": run, "names": names})
    return _send(downloads.html_report(db, blobs, row, run, names=names))


def _readable(db: Database, me: Caller, project: str, what: dict[str, int | str]) -> Project:
    """Return the project and note in the audit log what leaves it; raise where the caller may not read it."""
    with db.transaction() as session:
        row = authorize(session, me, project, Action.READ).project
        chain.record(session, "exported", project=row, after=what)
        return row


def _accepted(accept: str) -> RowFormat:
    if "text/csv" in accept:
        return RowFormat.CSV
    return RowFormat.JSON if "application/json" in accept else RowFormat.NDJSON


def _allow(db: Database, me: Caller, project: str) -> tuple[int, int]:
    """Return the ids of project and sender, or refuse before the body is read."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
        return access.project.id, access.user.id
