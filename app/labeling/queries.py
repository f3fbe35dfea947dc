"""What is read about labeling: how far a labeler and the project are, and why there may be nothing to ask."""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, time
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from app.accounts.access import Found
from app.labeling import statements
from app.labeling.drivers import Asked, ask
from app.models import Answer, Lease, Project, Triplet, now


def answer_of_project(session: Session, project_id: int, answer_id: UUID) -> Answer | None:
    """Give one answer of the project."""
    return session.scalar(select(Answer).where(Answer.project_id == project_id, Answer.id == answer_id))


class Look(NamedTuple):
    """What a page shows of an item: its words, and the storage keys of its media."""

    id: int
    key: str
    text: str
    media_type: str | None
    media: str | None
    picture: str | None
    thumbnail: str | None


def looks(session: Session, ids: Collection[int]) -> dict[int, Look]:
    """Give what is shown of the items with those numbers."""
    connection = session.connection()
    [rows] = ask(connection, _ask_looks(connection, ids))
    return _looks(rows)


def _ask_looks(connection: Connection, ids: Collection[int]) -> Asked:
    return statements.ITEMS_SHOWN[connection.dialect.name], {"ids": json.dumps(list(ids))}


def _looks(rows: Sequence[Any]) -> dict[int, Look]:
    return {row[0]: Look(*row) for row in rows}


def recent_answers(session: Session, project_id: int, user_id: int, limit: int) -> list[tuple[Answer, Triplet]]:
    """Give the labeler's last answers that count, newest first, each with its triplet."""
    statement = (
        select(Answer, Triplet)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .where(Answer.project_id == project_id, Answer.labeler_id == user_id, Answer.withdrawn_at.is_(None))
        .order_by(Answer.number.desc())
        .limit(limit)
    )
    return [(answer, triplet) for answer, triplet in session.execute(statement)]


class Progress(NamedTuple):
    """How many answers count: a labeler's, those of them given today (UTC), and the project's."""

    labeler_id: int
    mine: int
    today: int
    everybody: int


def progress(session: Session, project_id: int, user_ids: Collection[int]) -> list[Progress]:
    """Count the answers of each labeler and of the project; withdrawn ones not."""
    connection = session.connection()
    [rows] = ask(connection, ask_progress(connection, project_id, user_ids))
    return [Progress(*row) for row in rows]


def looks_and_progress(
    session: Session, ids: Collection[int], project_id: int, user_id: int
) -> tuple[dict[int, Look], list[Progress]]:
    """Give what is shown of items, and how far one labeler is."""
    connection = session.connection()
    seen, counted = ask(connection, _ask_looks(connection, ids), ask_progress(connection, project_id, [user_id]))
    return _looks(seen), [Progress(*row) for row in counted]


def ask_progress(connection: Connection, project_id: int, user_ids: Collection[int]) -> Asked:
    """Give the statement that counts answers, and what it is asked with; its rows are `Progress`."""
    midnight = datetime.combine(now().date(), time(), UTC)
    users = json.dumps(list(user_ids))
    return statements.PROGRESS[connection.dialect.name], {"project": project_id, "users": users, "midnight": midnight}


def people_and_items(
    session: Session, project_key: str, user_ids: Collection[int], keys: Collection[str]
) -> tuple[dict[int, Found], dict[str, int]]:
    """Give who users are in a project, and the ids of those of its items with the keys that exist."""
    connection = session.connection()
    askable = [key for key in keys if "\0" not in key]  # PostgreSQL cannot even be asked
    people, items = ask(
        connection,
        _ask_people(connection, project_key, user_ids),
        (statements.ITEMS_NAMED[connection.dialect.name], {"key": project_key, "keys": json.dumps(askable)}),
    )
    return _people(people), dict(map(tuple, items))


def people(session: Session, project_key: str, user_ids: Collection[int]) -> dict[int, Found]:
    """Give who users are in a project."""
    if not user_ids:
        return {}
    connection = session.connection()
    [rows] = ask(connection, _ask_people(connection, project_key, user_ids))
    return _people(rows)


def _ask_people(connection: Connection, project_key: str, user_ids: Collection[int]) -> Asked:
    return statements.PEOPLE[connection.dialect.name], {"key": project_key, "users": json.dumps(list(user_ids))}


def _people(rows: Sequence[Any]) -> dict[int, Found]:
    found = [Found.in_row(row) for row in rows]
    return {one.user.id: one for one in found}


def why_nothing(session: Session, project: Project, user_id: int, count: int) -> str:
    """Say in a sentence why a project of so many items has no question for this labeler, and until when."""
    if count < 3:
        return f"This project has {count} items: a question needs three. Ask the project's owner to add items."
    queued = select(Triplet.id).where(Triplet.project_id == project.id, Triplet.priority.is_not(None))
    if session.scalar(queued.limit(1)) is None:
        return f"Every question about these {count} items has been answered. Thank you!"
    until = session.scalar(
        select(func.min(Lease.expires_at))
        .join(Triplet, Triplet.id == Lease.triplet_id)
        .where(Triplet.project_id == project.id, Lease.labeler_id != user_id, Lease.expires_at > now())
    )
    if until is not None:
        return (
            f"All remaining questions are on the screens of other labelers. Some may come back at {until:%H:%M} UTC."
        )
    return "You have answered or skipped every question there is; what remains needs other labelers. Thank you!"
