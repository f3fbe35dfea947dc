"""Constraints in bulk over REST: in and out, streamed."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from app.accounts.access import Action, Caller, Me, authorize
from app.database import Database
from app.dependencies import Db
from app.exchange import service
from app.exchange.exporting import CONTENT_TYPES, Format, export
from app.exchange.reading import READERS
from app.exchange.schemas import ROW_EXAMPLE, ROW_OUT_EXAMPLE, ReceivedOut
from app.exchange.service import Upload
from app.items.uploads import content_type, spooled
from app.responses import problems

router = APIRouter(prefix="/api/v1/projects", tags=["exchange"], responses=problems(401, 403, 404))
CSV_EXAMPLE = "anchor,left,right,answer,labeler\nsong-17,song-3,song-21,yes,Ada\n"
EXAMPLES: dict[str, Any] = {
    "application/json": [ROW_EXAMPLE],
    "application/x-ndjson": json.dumps(ROW_EXAMPLE),
    "application/jsonl": json.dumps(ROW_EXAMPLE),
    "text/csv": CSV_EXAMPLE,
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
}


@router.post("/{project}/constraints", status_code=201, openapi_extra=BODY, responses=problems(409, 413, 415, 422))
async def post_constraints(project: str, request: Request, me: Me, db: Db) -> ReceivedOut:
    """Store triplets with their answers in bulk: NDJSON, CSV or a JSON list, up to a million rows.

    A row has a triplet [anchor, left, right] of item keys (in CSV three columns) and an answer; labeler (a name;
    without one the rows are yours), response_ms and id (a UUID) may be given. Without ids, the same file sent again
    stores nothing twice. Everything is checked before anything is stored. 422: errors[] names the first hundred
    wrong rows. 409: an id is taken by another answer.
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
    form: Annotated[Format | None, Query(alias="format", description="wins over the Accept header")] = None,
    after: Annotated[int, Query(ge=0, lt=2**31, description="number of the last answer you have")] = 0,
    withdrawn: Annotated[bool, Query(description="also those that were withdrawn or set aside")] = True,
) -> Response:
    """Export all answers in the order in which they came, as NDJSON (the default), CSV or one JSON list.

    Answers that their labelers withdrew and those that an analyst set aside are marked with the time. What comes out
    without them (`withdrawn=false`) is what runs use, and can be sent in again. In CSV, an apostrophe keeps a cell
    that begins with = + - @ from being computed by a spreadsheet.
    """
    with db.reading() as session:
        found = authorize(session, me, project, Action.READ).project
    chosen = form or _accepted(request.headers.get("accept", ""))
    headers = {"Content-Disposition": f'attachment; filename="{found.key}-answers.{chosen}"'}
    rows = export(db, found.id, chosen, after=after, with_withdrawn=withdrawn)
    return StreamingResponse(rows, media_type=CONTENT_TYPES[chosen], headers=headers)


def _accepted(accept: str) -> Format:
    if "text/csv" in accept:
        return Format.CSV
    return Format.JSON if "application/json" in accept else Format.NDJSON


def _allow(db: Database, me: Caller, project: str) -> tuple[int, int]:
    """Refuse before the body is read; give the ids of project and sender."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.WRITE)
        return access.project.id, access.user.id
