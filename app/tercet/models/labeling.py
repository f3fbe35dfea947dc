"""Triplets, leases, answers, skips, flags, and decisions about answers."""

import enum
from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    String,
    Text,
    UniqueConstraint,
    Uuid,
    and_,
    false,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now, partial_index


class Source(enum.StrEnum):
    """Where a triplet comes from: drawn at random, chosen by a run for what it tells, or given by a client."""

    RANDOM = "random"
    INFORMATION = "information"
    CLIENT = "client"


class Triplet(Base):
    """(anchor, left, right) in canonical order, so that a question asked both ways is one row.

    Relative question: left_id < right_id. Outlier question: anchor_id < left_id < right_id. Each item has an index for
    the sake of deletion, which would otherwise read the whole table for each item.
    """

    __tablename__ = "triplet"
    __table_args__ = (
        UniqueConstraint("project_id", "anchor_id", "left_id", "right_id"),
        CheckConstraint("left_id < right_id", name="canonical"),
        CheckConstraint("anchor_id <> left_id AND anchor_id <> right_id", name="distinct"),
        # The queue in the order in which it is asked, backwards: what was answered often enough is not in it.
        partial_index("ix_triplet_queue", "project_id", "priority", "id", where="priority IS NOT NULL"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    anchor_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    left_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    right_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    source: Mapped[str] = mapped_column(String(12))
    # Higher is asked earlier. Null is out of the queue: answered often enough, set ahead, or given by a client.
    priority: Mapped[float | None]
    # Answers needed beyond the project's redundancy, because a run doubts the existing ones.
    extra_answers: Mapped[int] = mapped_column(server_default="0")
    # The number of the only labeler who is asked while it waits, until the next run decides anew; null: anybody.
    asked_of: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(default=now)


class OncePerLabeler:
    """Columns shared by tables with one row for each triplet and labeler."""

    id: Mapped[int] = mapped_column(primary_key=True)
    triplet_id: Mapped[int] = mapped_column(ForeignKey("triplet.id", ondelete="CASCADE"))
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)


class Lease(OncePerLabeler, Base):
    """A triplet handed to one labeler for a while."""

    __tablename__ = "lease"
    __table_args__ = (UniqueConstraint("triplet_id", "labeler_id"),)

    expires_at: Mapped[datetime] = mapped_column(index=True)


class Answer(Base):
    """One labeler's answer to one triplet, turned to its canonical order.

    Answers that their labelers withdrew and those that an analyst set aside stay, marked, but do not count.
    """

    __tablename__ = "answer"
    __table_args__ = (
        UniqueConstraint("project_id", "number"),
        CheckConstraint("value IN ('yes', 'no', 'dnk', '1', '2', '3')", name="value"),
        Index("ix_answer_labeler", "project_id", "labeler_id", "number"),
        Index("ix_answer_created", "project_id", "created_at"),
        # Withdrawn answers are few: counting them apart lets "answers by me" be counted in an index alone.
        partial_index("ix_answer_withdrawn", "project_id", "labeler_id", "number", where="withdrawn_at IS NOT NULL"),
        # Storing an answer need not write to it.
        partial_index("ix_answer_set_aside", "set_aside_id", where="set_aside_id IS NOT NULL"),
    )

    id: Mapped[UUID] = mapped_column(Uuid(), primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    number: Mapped[int]
    triplet_id: Mapped[int] = mapped_column(ForeignKey("triplet.id", ondelete="CASCADE"), index=True)
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    value: Mapped[str] = mapped_column(String(3))
    response_ms: Mapped[int | None]
    # What its labeler noted about it.
    comment: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    withdrawn_at: Mapped[datetime | None]
    # When an analyst said that it is right: its question is asked of others to see how they answer.
    known_at: Mapped[datetime | None]
    # Removed with its labeler: it says nothing any more, and stays withdrawn for the sake of its number alone.
    erased: Mapped[bool] = mapped_column(server_default=false())
    # The decision by which it is set aside now.
    set_aside_id: Mapped[int | None] = mapped_column(ForeignKey("decision.id"))

    @hybrid_property
    def counts(self) -> bool:
        """Whether runs use the answer, and its triplet needs one answer less."""
        return self.withdrawn_at is None and self.set_aside_id is None

    @counts.inplace.expression
    @classmethod
    def _counts(cls) -> ColumnElement[bool]:
        return and_(cls.withdrawn_at.is_(None), cls.set_aside_id.is_(None))


class Verdict(enum.StrEnum):
    """What is decided about answers: runs shall not use them, or shall again; held: not until an analyst has looked."""

    HELD = "held"
    SET_ASIDE = "set aside"
    PUT_BACK = "put back"


class Decision(Base):
    """Answers of one labeler were set aside, put back or held: by whom, when and why. The log; never changed.

    `answer_number` is the answer that it was about; null: all of the labeler's at once, `answers` of them, or those of
    them that may be `unseen`, or that the labeler had `withdrawn`. Nobody decided what is held (`by_id` is null):
    Tercet saw a reason, and its `answers` grow until an analyst decides.
    """

    __tablename__ = "decision"
    __table_args__ = (CheckConstraint("verdict IN ('held', 'set aside', 'put back')", name="verdict"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    verdict: Mapped[str] = mapped_column(String(10))
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    answer_number: Mapped[int | None]
    answers: Mapped[int]
    unseen: Mapped[bool] = mapped_column(default=False, server_default=false())
    withdrawn: Mapped[bool] = mapped_column(default=False, server_default=false())
    by_id: Mapped[int | None] = mapped_column(ForeignKey("user.id"), index=True)
    reason: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime] = mapped_column(default=now)

    @hybrid_property
    def about_all(self) -> bool:
        """Whether it is about the labeler: about all answers that they gave until then."""
        return self.answer_number is None and not self.unseen and not self.withdrawn

    @about_all.inplace.expression
    @classmethod
    def _about_all(cls) -> ColumnElement[bool]:
        return and_(cls.answer_number.is_(None), ~cls.unseen, ~cls.withdrawn)


class Skip(OncePerLabeler, Base):
    """A triplet that a labeler does not want to see again."""

    __tablename__ = "skip"
    __table_args__ = (UniqueConstraint("triplet_id", "labeler_id"),)

    created_at: Mapped[datetime] = mapped_column(default=now)


class FlagReason(enum.StrEnum):
    """What is wrong with an item: nothing to hear or see, not all of it, or not what it should be."""

    EMPTY = "empty"
    CUT = "cut"
    WRONG = "wrong"
    OTHER = "other"


class Flag(Base):
    """A labeler says that an item is broken, and is asked nothing about it from then on.

    An analyst sets the item aside, or dismisses what was said of it; to take a flag back deletes the row.
    """

    __tablename__ = "flag"
    __table_args__ = (
        UniqueConstraint("item_id", "labeler_id"),
        CheckConstraint("reason IN ('empty', 'cut', 'wrong', 'other')", name="reason"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"))
    labeler_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    reason: Mapped[str] = mapped_column(String(5))
    note: Mapped[str] = mapped_column(Text, default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    dismissed_at: Mapped[datetime | None]
