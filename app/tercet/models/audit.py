"""The audit log."""

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base


class AuditEntry(Base):
    """One entry; names are copied, so that it outlives users and projects. Triggers refuse changes and deletions."""

    __tablename__ = "audit"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    by_id: Mapped[int | None]
    by_name: Mapped[str] = mapped_column(String(200))
    address: Mapped[str] = mapped_column(String(45))
    project: Mapped[str | None] = mapped_column(String(80), index=True)
    what: Mapped[str] = mapped_column(String(40))
    before: Mapped[dict[str, Any]]
    after: Mapped[dict[str, Any]]
    hash: Mapped[str] = mapped_column(String(64))
