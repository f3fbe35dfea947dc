"""Adds entries to the audit log, reads them, and finds where its chain of hashes is broken."""

import hashlib
import json
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from tercet.models import AuditEntry, Project, User, now
from tercet.request_context import client_address

FIRST_HASH = "0" * 64
COMMAND_LINE = "the command line"
# Of PostgreSQL's locks that an application may name as it likes.
LOCK = 7_243_001
AT_ONCE = 500


# Who sent the request that is handled now, as soon as they were looked up; none: a command on the server.
acting: ContextVar[tuple[int, str] | None] = ContextVar("acting", default=None)


def act_as(user: User) -> None:
    """Have what is recorded from here on, in this request, be the deed of a user."""
    acting.set((user.id, user.name))


def record(
    session: Session,
    what: str,
    *,
    project: Project | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    by: User | None = None,
) -> AuditEntry:
    """Add an entry; it is stored with the deed, or not at all. `by` is who asked for what a worker did."""
    by_id, by_name = (by.id, by.name) if by is not None else acting.get() or (None, COMMAND_LINE)
    if session.get_bind().dialect.name == "postgresql":  # SQLite has one writer anyway
        session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    last = session.scalar(select(AuditEntry).order_by(AuditEntry.number.desc()).limit(1))
    entry = AuditEntry(
        number=1 if last is None else last.number + 1,
        at=now(),
        by_id=by_id,
        by_name=by_name,
        address=client_address.get()[:45],
        project=None if project is None else project.key,
        what=what,
        before=_plain(before or {}),
        after=_plain(after or {}),
    )
    entry.hash = _hash(FIRST_HASH if last is None else last.hash, entry)
    session.add(entry)
    session.flush()
    return entry


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them; what it has no form for, such as a time, becomes a text."""
    plain: dict[str, Any] = json.loads(json.dumps(values, default=_as_text))
    return plain


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def describe(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry as a JSON object, without its hash."""
    return {
        "number": entry.number,
        "at": entry.at.isoformat(timespec="microseconds"),
        "by_id": entry.by_id,
        "by": entry.by_name,
        "address": entry.address,
        "project": entry.project,
        "what": entry.what,
        "before": entry.before,
        "after": entry.after,
    }


def as_line(entry: AuditEntry) -> str:
    """Return an entry as a line of NDJSON."""
    return json.dumps({**describe(entry), "hash": entry.hash}, ensure_ascii=False) + "\n"


def _hash(before: str, entry: AuditEntry) -> str:
    content = json.dumps(describe(entry), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{content}".encode()).hexdigest()


def entries(session: Session, project: str | None = None, after: int = 0) -> Iterator[AuditEntry]:
    """Yield the entries after a number, of one project or all."""
    query = select(AuditEntry).order_by(AuditEntry.number).limit(AT_ONCE)
    if project is not None:
        query = query.where(AuditEntry.project == project)
    while page := session.scalars(query.where(AuditEntry.number > after)).all():
        yield from page
        after = page[-1].number


def newest(session: Session, project: str, limit: int) -> list[AuditEntry]:
    """Return the newest entries of a project, the last one first."""
    query = select(AuditEntry).where(AuditEntry.project == project).order_by(AuditEntry.number.desc())
    return list(session.scalars(query.limit(limit)))


def first_break(session: Session) -> int | None:
    """Return the number of the first entry that is missing, or not as it was written; None for a whole chain."""
    expected, last_hash = 1, FIRST_HASH
    for entry in entries(session):
        if entry.number != expected or entry.hash != _hash(last_hash, entry):
            return expected
        expected, last_hash = expected + 1, entry.hash
    return None
