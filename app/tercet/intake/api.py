"""Items, their features and their pictures over REST, in single requests; imports are in `imports_api.py`."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from tercet.accounts.access import Action, Caller, authorize
from tercet.accounts.dependencies import Me
from tercet.database import Database
from tercet.errors import WrongType
from tercet.intake import editing, featuring, local, pictures, service, storing, uploads
from tercet.intake.feature_files import read_features
from tercet.intake.reading.plan import MOST_FILES
from tercet.intake.schemas import (
    ITEMS_EXAMPLE,
    ImportedOut,
    ItemPatch,
    ItemRemoved,
    ItemsIn,
    PictureQuery,
    RecipeIn,
    RecipeOut,
)
from tercet.items.schemas import FeaturesOut, ItemOut
from tercet.jobs import queries as jobs
from tercet.models import JobKind
from tercet.storage import Storage
from tercet.web.dependencies import Blobs, Db, IfMatch
from tercet.web.entity_tags import entity_tag
from tercet.web.json_bodies import JsonRoute
from tercet.web.openapi import schema_of
from tercet.web.problems import problems
from tercet.web.texts import Name

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404), route_class=JsonRoute)
BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
ITEMS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": schema_of(ItemsIn),
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

    In a multipart request `table` is a CSV with a header: the columns key, text, bag, bag_labels (separated by ";") and
    media (a file name) have these meanings, every other column becomes metadata. `media` are pictures, sounds or texts,
    `features` is a .npy, .npz or .csv. Files are read as in an import; without a table each media file becomes an item
    whose key is the file's name without its ending. All is stored or nothing; the list of imports has an entry for it.

    409: the project has an item with such a key, or its features were uploaded and the new items have none. 422:
    errors[] name file, row and field.
    """
    user_id = await run_in_threadpool(_allow, db, me, project, Action.WRITE)
    match uploads.content_type(request):
        case "application/json":
            rows = await run_in_threadpool(uploads.rows_of_json, await request.body())
            done = await run_in_threadpool(local.add_rows, db, blobs, project, rows, None, user_id)
        case "multipart/form-data":
            async with request.form(max_files=MOST_FILES) as form:
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
    """Upload features for all items, as the body: a .npy, .npz or .csv file, recognised by its first bytes.

    Rows belong to items by key (an array `keys` in the .npz, a first column `key` in the .csv), or else in the order of
    the items. They become the next version of the features, and a run on them starts. Pickles are never read. 422: NaN
    or infinity, a wrong number of rows, an unknown or missing key; errors[] name row and column.
    """
    await run_in_threadpool(_allow, db, me, project, Action.WRITE)
    async with uploads.spooled(request) as path:
        features = await run_in_threadpool(read_features, path, filename)
        stored = await run_in_threadpool(storing.store_features, db, blobs, project, features, name)
    return FeaturesOut.model_validate(stored)


@router.patch("/{project}/items/{key:path}", responses=problems(409, 412, 422))
def patch_item(
    project: str, key: str, body: ItemPatch, me: Me, db: Db, response: Response, if_match: IfMatch = None
) -> ItemOut:
    """Change an item; fields that are left out stay as they are.

    `set_aside` takes it out of questions, fits and counts, with its answers, or puts it back. Metadata are changed by
    name; null removes one. Features that Tercet made are made again.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        changes = body.model_dump(exclude_unset=True)
        item = editing.change(session, access.project, key, changes, access.user.id, if_match)
        changed = editing.item_out(session, access.project, item)
    response.headers["ETag"] = entity_tag(changed)
    return changed


@router.delete("/{project}/items/{key:path}")
def delete_item(project: str, key: str, me: Me, db: Db, blobs: Blobs) -> ItemRemoved:
    """Delete an item; one with answers is set aside instead, and can be put back."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        unused = editing.remove(session, access.project, key)
        number = access.project.id
    if unused:
        service.remove_unused(db, blobs, number, unused)
    return ItemRemoved(key=key, set_aside=unused is None)


@router.get(
    "/{project}/picture-trial",
    response_class=Response,
    responses={200: {"content": {"image/png": {"example": "bytes"}}}},
)
def get_picture_trial(project: str, asked: Annotated[PictureQuery, Query()], me: Me, db: Db, blobs: Blobs) -> Response:
    """Draw one sound with other settings; nothing is stored."""
    settings = asked.settings()
    with db.reading() as session:
        blob = pictures.sound_of(session, authorize(session, me, project, Action.READ).project, asked.key)
    headers = {"Cache-Control": "private, max-age=600", "X-Content-Type-Options": "nosniff"}
    return Response(pictures.draw_on_trial(blobs, blob, settings), media_type="image/png", headers=headers)


@router.get("/{project}/feature-recipe")
def get_recipe(project: str, me: Me, db: Db) -> RecipeOut:
    """Read which groups of features were chosen for the items of the project, and whether features are made now."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        making = jobs.unfinished(session, access.project.id, JobKind.MAKE_FEATURES)
        return RecipeOut.of(access.project, making=bool(making))


@router.put("/{project}/feature-recipe", status_code=202)
def put_recipe(project: str, body: RecipeIn, me: Me, db: Db) -> RecipeOut:
    """Choose the groups of features. They are made in the background; a run on them follows."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        recipe = body.groups and featuring.read_groups([group.model_dump() for group in body.groups])
        featuring.choose(session, access.project, recipe or None, access.user)
        return RecipeOut.of(access.project, making=True)


def _allow(db: Database, me: Caller, project: str, action: Action) -> int:
    """Return the id of the user; raise a problem, before the body is read, if they may not do this."""
    with db.reading() as session:
        return authorize(session, me, project, action).user.id


def _add_form(db: Database, blobs: Storage, project: str, form: FormData, user_id: int) -> local.LocalImport:
    with uploads.files_of(form) as files:
        return local.add_files(db, blobs, project, files, user_id)
