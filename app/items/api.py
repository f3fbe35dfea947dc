"""Items, features and media over REST."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from app.accounts.access import Action, Caller, Me, authorize
from app.database import Database
from app.dependencies import Blobs, Db
from app.errors import NotFound, WrongType
from app.items import importing, queries, uploads
from app.items.features import read_features
from app.items.media import CONTENT_TYPES
from app.items.schemas import FEATURES_EXAMPLE, FeaturesOut, ImportedOut, ItemList, ItemOut, ItemsIn
from app.items.tables import read_table
from app.items.uploads import Form
from app.responses import problems
from app.storage import Storage
from app.texts import Name

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404))
DAY_SECONDS = 24 * 3600
CHUNK_BYTES = 256 * 1024
BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
ITEMS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": ItemsIn.model_json_schema(),
                "example": ItemsIn.model_config["json_schema_extra"]["examples"][0],  # type: ignore[index]
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "table": {**BINARY, "description": "CSV, UTF-8: key, text, bag, bag_labels, media, ..."},
                        "media": {"type": "array", "items": BINARY, "description": "images and WAV sounds"},
                        "features": {**BINARY, "description": ".npy, .npz or .csv"},
                    },
                },
                "example": {"table": "items.csv", "media": ["song-17.wav"], "features": "X.npy"},
            },
        },
    }
}
FEATURES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {"schema": BINARY, "example": "the bytes of X.npy or X.npz"},
            "text/csv": {"schema": {"type": "string"}, "example": "key,pitch,length\nsong-17,2.1,0.4\n"},
        },
    }
}


class Medium(StrEnum):
    """What is stored of an item to see or hear."""

    MEDIA = "media"
    PICTURE = "picture"
    THUMBNAIL = "thumbnail"


@router.post(
    "/{project}/items", status_code=201, openapi_extra=ITEMS_BODY, responses=problems(400, 409, 413, 415, 422)
)
async def post_items(project: str, request: Request, me: Me, db: Db, blobs: Blobs) -> ImportedOut:
    """Add items: JSON rows, or files as multipart/form-data.

    In a multipart request `table` is a CSV with a header (key is required; text, bag, bag_labels separated by ";"
    and media, a file name, are known; every other column becomes metadata), `media` are PNG, JPEG, WebP, GIF or WAV
    files, `features` is a .npy, .npz or .csv. Without a table each media file becomes an item whose key is the file's
    name without its ending. Either everything is stored or nothing.

    409: a key is already there, or the project has features and the new items come without. 422: errors[] name file,
    row and field.
    """
    await run_in_threadpool(_allow, db, me, project, Action.WRITE)
    match uploads.content_type(request):
        case "application/json":
            rows = await run_in_threadpool(uploads.rows_of_json, await request.body())
            done = await run_in_threadpool(importing.add, db, blobs, project, rows, {}, None)
        case "multipart/form-data":
            async with request.form(max_files=uploads.MOST_FILES) as form:
                done = await run_in_threadpool(_import_form, db, blobs, project, uploads.read_form(form))
        case other:
            raise WrongType(f"Send application/json or multipart/form-data, not '{other}'.")
    return ImportedOut(added=done.added, features=FeaturesOut.of(done.features))


@router.get("/{project}/items")
def get_items(
    project: str,
    me: Me,
    db: Db,
    after: Annotated[int, Query(ge=-1, description="position of the last item of the page before")] = -1,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> ItemList:
    """List the items in their order.

    Give `next` of one page as `after` of the next.
    """
    with db.reading() as session:
        found = authorize(session, me, project, Action.READ).project
        rows = queries.page_of_items(session, found.id, after, limit + 1)
        page = [ItemOut.of(found.key, item, bag) for item, bag in rows[:limit]]
        return ItemList(items=page, next=page[-1].position if len(rows) > limit else None)


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
        done = await run_in_threadpool(importing.add, db, blobs, project, [], {}, features, name=name)
    return FeaturesOut.model_validate(done.features)


@router.get("/{project}/features", responses={200: {"content": {"application/json": {"example": FEATURES_EXAMPLE}}}})
def get_features(project: str, me: Me, db: Db) -> FeaturesOut:
    """Read which features runs use.

    404: the project has none yet.
    """
    with db.reading() as session:
        found = authorize(session, me, project, Action.READ).project
        features = queries.latest_features(session, found.id)
        if features is None:
            raise NotFound(f"Project '{project}' has no features yet: upload them with PUT.")
        return FeaturesOut.model_validate(features)


@router.get(
    "/{project}/media/{kind}/{key:path}",
    response_class=Response,
    responses={
        200: {
            "content": {name: {"example": "bytes"} for name in sorted(set(CONTENT_TYPES.values()))},
            "description": "The file; ranges are served.",
        },
        304: {"description": "You have it already (If-None-Match)."},
    },
)
def get_media(project: str, kind: Medium, key: str, request: Request, me: Me, db: Db, blobs: Blobs) -> Response:
    """Fetch an item's media (what was given), picture (a spectrogram or the image) or thumbnail."""
    with db.reading() as session:
        found = authorize(session, me, project, Action.LOOK).project
        item = queries.item_by_key(session, found.id, key)
    stored: str | None = getattr(item, kind) if item else None
    if stored is None:
        raise NotFound(f"There is no {kind} of an item '{key}' here.")
    return _send(blobs, stored, request.headers.get("if-none-match", ""))


def _send(blobs: Storage, stored: str, known: str) -> Response:
    path = PurePosixPath(stored)
    tag = f'"{path.stem}"'
    headers = {
        "ETag": tag,
        "Cache-Control": f"private, max-age={DAY_SECONDS}",
        "X-Content-Type-Options": "nosniff",
    }
    if tag in known:
        return Response(status_code=304, headers=headers)
    kind = CONTENT_TYPES[path.suffix]
    if local := blobs.local_path(stored):
        return FileResponse(local, media_type=kind, headers=headers)
    return StreamingResponse(_chunks(blobs, stored), media_type=kind, headers=headers)


def _chunks(blobs: Storage, stored: str) -> Iterator[bytes]:
    with blobs.open(stored) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def _allow(db: Database, me: Caller, project: str, action: Action) -> None:
    """Refuse before the body is read."""
    with db.reading() as session:
        authorize(session, me, project, action)


def _import_form(db: Database, blobs: Storage, project: str, form: Form) -> importing.Imported:
    with uploads.on_disk(form.table) as table, uploads.on_disk(form.features) as array:
        name = (form.table.filename if form.table else None) or "table"
        rows = read_table(table, name) if table else None
        file = (form.features.filename if form.features else None) or "features"
        features = read_features(array, file) if array else None
        return importing.add(db, blobs, project, rows, form.media, features, table=name if table else None)
