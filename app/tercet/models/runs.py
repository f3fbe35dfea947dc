"""Runs, the names people give to clusters, and the numbered events that pages follow."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now, partial_index


class RunStatus(enum.StrEnum):
    """The life of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Purpose(enum.StrEnum):
    """What a run is for."""

    CURRENT = "current"  # one of the project's own clusterings; the newest that is done is the current one
    ALTERNATIVE = "alternative"  # another clustering, which leaves the current one alone
    COMPARISON = "comparison"  # figures about several algorithms, without clusters


def _one_per_project(status: RunStatus, condition: str) -> Index:
    return partial_index(f"uq_run_{status}", "project_id", where=condition, unique=True)


# Answers gather in this one run. Written out, so that an upsert names the index's condition word for word.
WAITING_FOR_ANSWERS = f"status = '{RunStatus.QUEUED}' AND purpose = '{Purpose.CURRENT}'"


class Run(Base):
    """One fit of one algorithm on one feature set and the answers up to `answers_to`; immutable once done.

    In a project at most one run of the current purpose waits and one of any purpose runs: two partial unique
    indexes say so. The worker's first act is to raise `token`; every later write names the token it got, so an
    older copy cannot write.
    """

    __tablename__ = "run"
    __table_args__ = (
        UniqueConstraint("project_id", "number"),
        CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="status"),
        CheckConstraint("purpose IN ('current', 'alternative', 'comparison')", name="purpose"),
        _one_per_project(RunStatus.QUEUED, WAITING_FOR_ANSWERS),
        _one_per_project(RunStatus.RUNNING, f"status = '{RunStatus.RUNNING}'"),
        Index("ix_run_status", "status", "due_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    number: Mapped[int]
    purpose: Mapped[str] = mapped_column(String(12), default=Purpose.CURRENT, server_default=Purpose.CURRENT)
    name: Mapped[str] = mapped_column(String(200), default="", server_default="")
    algorithm: Mapped[str] = mapped_column(String(40))
    parameters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    feature_set_id: Mapped[int | None] = mapped_column(ForeignKey("feature_set.id"), index=True)
    status: Mapped[str] = mapped_column(String(10), default=RunStatus.QUEUED)
    reason: Mapped[str] = mapped_column(String(20), default="answers")
    due_at: Mapped[datetime]
    token: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None]
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    progress: Mapped[float] = mapped_column(default=0.0)
    starved: Mapped[bool] = mapped_column(default=False, server_default=false())
    checkpoint: Mapped[str | None] = mapped_column(String(200))
    answers_from: Mapped[int] = mapped_column(default=0)
    answers_to: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    metrics: Mapped[dict[str, Any]] = mapped_column(default=dict)
    result: Mapped[str | None] = mapped_column(String(200))
    error: Mapped[str | None] = mapped_column(Text)


class ClusterNote(Base):
    """The name and note that an analyst gave to a cluster number, from one run on."""

    __tablename__ = "cluster_note"
    __table_args__ = (UniqueConstraint("project_id", "run_id", "cluster"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    cluster: Mapped[int]
    name: Mapped[str] = mapped_column(String(200), default="")
    note: Mapped[str] = mapped_column(Text, default="")


class Event(Base):
    """A change that open pages are notified of, numbered without gaps within its project."""

    __tablename__ = "event"
    __table_args__ = (UniqueConstraint("project_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    number: Mapped[int]
    kind: Mapped[str] = mapped_column(String(20))
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now)
