"""Imports over REST: create one, send files, check, read the preview, start, cancel, undo."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.errors import NotFound
from tercet.intake import checking, imports, plans, queries, received, segment_preview, service, uploads
from tercet.intake.schemas import (
    FileReceived,
    ImportIn,
    ImportList,
    ImportOptions,
    ImportOut,
    ImportPreview,
    PreviewItem,
    ProposedSegments,
    ReceivedList,
    SegmentQuery,
)
from tercet.items.media_types import CONTENT_TYPES
from tercet.models import ImportSource
from tercet.request_context import local
from tercet.web.dependencies import Blobs, Config, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Bytes, Count, Id, Position
from tercet.web.problems import problems
from tercet.web.texts import Text

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404), route_class=JsonRoute)
IMPORTS = "/{project}/imports"
ONE_IMPORT = "/{project}/imports/{number}"
MOST_LISTED = 1_000
FILE_PART: dict[str, Any] = {
    "schema": {"type": "string", "format": "binary"},
    "example": "the bytes of the file, or of the rest of it",
}
RecordingPath = Annotated[
    Text, Query(description="path of the recording as in the preview; files of `a.zip` are in `a/`")
]
Begin = Annotated[float, Query(ge=0, le=1e9, description="seconds from its beginning", allow_inf_nan=False)]


@router.post(IMPORTS, status_code=201, responses=problems(422))
def post_import(project: str, body: ImportIn, me: Me, db: Db) -> ImportOut:
    """Create an import: then PUT its files, check it, read the preview, and start it.

    Nothing of it is visible in the project until it is done, and nothing stays if it is cancelled.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        options = body.options_sent() or ImportOptions().model_dump()
        row = imports.make(session, access.project, access.user, options, ImportSource.REST)
        return imports.show(session, row)


@router.get(IMPORTS)
def get_imports(
    project: str,
    me: Me,
    db: Db,
    before: Annotated[Id | None, Query(description="number of the last import of the page before")] = None,
    limit: Annotated[Count, Query(ge=1, le=100)] = 20,
) -> ImportList:
    """List the imports, newest first: who made them, when, the number of files, the results."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        rows = queries.page_of_imports(session, access.project.id, before, limit + 1)
        page = [imports.show(session, row, name) for row, name in rows[:limit]]
        return ImportList(imports=page, next=page[-1].number if len(rows) > limit else None)


@router.get(ONE_IMPORT)
def get_import(project: str, number: Id, me: Me, db: Db) -> ImportOut:
    """Read an import: its status, what its files were read as, and the result."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        return imports.show(session, row)


@router.get(ONE_IMPORT + "/files")
def get_import_files(project: str, number: Id, me: Me, db: Db) -> ReceivedList:
    """List the files of an import, and how many bytes of each were received: an upload continues from there."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        return ReceivedList.of(queries.files_of(session, row))


@router.put(
    ONE_IMPORT + "/files/{path:path}",
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": FILE_PART}}},
    responses=problems(409, 413, 422),
)
async def put_import_file(
    project: str,
    number: Id,
    path: str,
    size: Annotated[Bytes, Query(description="bytes of the whole file")],
    request: Request,
    me: Me,
    db: Db,
    blobs: Blobs,
    settings: Config,
    offset: Annotated[Bytes, Query(description="where in the file the body begins")] = 0,
) -> FileReceived:
    """Send a file, or the part of it from `offset` on; `path` is its path in your folder.

    The response says how many bytes were received so far; while these are fewer than `size`, the next part begins
    there. Bytes that came before a connection was lost count too. 409: the part does not begin where the last one
    ended. 413: the file is too large.
    """
    limits = settings.max_upload_mb * 2**20, settings.max_import_mb * 2**20
    upload = uploads.PartOfFile(db, blobs, project, number, path, size, offset, limits)
    await run_in_threadpool(upload.admit, me)
    async with uploads.received_so_far(request) as body:
        return FileReceived.model_validate(await run_in_threadpool(upload.store, body))


@router.delete(ONE_IMPORT + "/files/{path:path}", responses=problems(409, 422))
def delete_import_file(project: str, number: Id, path: str, me: Me, db: Db, blobs: Blobs) -> ImportOut:
    """Take a file out of an import, for instance one that cannot be sent completely; then check the import again.

    404: it has no such file. 409: the import is being checked or stored, or has ended.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        folder = imports.remove_file(session, access.project, row, path)
        answer = imports.show(session, row)
    blobs.delete_folder(folder)
    return answer


@router.post(ONE_IMPORT + "/check", status_code=202, responses=problems(409, 422))
def check_import(project: str, number: Id, body: ImportIn, me: Me, db: Db) -> ImportOut:
    """Read the files in the background; then the preview shows the items that they would become.

    409: a file is incomplete, or the import is being checked or stored.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        imports.check(session, access.project, row, access.user, body.options_sent())
        return imports.show(session, row)


@router.get(ONE_IMPORT + "/preview")
def get_preview(
    project: str,
    number: Id,
    me: Me,
    db: Db,
    blobs: Blobs,
    after: Annotated[Position, Query(description="position of the last item of the page before")] = -1,
    limit: Annotated[Count, Query(ge=1, le=1_000)] = 24,
) -> ImportPreview:
    """Read the preview of a checked import: its items in their order, columns, files and faults."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
    planned = plans.load(blobs, row, after, limit + 1)
    address = local(f"/api/v1/projects/{project}/imports/{number}/preview")
    pictures = row.report.get("pictures", {})
    page = [
        PreviewItem.of(item, position, f"{address}/{position}/picture" if str(position) in pictures else None)
        for position, item in enumerate(planned[:limit], start=after + 1)
    ]
    lists = {name: row.report.get(name, [])[:MOST_LISTED] for name in ("columns", "files", "faults", "left_out")}
    return ImportPreview(items=page, next=page[-1].position if len(planned) > limit else None, **lists)


@router.get(
    ONE_IMPORT + "/preview/{position}/picture",
    response_class=Response,
    responses={200: {"content": {f"image/{kind}": {"example": "bytes"} for kind in ("jpeg", "png", "webp")}}},
)
def get_preview_picture(project: str, number: Id, position: Position, me: Me, db: Db, blobs: Blobs) -> Response:
    """Fetch the picture of one of the first items of a checked import."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
    picture = checking.picture_of(blobs, row, position)
    if picture is None:
        raise NotFound(f"There is no picture of item {position} in the preview of import {number}.")
    headers = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(picture[0], media_type=CONTENT_TYPES[picture[1]], headers=headers)


@router.get(ONE_IMPORT + "/segments", responses=problems(409, 422))
def get_segments(
    project: str, number: Id, asked: Annotated[SegmentQuery, Query()], me: Me, db: Db, blobs: Blobs
) -> ProposedSegments:
    """Show how a received recording would be cut into segments; of a long one, the first ten minutes.

    Nothing is changed: send the settings with `check` to cut all recordings by them. 409: the recording is incomplete.
    """
    settings = asked.settings()
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        recording = segment_preview.recording_of(session, row, asked.path)
    return segment_preview.propose(blobs, recording, settings)


@router.get(
    ONE_IMPORT + "/spectrogram",
    response_class=Response,
    responses={200: {"content": {"image/png": {"example": "bytes"}}}, **problems(409, 422)},
)
def get_spectrogram(
    project: str, number: Id, path: RecordingPath, me: Me, db: Db, blobs: Blobs, begin: Begin = 0.0
) -> Response:
    """Fetch the spectrogram of half a minute of a received recording, up to its highest frequency."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        recording = segment_preview.recording_of(session, row, path)
    headers = {"Cache-Control": "private, max-age=600", "X-Content-Type-Options": "nosniff"}
    return Response(segment_preview.picture(blobs, recording, begin), media_type="image/png", headers=headers)


@router.post(ONE_IMPORT + "/start", status_code=202, responses=problems(409, 422))
def start_import(project: str, number: Id, me: Me, db: Db) -> ImportOut:
    """Store a checked import in the background; features and the first run follow automatically.

    Items whose keys the project has are updated, and their answers stay. 422: the import has faults; with `skip_bad`
    the bad items are left out.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        imports.start(session, access.project, row, access.user)
        return imports.show(session, row)


@router.post(ONE_IMPORT + "/cancel", responses=problems(409))
def cancel_import(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> ImportOut:
    """Cancel an import that is not done; nothing of it stays. 409: it is done already."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        imports.cancel(session, access.project, row)
        answer = imports.show(session, row)
    blobs.delete_folder(received.folder_of(row))
    return answer


@router.post(ONE_IMPORT + "/undo", responses=problems(409))
def undo_import(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> ImportOut:
    """Undo an import: the items that it added are deleted, and those that it changed are as before.

    409: there are answers about its items.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        unused = imports.undo(session, blobs, access.project, row)
        answer = imports.show(session, row)
    service.remove_unused(db, blobs, row.project_id, unused)
    return answer
