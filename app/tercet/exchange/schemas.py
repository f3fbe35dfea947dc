"""JSON: the result of an upload of constraints, and rows to predict."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tercet.models import JobStatus
from tercet.web.texts import Name

ROW_EXAMPLE: dict[str, Any] = {
    "triplet": ["song-17", "song-3", "song-21"],
    "answer": "yes",
    "labeler": "Ada",
    "response_ms": 1830,
}
ROW_OUT_EXAMPLE: dict[str, Any] = {
    "id": "0b6d3b0a-58b1-4a5c-8e6e-6f1f0a4f7c11",
    "number": 1204,
    **ROW_EXAMPLE,
    "created_at": "2026-05-02T09:30:00.000+00:00",
    "withdrawn_at": None,
    "set_aside_at": None,
    "comment": "",
}
ROWS_EXAMPLE: dict[str, Any] = {"features": [[2.1, 0.4], [0.7, 1.2]], "items": ["song-901", "song-902"]}
PREDICTED_EXAMPLE: dict[str, Any] = {
    "run": 41,
    "cluster_names": ["thrush", ""],
    "items": [{"item": "song-901", "cluster": 1, "confidence": 0.97, "posterior": [0.97, 0.03]}],
}

PREDICTION_EXAMPLE: dict[str, Any] = {
    "id": 31,
    "run": 41,
    "status": "done",
    "progress": 1.0,
    "note": "2 items assigned, 1 faults",
    "error": None,
    "created_at": "2026-05-02T09:30:00Z",
    "finished_at": "2026-05-02T09:30:02Z",
    "items": 2,
    "faults": [{"field": "media", "detail": "'a.wav' ends too early", "row": None, "file": "a.wav"}],
    "faults_count": 1,
}


class ReceivedOut(BaseModel):
    """How many rows there were, how many are new, and how many had been stored before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": 20086, "stored": 20086, "repeated": 0}]})

    rows: int
    stored: int
    repeated: int


class RowsIn(BaseModel):
    """Rows of features of new items; with `feature_names` the columns may come in any order."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [ROWS_EXAMPLE]})

    features: list[list[float]] = Field(min_length=1)
    items: list[Name] | None = None
    feature_names: list[Name] = []


class FaultOut(BaseModel):
    """What is wrong: in which file, row and field of what was sent."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"field": "media", "detail": "'a.wav' is cut off", "file": "a.wav"}]}
    )

    field: str
    detail: str
    row: int | None = None
    file: str | None = None


class PredictionOut(BaseModel):
    """How far the prediction of files or rows of items is; `items` is how many have a cluster, null until it is done.

    What could not be read or measured is among the `faults`, of which the first thousand are listed.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [PREDICTION_EXAMPLE]})

    id: int
    run: int
    status: JobStatus
    progress: float
    note: str
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    items: int | None = None
    faults: list[FaultOut] = []
    faults_count: int = 0
