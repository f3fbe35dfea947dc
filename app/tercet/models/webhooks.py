"""Addresses that are told what happens in a project, and every message to them."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now


class Occasion(enum.StrEnum):
    """What a message is about."""

    RUN = "run"
    ANSWERS = "answers"
    TEST = "test"


class DeliveryStatus(enum.StrEnum):
    """What became of a message."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given up"


class Webhook(Base):
    """An address that is told when a run is done or has failed, or after every so many answers (0: never).

    The secret itself is stored, for messages are signed with it. `event_number` and `answer_number` are the project's
    counters up to which messages were queued.
    """

    __tablename__ = "webhook"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    url: Mapped[str] = mapped_column(Text)
    secret: Mapped[str] = mapped_column(String(64))
    runs: Mapped[bool]
    every_answers: Mapped[int]
    event_number: Mapped[int]
    answer_number: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(default=now)


class Delivery(Base):
    """A message to a webhook, tried until it is taken; `next_at` is when it may be tried again."""

    __tablename__ = "delivery"
    __table_args__ = (
        CheckConstraint("status IN ('waiting', 'delivered', 'given up')", name="status"),
        Index("ix_delivery_status", "status", "next_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhook.id", ondelete="CASCADE"), index=True)
    occasion: Mapped[str] = mapped_column(String(10))
    payload: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(String(10), default=DeliveryStatus.WAITING)
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(default=now)
    next_at: Mapped[datetime | None] = mapped_column(default=now)
    ended_at: Mapped[datetime | None]
    result: Mapped[str] = mapped_column(String(300), default="")
