"""Stores answers, one or many, in both databases.

A new answer gets the project's next number, so that numbers have no gap; its labeler's lease of the triplet ends; and
the triplet leaves the queue with the last answer that it needs. Only answers that count are counted for that
(`Answer.counts`). What a page sends about a question that its labeler answered a moment ago is not stored: a second tab
still showed it. The databases differ only in how they read a list (`among`, `rows_of`).
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Integer,
    Select,
    bindparam,
    delete,
    exists,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from tercet.labeling.sql.drivers import Query, Rows, run
from tercet.labeling.sql.statements import (
    ADD_NEW_TRIPLETS,
    ANSWERS,
    COUNTED_ANSWERS,
    DIALECTS,
    IDS,
    LEASES,
    NEEDED,
    PROJECTS,
    TRIPLETS,
    among,
    among_rows,
    answer,
    lease,
    project,
    rows_of,
    stored_triplet,
    triplet,
)
from tercet.models import ProjectView, Source, now

# Nobody looks at three items again, and answers once more, in less.
JUST_BEFORE = timedelta(seconds=1)


class Content(NamedTuple):
    """What an answer with a known id says: the same id sent again with the same content is the same answer."""

    project_id: int
    anchor_id: int
    left_id: int
    right_id: int
    labeler_id: int
    value: str


class NewAnswer(NamedTuple):
    """An answer that is not stored yet, in canonical order."""

    id: UUID
    anchor_id: int
    left_id: int
    right_id: int
    labeler_id: int
    value: str
    response_ms: int | None
    is_of_page: bool = False  # a labeler's tab sent it, not a program

    def content(self, project_id: int) -> Content:
        """Return the content of the answer in a project."""
        return Content(project_id, self.anchor_id, self.left_id, self.right_id, self.labeler_id, self.value)


class Overtaken(Exception):
    """Another transaction has just stored one of the answers, or deleted one of the triplets: read both again."""


# This also locks the project's row, so that answers of one project are numbered one transaction after the other.
RAISE_ANSWER_NUMBER = (
    update(PROJECTS)
    .where(project.id == bindparam("project"))
    .values(answer_number=project.answer_number + bindparam("count"))
    .returning(project.answer_number)
)
STORED_CONTENTS = {
    dialect: select(answer.id, answer.project_id, *IDS, answer.labeler_id, answer.value)
    .join_from(ANSWERS, TRIPLETS, triplet.id == answer.triplet_id)
    .where(among(dialect, answer.id, "answer_ids"))
    for dialect in DIALECTS
}


# The columns of a new answer's row in the parameter "answers"; the last says whether it is of a page.
COLUMNS = (answer.number, answer.id, *IDS, answer.labeler_id, answer.value, answer.response_ms, answer.number)


def _answered_by(labeler_id: ColumnElement[int], *triplet_ids: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a labeler has answered a triplet on a page since just before, and has not undone it."""
    earlier = ANSWERS.alias("earlier").c
    of_items = (column == number for column, number in zip(IDS, triplet_ids, strict=True))
    triplet_id = select(triplet.id).where(triplet.project_id == bindparam("project"), *of_items)
    return exists().where(
        earlier.triplet_id == triplet_id.correlate_except(TRIPLETS).scalar_subquery(),
        earlier.labeler_id + literal_column("0") == labeler_id,  # else the index of all that the labeler ever answered
        earlier.created_at > bindparam("just_before", type_=answer.created_at.type),
        earlier.response_ms.is_not(None),
        earlier.withdrawn_at.is_(None),
    )


def _answered_just_before(dialect: str) -> Select[int]:
    """Build the statement that returns the places of the new answers that a second tab has given, from 1 on."""
    place, _, anchor_id, left_id, right_id, labeler_id, *_ = rows_of(dialect, "answers", COLUMNS)
    return select(place).where(_answered_by(labeler_id, anchor_id, left_id, right_id))


def _add_answers(dialect: str) -> Executable:
    """Build the statement that adds answers to stored triplets and returns the ids that are new."""
    place, answer_id, anchor_id, left_id, right_id, *others, is_of_page = rows_of(dialect, "answers", COLUMNS)
    project_id: ColumnElement[int] = bindparam("project", type_=Integer)
    last_number = select(project.answer_number).where(project.id == project_id).scalar_subquery()
    number = last_number - bindparam("count", type_=Integer) + place
    triplet_id = stored_triplet(anchor_id, left_id, right_id)
    at = bindparam("at", type_=answer.created_at.type)
    is_first = (is_of_page == 0) | ~_answered_by(others[0], anchor_id, left_id, right_id)
    rows = select(answer_id, project_id, number, triplet_id, *others, at).where(triplet_id.is_not(None), is_first)
    names = ("id", "project_id", "number", "triplet_id", "labeler_id", "value", "response_ms", "created_at")
    insert = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(ANSWERS).from_select(names, rows)
    return insert.on_conflict_do_nothing(index_elements=["id"]).returning(answer.id)


def _answered_leases(dialect: str) -> Select[int]:
    own_lease = (lease.triplet_id == answer.triplet_id) & (lease.labeler_id == answer.labeler_id)
    return select(lease.id).join_from(ANSWERS, LEASES, own_lease).where(among(dialect, answer.id, "answer_ids"))


def _answered_triplets(dialect: str) -> Select[int]:
    return select(answer.triplet_id).where(among(dialect, answer.id, "answer_ids"))


ADD_ANSWERS = {dialect: _add_answers(dialect) for dialect in DIALECTS}
ANSWERED_JUST_BEFORE = {dialect: _answered_just_before(dialect) for dialect in DIALECTS}
END_LEASES = {
    dialect: delete(LEASES).where(among_rows(dialect, lease.id, _answered_leases(dialect))) for dialect in DIALECTS
}
_CLOSE = (
    update(TRIPLETS)
    .where(triplet.priority.is_not(None), NEEDED <= COUNTED_ANSWERS)
    .values(priority=None, asked_of=None)
)
CLOSE_TRIPLETS = {dialect: _CLOSE.where(among(dialect, triplet.id, "triplet_ids")) for dialect in DIALECTS}
CLOSE_ANSWERED = {
    dialect: _CLOSE.where(among_rows(dialect, triplet.id, _answered_triplets(dialect))) for dialect in DIALECTS
}


def add(connection: Connection, to: ProjectView, new: Sequence[NewAnswer], **queries: Query) -> dict[str, Rows]:
    """Store new answers in their order, run more queries after that, and return the rows of each.

    Raises Overtaken unless all answers were stored; the transaction must be undone then.
    """
    dialect = connection.dialect.name
    triplets = sorted({(row.anchor_id, row.left_id, row.right_id) for row in new})
    values = {
        "project": to.id,
        "count": len(new),
        "redundancy": to.redundancy,
        "answer_ids": json.dumps([row.id.hex for row in new]),
        "triplets": json.dumps([(*ids, None, Source.CLIENT) for ids in triplets]),
        **_listed(new),
    }
    storing: dict[str, Query] = {
        "stored": (ADD_ANSWERS[dialect], values),
        "ended": (END_LEASES[dialect], values),
        "closed": (CLOSE_ANSWERED[dialect], values),
        **queries,
    }
    results = run(connection, number=(RAISE_ANSWER_NUMBER, values), **storing)
    if (count := len(results["stored"])) < len(new):
        # Questions that were asked have triplets. A program may answer others, whose triplets are added first.
        results = run(connection, new_triplets=(ADD_NEW_TRIPLETS[dialect], values), **storing)
        count += len(results["stored"])
    if count < len(new):
        raise Overtaken
    return results


def answered_just_before(connection: Connection, to: ProjectView, new: Sequence[NewAnswer]) -> set[UUID]:
    """Return the ids of those new answers whose labeler has just answered the same question on a page."""
    values = {"project": to.id, **_listed(new)}
    rows = run(connection, again=(ANSWERED_JUST_BEFORE[connection.dialect.name], values))["again"]
    return {new[place - 1].id for (place,) in rows}


def _listed(new: Sequence[NewAnswer]) -> dict[str, object]:
    """Return the parameters with the rows of new answers, and the times that go with them."""
    moment = now()
    rows = [(place, row.id.hex, *row[1:-1], int(row.is_of_page)) for place, row in enumerate(new, 1)]
    return {"answers": json.dumps(rows), "at": moment, "just_before": moment - JUST_BEFORE}
