"""Background jobs, and the imports that most of them work on."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now, partial_index


class JobKind(enum.StrEnum):
    """What a background job does."""

    CHECK_IMPORT = "check_import"  # read the files of an import, and store what they would become
    STORE_IMPORT = "store_import"  # make items of them
    MAKE_FEATURES = "make_features"  # compute the project's features by its recipe
    DRAW_PICTURES = "draw_pictures"  # draw the pictures of all sounds anew
    PREDICT = "predict"  # assign new items to the clusters of a run


class JobStatus(enum.StrEnum):
    """The life of a background job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BackgroundJob(Base):
    """One background job of one project; `subject` the number of what it works on: an import, or a run.

    Of a kind, at most one is under way in a project. As with runs, the worker's first act is to raise `token`, and
    every later write names the token that it got.
    """

    __tablename__ = "job"
    __table_args__ = (
        CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="status"),
        partial_index("uq_job_running", "project_id", "kind", where="status = 'running'", unique=True),
        Index("ix_job_status", "status", "id"),
        Index("ix_job_project", "project_id", "kind", "subject"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(20))
    subject: Mapped[int | None]
    status: Mapped[str] = mapped_column(String(10), default=JobStatus.QUEUED)
    progress: Mapped[float] = mapped_column(default=0.0)
    note: Mapped[str] = mapped_column(Text, default="")
    token: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[datetime | None]
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)
    result: Mapped[dict[str, Any]] = mapped_column(default=dict)


class ImportSource(enum.StrEnum):
    """How an import was made."""

    PAGE = "page"
    REST = "rest"
    COMMAND = "command"


class ImportStatus(enum.StrEnum):
    """The life of an import."""

    UPLOADING = "uploading"
    CHECKING = "checking"
    READY = "ready"
    IMPORTING = "importing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNDONE = "undone"


class Import(Base):
    """Files that somebody brings into a project, from the first byte to the items that they became.

    `options` say how to read the files, `report` what was recognised and stored.
    """

    __tablename__ = "import"
    __table_args__ = (
        UniqueConstraint("project_id", "number"),
        CheckConstraint("source IN ('page', 'rest', 'command')", name="source"),
        CheckConstraint(
            "status IN ('uploading', 'checking', 'ready', 'importing', 'done', 'failed', 'cancelled', 'undone')",
            name="status",
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    number: Mapped[int]
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"), index=True)
    source: Mapped[str] = mapped_column(String(10), default=ImportSource.REST)
    status: Mapped[str] = mapped_column(String(10), default=ImportStatus.UPLOADING)
    options: Mapped[dict[str, Any]] = mapped_column(default=dict)
    report: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now)
    finished_at: Mapped[datetime | None]


class ImportFile(Base):
    """One file of an import: how much of it was received, and the storage folder of its parts."""

    __tablename__ = "import_file"
    __table_args__ = (UniqueConstraint("import_id", "path"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    import_id: Mapped[int] = mapped_column(ForeignKey("import.id", ondelete="CASCADE"))
    path: Mapped[str] = mapped_column(String(1000))
    size: Mapped[int] = mapped_column(BigInteger)
    received: Mapped[int] = mapped_column(BigInteger, default=0)
    blob: Mapped[str] = mapped_column(String(200))
