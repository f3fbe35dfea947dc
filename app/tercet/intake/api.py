"""Items, features and media on their way in, over REST."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from tercet.accounts.access import Action, Caller, Me, authorize
from tercet.database import Database
from tercet.intake import checking, editing, imports, local, plans, queries, received, storing, uploads
from tercet.intake.features import read_features
from tercet.intake.schemas import (
    ITEMS_EXAMPLE,
    FileReceived,
    ImportedOut,
    ImportIn,
    ImportList,
    ImportOptions,
    ImportOut,
    ImportPreview,
    ItemPatch,
    ItemRemoved,
    ItemsIn,
    PreviewItem,
    ReceivedList,
)
from tercet.items.media_types import CONTENT_TYPES
from tercet.items.schemas import FeaturesOut, ItemOut
from tercet.models import ImportSource
from tercet.storage import Storage
from tercet.web.dependencies import Blobs, Config, Db
from tercet.web.errors import NotFound, WrongType
from tercet.web.numbers import Bytes, Count, Id, Position
from tercet.web.problems import problems
from tercet.web.texts import Name

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404))
BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
ITEMS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": ItemsIn.model_json_schema(),
                "example": ITEMS_EXAMPLE,
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "table": {**BINARY, "description": "CSV or TSV: key, text, bag, bag_labels, media, ..."},
                        "media": {"type": "array", "items": BINARY, "description": "pictures and sounds"},
                        "features": {**BINARY, "description": ".npy, .npz or .csv"},
                    },
                },
                "example": {"table": "items.csv", "media": ["song-17.wav"], "features": "X.npy"},
            },
        },
    }
}
FILE_PART: dict[str, Any] = {"schema": BINARY, "example": "the bytes of the file, or of the rest of it"}
FEATURES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": BINARY, "example": "the bytes of X.npy or X.npz"},
            "text/csv": {"schema": {"type": "string"}, "example": "key,pitch,length\nsong-17,2.1,0.4\n"},
        },
    }
}


@router.post("/{project}/items", status_code=201, openapi_extra=ITEMS_BODY, responses=problems(400, 409, 413, 415, 422))
async def post_items(project: str, request: Request, me: Me, db: Db, blobs: Blobs) -> ImportedOut:
    """Add items: JSON rows, or files as multipart/form-data.

    In a multipart request `table` is a CSV with a header (key, text, bag, bag_labels separated by ";" and media, a
    file name, are known; every other column becomes metadata), `media` are pictures, sounds or texts, `features` is a
    .npy, .npz or .csv. Files are read as an import reads them; without a table each media file becomes an item whose
    key is the file's name without its ending. Either everything is stored or nothing, and imports list what was.

    409: a key is already there, or the project's features were uploaded and the new items come without. 422: errors[]
    name file, row and field.
    """
    user_id = await run_in_threadpool(_allow, db, me, project, Action.WRITE)
    match uploads.content_type(request):
        case "application/json":
            rows = await run_in_threadpool(uploads.rows_of_json, await request.body())
            done = await run_in_threadpool(local.add_rows, db, blobs, project, rows, None, user_id)
        case "multipart/form-data":
            async with request.form(max_files=uploads.MOST_FILES) as form:
                done = await run_in_threadpool(_add_form, db, blobs, project, form, user_id)
        case media_type:
            raise WrongType(f"Send application/json or multipart/form-data, not '{media_type}'.")
    features = done.features if done.plan.features else None
    return ImportedOut(added=done.written.added, features=FeaturesOut.of(features))


@router.put("/{project}/features", openapi_extra=FEATURES_BODY, responses=problems(409, 413, 422))
async def put_features(
    project: str,
    request: Request,
    me: Me,
    db: Db,
    blobs: Blobs,
    name: Annotated[Name, Query(description="what to call these features")] = "features",
    filename: Annotated[Name, Query(description="the file's name, for messages")] = "features",
) -> FeaturesOut:
    """Upload features for all items, as the body: .npy, .npz or .csv, known by its first bytes.

    Rows go by key (an array `keys` in the .npz, a first column `key` in the .csv) or else in the order of the items.
    They become the next version, and a run on them starts. Nothing is ever unpickled. 422: a NaN or infinity, a wrong
    number of rows, an unknown or missing key; errors[] name row and column.
    """
    await run_in_threadpool(_allow, db, me, project, Action.WRITE)
    async with uploads.spooled(request) as path:
        features = await run_in_threadpool(read_features, path, filename)
        stored = await run_in_threadpool(storing.store_features, db, blobs, project, features, name)
    return FeaturesOut.model_validate(stored)


@router.patch("/{project}/items/{key:path}", responses=problems(409, 422))
def patch_item(project: str, key: str, body: ItemPatch, me: Me, db: Db) -> ItemOut:
    """Change an item; what is left out stays as it is.

    `set_aside` takes it out of questions, fits and counts, with its answers, or has it come back. Metadata are changed
    by name; null removes one. Features that Tercet made are made anew.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        item = editing.change(session, access.project, key, body.model_dump(exclude_unset=True), access.user.id)
        bag, details = editing.bag_key(session, item), item.details
        return ItemOut.of(project, item, bag=bag, metadata=details, set_aside_at=item.set_aside_at)


@router.delete("/{project}/items/{key:path}")
def delete_item(project: str, key: str, me: Me, db: Db, blobs: Blobs) -> ItemRemoved:
    """Delete an item; one that answers are about is set aside instead, and can come back."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        unused = editing.remove(session, access.project, key)
        number = access.project.id
    if unused:
        storing.remove_unused(db, blobs, number, unused)
    return ItemRemoved(key=key, set_aside=unused is None)


def _allow(db: Database, me: Caller, project: str, action: Action) -> int:
    """Return the number of the user, or raise a problem if they may not do this: before the body is read."""
    with db.reading() as session:
        return authorize(session, me, project, action).user.id


def _add_form(db: Database, blobs: Storage, project: str, form: FormData, user_id: int) -> local.LocalImport:
    with uploads.files_of(form) as files:
        return local.add_files(db, blobs, project, files, user_id)


IMPORTS = "/{project}/imports"
ONE_IMPORT = "/{project}/imports/{number}"
MOST_LISTED = 1_000


@router.post(IMPORTS, status_code=201, responses=problems(422))
def post_import(project: str, body: ImportIn, me: Me, db: Db) -> ImportOut:
    """Begin an import: then PUT its files, check it, look at the preview, and start it.

    Nothing of it can be seen in the project until it is done, and nothing stays if it is cancelled.
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
    """List the imports, newest first: who, when, how many files, what came of them."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        rows = queries.page_of_imports(session, access.project.id, before, limit + 1)
        page = [imports.show(session, row, name) for row, name in rows[:limit]]
        return ImportList(imports=page, next=page[-1].number if len(rows) > limit else None)


@router.get(ONE_IMPORT)
def get_import(project: str, number: Id, me: Me, db: Db) -> ImportOut:
    """Read how far an import is, what was understood, and what came of it."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        return imports.show(session, row)


@router.get(ONE_IMPORT + "/files")
def get_import_files(project: str, number: Id, me: Me, db: Db) -> ReceivedList:
    """List the files of an import, and how much of each has come: from there an upload goes on."""
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
    """Send a file, or the part of it from `offset` on, as it is in your folder under `path`.

    The answer says how much there is now; when that is less than `size`, the next part begins there. What came before
    a connection was lost counts. 409: the part does not begin where the last one ended. 413: too large.
    """
    limits = settings.max_upload_mb * 2**20, settings.max_import_mb * 2**20
    upload = uploads.PartOfFile(db, blobs, project, number, path, size, offset, limits)
    await run_in_threadpool(upload.admit, me)
    async with uploads.received_so_far(request) as body:
        return FileReceived.model_validate(await run_in_threadpool(upload.store, body))


@router.post(ONE_IMPORT + "/check", status_code=202, responses=problems(409, 422))
def check_import(project: str, number: Id, body: ImportIn, me: Me, db: Db) -> ImportOut:
    """Have the files read in the background: then the preview shows what they would become.

    409: a file has not come whole, or the import is under way.
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
    """Read what a checked import would become: its items in their order, columns, files and faults."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
    planned = plans.load(blobs, row, after, limit + 1)
    address = f"/api/v1/projects/{project}/imports/{number}/preview"
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
    responses={200: {"content": {"image/png": {"example": "bytes"}, "image/webp": {"example": "bytes"}}}},
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


@router.post(ONE_IMPORT + "/start", status_code=202, responses=problems(409, 422))
def start_import(project: str, number: Id, me: Me, db: Db) -> ImportOut:
    """Store a checked import in the background; features and the first run follow by themselves.

    Keys that the project has are updated: their answers stay. 422: faults, which `skip_bad` would leave out.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        imports.start(session, access.project, row, access.user)
        return imports.show(session, row)


@router.post(ONE_IMPORT + "/cancel", responses=problems(409))
def cancel_import(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> ImportOut:
    """End an import that is not done; nothing of it stays. 409: it is done already."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        imports.cancel(session, access.project, row)
        answer = imports.show(session, row)
    blobs.delete_folder(received.folder_of(row))
    return answer


@router.post(ONE_IMPORT + "/undo", responses=problems(409))
def undo_import(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> ImportOut:
    """Take back what an import did: its items are deleted, what it changed is as before.

    409: somebody has answered questions about its items.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        unused = imports.undo(session, blobs, access.project, row)
        answer = imports.show(session, row)
    storing.remove_unused(db, blobs, row.project_id, unused)
    return answer
