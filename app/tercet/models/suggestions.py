"""What the dashboard suggests to do next, as far as somebody has dismissed it."""

import enum
from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now


class SuggestionKind(enum.StrEnum):
    """What is suggested: merge two clusters, look at a small one, or give more answers."""

    MERGE = "merge"
    SMALL = "small"
    ANSWERS = "answers"


class Dismissal(Base):
    """A suggestion that is not to be made again; taking it back deletes the row.

    `cluster` and `other`, the smaller number first, are what it is about, 0 for nothing. A run that gives a cluster
    another number changes them.
    """

    __tablename__ = "dismissal"
    __table_args__ = (
        UniqueConstraint("project_id", "kind", "cluster", "other"),
        CheckConstraint("kind IN ('merge', 'small', 'answers')", name="kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(8))
    cluster: Mapped[int]
    other: Mapped[int]
    by_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
