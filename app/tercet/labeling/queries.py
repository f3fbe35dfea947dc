"""Reads for labeling: items to show, progress, callers, stored answers, and why there is nothing to ask."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, time
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, func, select
from sqlalchemy.orm import Session

from tercet.accounts.access import CallerRow
from tercet.labeling.schemas import ItemMeasures
from tercet.labeling.sql import statements
from tercet.labeling.sql.answers import STORED_CONTENTS, Content
from tercet.labeling.sql.drivers import Query, Rows, run
from tercet.models import Answer, Lease, Triplet, now
from tercet.web.languages import Words


def answer_of_project(session: Session, project_id: int, answer_id: UUID) -> Answer | None:
    """Return one answer of the project."""
    return session.scalar(select(Answer).where(Answer.project_id == project_id, Answer.id == answer_id))


def is_right(project_id: int) -> ColumnElement[bool]:
    """Return the condition for answers that an analyst said to be right."""
    return (Answer.project_id == project_id) & Answer.known_at.is_not(None) & Answer.counts


def right_value(session: Session, project_id: int, triplet_id: int) -> str | None:
    """Return the right answer to a question in canonical order, where an analyst said it."""
    same_question = is_right(project_id) & (Answer.triplet_id == triplet_id)
    return session.scalar(select(Answer.value).where(same_question).limit(1))


class DisplayedItem(NamedTuple):
    """An item as pages show it: its text, the storage keys of its media, and the length of its sound."""

    id: int
    key: str
    text: str
    media_type: str | None
    media: str | None
    picture: str | None
    thumbnail: str | None
    seconds: float | None
    measures: ItemMeasures | None = None  # of sounds, where they are asked for


def displayed_items(session: Session, ids: Collection[int]) -> dict[int, DisplayedItem]:
    """Return the items with these ids, as pages show them."""
    connection = session.connection()
    return displayed_by_id(run(connection, items=displayed_items_query(connection, ids))["items"])


def displayed_items_query(connection: Connection, ids: Collection[int]) -> Query:
    """Return the query for the rows of these items, as pages show them."""
    return statements.ITEMS_SHOWN[connection.dialect.name], {"ids": json.dumps(list(ids))}


def displayed_by_id(rows: Rows) -> dict[int, DisplayedItem]:
    """Return the items of such rows by their ids."""
    return {row[0]: DisplayedItem(*row) for row in rows}


def recent_answers(session: Session, project_id: int, user_id: int, limit: int) -> list[tuple[Answer, Triplet]]:
    """Return the labeler's last answers that were not withdrawn, newest first, each with its triplet."""
    statement = (
        select(Answer, Triplet)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .where(Answer.project_id == project_id, Answer.labeler_id == user_id, Answer.withdrawn_at.is_(None))
        .order_by(Answer.number.desc())
        .limit(limit)
    )
    return [(answer, triplet) for answer, triplet in session.execute(statement)]


def progress_query(connection: Connection, project_id: int, user_ids: Collection[int]) -> Query:
    """Return the query that counts answers which were not withdrawn.

    A row is a labeler's id, the number of their answers, of their answers today (UTC), and of everybody's answers.
    """
    midnight = datetime.combine(now().date(), time(), UTC)
    users = json.dumps(list(user_ids))
    return statements.PROGRESS[connection.dialect.name], {"project": project_id, "users": users, "midnight": midnight}


class LookedUp(NamedTuple):
    """The stored rows that requests with answers name: callers, items by key, and answers by id."""

    callers: dict[str, CallerRow]
    item_ids: dict[str, int]
    contents: dict[UUID, Content]


def look_up(
    session: Session, project_key: str, sessions: Collection[str], keys: Collection[str], answer_ids: Collection[UUID]
) -> LookedUp:
    """Look up the users of sessions in a project, items of the project by key, and answers of any project by id."""
    connection = session.connection()
    askable = [key for key in keys if "\0" not in key]  # PostgreSQL refuses these, and no item has one
    rows = run(
        connection,
        callers=_callers_query(connection, project_key, sessions),
        items=(statements.ITEMS_NAMED[connection.dialect.name], {"key": project_key, "keys": json.dumps(askable)}),
        answers=_contents_query(connection, answer_ids),
    )
    return LookedUp(_callers(rows["callers"]), dict(map(tuple, rows["items"])), _contents(rows["answers"]))


def caller_rows(session: Session, project_key: str, sessions: Collection[str]) -> dict[str, CallerRow]:
    """Look up the users of sessions in a project: their roles, and the project."""
    if not sessions:
        return {}
    connection = session.connection()
    return _callers(run(connection, callers=_callers_query(connection, project_key, sessions))["callers"])


def _callers_query(connection: Connection, project_key: str, sessions: Collection[str]) -> Query:
    parameters = {"key": project_key, "sessions": json.dumps(list(sessions)), "now": now()}
    return statements.CALLERS[connection.dialect.name], parameters


def _callers(rows: Rows) -> dict[str, CallerRow]:
    return {row[0]: CallerRow.of(row[1:]) for row in rows}


def stored_contents(session: Session, answer_ids: Collection[UUID]) -> dict[UUID, Content]:
    """Return the contents of those of the answers that are stored, in any project."""
    connection = session.connection()
    return _contents(run(connection, answers=_contents_query(connection, answer_ids))["answers"])


def _contents_query(connection: Connection, answer_ids: Collection[UUID]) -> Query:
    ids = json.dumps([answer_id.hex for answer_id in answer_ids])
    return STORED_CONTENTS[connection.dialect.name], {"answer_ids": ids}


def _contents(rows: Rows) -> dict[UUID, Content]:
    return {row[0]: Content(*row[1:]) for row in rows}


def why_nothing(session: Session, project_id: int, user_id: int, count: int, words: Words) -> str:
    """Return a sentence on why a project with `count` items has no question for this labeler, and until when."""
    if count < 3:
        return words.say_many(
            "This project has %(count)s item: a question needs three. Ask the project's owner to add items.",
            "This project has %(count)s items: a question needs three. Ask the project's owner to add items.",
            count,
        )
    queued = select(Triplet.id).where(Triplet.project_id == project_id, Triplet.priority.is_not(None))
    if session.scalar(queued.limit(1)) is None:
        return words.say("Every question about these %(count)s items has been answered. Thank you!", count=count)
    until = session.scalar(
        select(func.min(Lease.expires_at))
        .join(Triplet, Triplet.id == Lease.triplet_id)
        .where(Triplet.project_id == project_id, Lease.labeler_id != user_id, Lease.expires_at > now())
    )
    if until is not None:
        return words.say(
            "All remaining questions are on the screens of other labelers. Some may come back at %(time)s UTC.",
            time=f"{until:%H:%M}",
        )
    return words.say("You have answered or skipped every question; those that remain need other labelers. Thank you!")
