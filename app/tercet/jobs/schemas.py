"""Background jobs as REST returns them."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from tercet.models import JobKind, JobStatus

JOB_EXAMPLE: dict[str, Any] = {
    "id": 12,
    "kind": "check_import",
    "subject": 3,
    "status": "running",
    "progress": 0.4,
    "note": "Reading 12 of 29 files",
    "error": None,
    "created_at": "2026-05-02T09:30:00Z",
    "started_at": "2026-05-02T09:30:01Z",
    "finished_at": None,
}


class JobOut(BaseModel):
    """A background job: what it does, its progress, and a sentence about it."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [JOB_EXAMPLE]})

    id: int
    kind: JobKind
    subject: int | None
    status: JobStatus
    progress: float
    note: str
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
