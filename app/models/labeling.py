"""Triplets that may be asked, who holds one now, what was answered and what was skipped."""

import enum
from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint, Uuid, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, now


class Source(enum.StrEnum):
    """Where a triplet comes from: drawn at random, by expected information, or given by a client."""

    RANDOM = "random"
    INFORMATION = "information"
    CLIENT = "client"


class Triplet(Base):
    """(anchor, left, right) in canonical order, so that a question asked both ways is one row.

    Relative question: left_id < right_id. Outlier question: anchor_id < left_id < right_id. The index of each item
    is for deleting items: without, each would have every project's triplets read for its own.
    """

    __tablename__ = "triplet"
    __table_args__ = (
        UniqueConstraint("project_id", "anchor_id", "left_id", "right_id"),
        CheckConstraint("left_id < right_id", name="canonical"),
        CheckConstraint("anchor_id <> left_id AND anchor_id <> right_id", name="distinct"),
        Index("ix_triplet_queue", "project_id", "priority"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    anchor_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    left_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    right_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    source: Mapped[str] = mapped_column(String(12))
    # Higher is asked earlier. Null is out of the queue: answered often enough, or given by a client.
    priority: Mapped[float | None]
    created_at: Mapped[datetime] = mapped_column(default=now)


class Lease(Base):
    """A triplet handed to one labeler for a while."""

    __tablename__ = "lease"
    __table_args__ = (UniqueConstraint("triplet_id", "labeler_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    triplet_id: Mapped[int] = mapped_column(ForeignKey("triplet.id", ondelete="CASCADE"))
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class Answer(Base):
    """What one labeler said about one triplet, turned to its canonical order; withdrawn answers stay, marked."""

    __tablename__ = "answer"
    __table_args__ = (
        UniqueConstraint("project_id", "number"),
        CheckConstraint("value IN ('yes', 'no', 'dnk', '1', '2', '3')", name="value"),
        Index("ix_answer_labeler", "project_id", "labeler_id", "number"),
        Index("ix_answer_created", "project_id", "created_at"),
        # Withdrawn answers are few: counting them apart lets "answers by me" be counted in an index alone.
        Index(
            "ix_answer_withdrawn",
            "project_id",
            "labeler_id",
            "number",
            sqlite_where=text("withdrawn_at IS NOT NULL"),
            postgresql_where=text("withdrawn_at IS NOT NULL"),
        ),
    )

    id: Mapped[UUID] = mapped_column(Uuid(), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    number: Mapped[int]
    triplet_id: Mapped[int] = mapped_column(ForeignKey("triplet.id", ondelete="CASCADE"), index=True)
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    value: Mapped[str] = mapped_column(String(3))
    response_ms: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    withdrawn_at: Mapped[datetime | None]


class Skip(Base):
    """One labeler does not want to see one triplet again."""

    __tablename__ = "skip"
    __table_args__ = (UniqueConstraint("triplet_id", "labeler_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    triplet_id: Mapped[int] = mapped_column(ForeignKey("triplet.id", ondelete="CASCADE"))
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
