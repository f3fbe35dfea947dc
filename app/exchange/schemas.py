"""What goes out after an upload of constraints."""

from typing import Any

from pydantic import BaseModel, ConfigDict

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
}


class ReceivedOut(BaseModel):
    """How many rows there were, how many are new, and how many had been stored before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": 20086, "stored": 20086, "repeated": 0}]})

    rows: int
    stored: int
    repeated: int
