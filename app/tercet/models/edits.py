"""What analysts change in clusters by hand, and the pairs of items by which runs learn of it."""

import enum
from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now


class EditKind(enum.StrEnum):
    """What an analyst says of some items: where they belong, what they stand for, or that clusters are one or two."""

    MOVE = "move"
    KEEP = "keep"
    OUT = "out"
    TOGETHER = "together"
    APART = "apart"
    MERGE = "merge"
    SPLIT = "split"
    TYPICAL = "typical"


# What puts an item elsewhere than where it was.
MOVING = (EditKind.MOVE, EditKind.OUT, EditKind.SPLIT)


class Edit(Base):
    """One change by an analyst. It stays when it is taken back, marked; runs then leave its links out.

    `cluster` is where items were moved, or what the cluster `other` was merged into; `other` is also what was split.
    """

    __tablename__ = "edit"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('move', 'keep', 'out', 'together', 'apart', 'merge', 'split', 'typical')", name="kind"
        ),
        CheckConstraint("weight > 0", name="weight"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(8))
    items: Mapped[int]
    cluster: Mapped[int | None]
    other: Mapped[int | None]
    weight: Mapped[float]
    by_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    reverted_at: Mapped[datetime | None]


class Link(Base):
    """Two items that an edit puts into one cluster, or into two; `item_id` is the one that the analyst chose."""

    __tablename__ = "link"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    edit_id: Mapped[int] = mapped_column(ForeignKey("edit.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    other_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), index=True)
    alike: Mapped[bool]
