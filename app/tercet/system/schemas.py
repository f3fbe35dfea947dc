"""JSON of the server's state."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from tercet.system.overview import Overview
from tercet.system.state import SystemCounts

EXAMPLE: dict[str, Any] = {
    "versions": {"Tercet": "1.0", "Python": "3.13.1", "SQLite": "3.46.1", "Tables": "revision 0032"},
    "disk_free": 51_200_000_000,
    "disk_total": 250_000_000_000,
    "database_size": 48_000_000,
    "projects": 4,
    "answers": 12_040,
    "queue": 800,
    "leases": 12,
    "runs": {"queued": 0, "running": 1, "done": 240, "failed": 0, "cancelled": 2},
    "jobs": {"queued": 0, "running": 0, "done": 9, "failed": 1, "cancelled": 0},
    "mean_run_seconds": 1.4,
    "newest_backup": {"file": "tercet-2026-05-02T03-00-00Z.zip", "made_at": "2026-05-02T03:00:00Z", "size": 9_100_000},
    "failures": [
        {"what": "make features", "project": "songs", "at": "2026-05-01T09:30:00Z", "sentence": "The disk is full."}
    ],
    "audit_break": None,
}


class BackupOut(BaseModel):
    """A backup that the server made by itself; `size` in bytes."""

    file: str
    made_at: datetime
    size: int


class FailureOut(BaseModel):
    """A run or background job that failed."""

    what: str
    project: str
    at: datetime
    sentence: str


class SystemOut(SystemCounts):
    """The server at one moment: sizes in bytes, `mean_run_seconds` of the runs done within the last hour."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    versions: dict[str, str]
    disk_free: int
    disk_total: int
    database_size: int
    mean_run_seconds: float | None
    newest_backup: BackupOut | None
    failures: list[FailureOut]
    audit_break: int | None

    @classmethod
    def of(cls, overview: Overview) -> Self:
        """Show an overview."""
        state, backup = overview.state, overview.backup
        seconds = state.run_seconds
        return cls(
            **{name: getattr(overview, name) for name in ("versions", "disk_free", "disk_total", "database_size")},
            **state.model_dump(exclude={"run_seconds"}),
            mean_run_seconds=sum(seconds) / len(seconds) if seconds else None,
            newest_backup=backup and BackupOut(file=backup.file.name, made_at=backup.made_at, size=backup.size),
            failures=[FailureOut(**vars(failure)) for failure in overview.failures],
            audit_break=overview.audit_break,
        )
