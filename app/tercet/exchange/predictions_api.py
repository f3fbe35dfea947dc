"""REST: assign new items to the clusters of a run, by rows of features at once, as files and texts by a worker."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from tercet.accounts.access import Access, Action, Caller, authorize
from tercet.accounts.dependencies import Me
from tercet.database import Database
from tercet.errors import WrongType
from tercet.exchange import file_predictions
from tercet.exchange.predicting import BY_RECIPE, find_model, json_pieces, predicted, rows_for, rows_of_json
from tercet.exchange.schemas import PREDICTED_EXAMPLE, PREDICTION_EXAMPLE, ROWS_EXAMPLE, PredictionOut, RowsIn
from tercet.intake import uploads
from tercet.intake.feature_files import Features, read_features
from tercet.intake.reading.plan import MOST_FILES
from tercet.intake.schemas import ITEMS_EXAMPLE, ItemsIn
from tercet.intake.uploads import content_type, spooled
from tercet.models import BackgroundJob, Project
from tercet.storage import Storage
from tercet.web.dependencies import Blobs, Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Id
from tercet.web.openapi import schema_of
from tercet.web.problems import problems
from tercet.web.row_formats import RowFormat

router = APIRouter(
    prefix="/api/v1/projects", tags=["exchange"], responses=problems(401, 403, 404), route_class=JsonRoute
)
ONE = "/{project}/predictions/{number}"
BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
JSON_SCHEMA = {"anyOf": [schema_of(RowsIn), schema_of(ItemsIn)]}
PREDICT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": JSON_SCHEMA,
                "examples": {"features": {"value": ROWS_EXAMPLE}, "texts and metadata": {"value": ITEMS_EXAMPLE}},
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "media": {"type": "array", "items": BINARY, "description": "sounds, pictures, texts, archives"},
                        "table": {**BINARY, "description": "a table of items: CSV, TSV, NDJSON or JSON"},
                    },
                },
                "example": {"media": ["song-901.wav", "song-902.wav"]},
            },
            "application/octet-stream": {"schema": {}, "example": "the bytes of new.npy or new.npz"},
            "text/csv": {"schema": {}, "example": "key,pitch,length\nsong-901,2.1,0.4\n"},
        },
    }
}
PREDICT_ANSWERS: dict[int | str, dict[str, Any]] = {
    **problems(409, 413, 415, 422),
    200: {
        "description": "A row for each row of features.",
        "content": {"application/json": {"example": PREDICTED_EXAMPLE}},
    },
    202: {
        "description": "A worker will measure the files or items; Location is where to ask for it.",
        "model": PredictionOut,
        "content": {"application/json": {"example": PREDICTION_EXAMPLE | {"status": "queued", "items": None}}},
    },
}
CSV_EXAMPLE = "item,cluster,name,confidence,cluster_1,cluster_2,remark\r\nsong-901,1,thrush,0.97,0.97,0.03,\r\n"


@router.post(
    "/{project}/runs/{run}/predict",
    response_class=StreamingResponse,
    openapi_extra=PREDICT_BODY,
    responses=PREDICT_ANSWERS,
)
async def predict(project: str, run: str, request: Request, me: Me, db: Db, blobs: Blobs) -> Response:
    """Assign new items to the clusters of a run: by rows of features at once, as files or texts in the background.

    Rows of features come as JSON `{"features": [[...], ...]}`, .npy, .npz or CSV; columns with names may come in any
    order. The answer has the cluster, the confidence and the posterior of every row.

    Where Tercet made the features, send the items themselves: sounds, pictures, texts, tables and archives as
    multipart/form-data, read as an import reads them, or JSON `{"items": [{"key", "text", "metadata"}, ...]}`. A
    worker makes their features as those of the run were made, with what was learned from its items; 202: ask
    `predictions/{number}` until it is done. Nothing is added to the project: files are deleted once they are read,
    what came of them after a day.

    What people answered about an item moves its own cluster alone, so an item of the project may be in another one
    here. 409: the run left no model, or nothing to measure new items by.
    """
    access = await run_in_threadpool(_readable, db, me, project)
    media_type = content_type(request)
    if media_type == "multipart/form-data":
        async with request.form(max_files=MOST_FILES) as form:
            return await run_in_threadpool(_begin_form, db, blobs, access, run, form)
    async with spooled(request) as path:
        return await run_in_threadpool(_answer, db, blobs, access, run, path, media_type)


@router.get(ONE)
def get_prediction(project: str, number: Id, me: Me, db: Db) -> PredictionOut:
    """Read how far a prediction is, and what is wrong with which file."""
    return file_predictions.show(_find(db, me, project, number)[1])


@router.get(
    ONE + "/items",
    response_class=StreamingResponse,
    responses={
        **problems(409),
        200: {
            "description": "The items with their clusters, streamed.",
            "content": {
                "application/json": {"example": PREDICTED_EXAMPLE | {"faults": []}},
                "text/csv": {"example": CSV_EXAMPLE},
            },
        },
    },
)
def get_predicted_items(
    project: str,
    number: Id,
    me: Me,
    db: Db,
    blobs: Blobs,
    format: Annotated[Literal[RowFormat.JSON, RowFormat.CSV], Query()] = RowFormat.JSON,
) -> StreamingResponse:
    """Read the cluster, the confidence and the posterior of every item. 409: the prediction is not done."""
    row, job = _find(db, me, project, number)
    file_predictions.demand_done(job)
    pieces = (file_predictions.csv_table if format == RowFormat.CSV else file_predictions.json_object)(blobs, job)
    headers = {"Content-Disposition": f'attachment; filename="{row.key}-prediction-{number}.{format}"'}
    return StreamingResponse(pieces, media_type=format.content_type, headers=headers)


@router.delete(ONE, status_code=204)
def delete_prediction(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> None:
    """Forget a prediction now, or cancel one that is under way."""
    file_predictions.forget(db, blobs, *_find(db, me, project, number))


def _answer(db: Database, blobs: Storage, access: Access, run: str, path: Path, media_type: str) -> Response:
    """Answer to rows: predict those of features, have those of items predicted."""
    if media_type == "application/json" and _holds_items(body := path.read_bytes()):
        rows = uploads.rows_of_json(body)
        return _accepted(access.project, file_predictions.send_to_worker(db, blobs, access, run, rows))
    features = _read_rows(path, media_type)
    with db.reading() as session:
        model = find_model(session, blobs, access.project, run)
    rows_in_order = rows_for(model, features)
    items = predicted(model, rows_in_order, features.keys)
    pieces = json_pieces(model.about_["run"], model.cluster_names_, items)
    return StreamingResponse(pieces, media_type="application/json")


def _holds_items(body: bytes) -> bool:
    """Return whether a JSON body holds items rather than rows of features, whose `items` are only names."""
    try:
        content = json.loads(body)
    except ValueError:
        return False  # what is wrong is said where it is read as rows of features
    return isinstance(content, dict) and "items" in content and "features" not in content


def _read_rows(path: Path, media_type: str) -> Features:
    if media_type == "application/json":
        return rows_of_json(path.read_bytes())
    if media_type in ("application/octet-stream", "application/zip", "text/csv", ""):
        return read_features(path, "features")
    raise WrongType(f"Send rows of features as JSON, .npy, .npz or CSV, not as '{media_type}'. {BY_RECIPE}")


def _begin_form(db: Database, blobs: Storage, access: Access, run: str, form: FormData) -> Response:
    with uploads.files_of(form, ("media", "table"), in_folders=True) as files:
        return _accepted(access.project, file_predictions.send_to_worker(db, blobs, access, run, files))


def _accepted(project: Project, job: BackgroundJob) -> Response:
    shown = file_predictions.show(job).model_dump(mode="json")
    address = f"/api/v1/projects/{project.key}/predictions/{job.id}"
    return JSONResponse(shown, status_code=202, headers={"Location": address})


def _readable(db: Database, me: Caller, project: str) -> Access:
    """Return project and sender; raise where they may not read it."""
    with db.reading() as session:
        return authorize(session, me, project, Action.READ)


def _find(db: Database, me: Caller, project: str, number: int) -> tuple[Project, BackgroundJob]:
    with db.reading() as session:
        row = authorize(session, me, project, Action.READ).project
        return row, file_predictions.find(session, row, number)
