"""The declarative base: naming convention, UTC times, JSON columns."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, DateTime, Index, MetaData, TypeDecorator, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# By how much the clocks of machines that share a database may differ.
CLOCKS_DIFFER = timedelta(minutes=5)


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite has no zones, so the zone is removed on writing and restored on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse times without a zone; store UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time needs a zone")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return times in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Base of every table."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads this class attribute
        datetime: UtcDateTime(),
        dict[str, Any]: JSON().with_variant(JSONB(), "postgresql"),
        list[str]: JSON().with_variant(JSONB(), "postgresql"),
    }


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """Return a partial index, for either database."""
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def out_of_reach(longest_seconds: float) -> datetime:
    """Return a time so far ahead that what is planned at most so many seconds ahead was written by another clock.

    Clocks that are set back leave leases which would hold for as long as they were set back.
    """
    return now() + timedelta(seconds=longest_seconds) + CLOCKS_DIFFER
