"""Constraints in bulk: a whole file is checked first, then stored in short transactions.

Labelers go on working while a hundred thousand rows come in, because no transaction holds more than a
thousand of them. A file that was cut off half-way is sent again: what is there already is counted as repeated.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

from app.accounts.service import participant_user
from app.clustering.queries import lock_project
from app.clustering.schedule import answers_arrived
from app.database import Database
from app.errors import Conflict
from app.exchange import queries
from app.exchange.checking import Checked, Rules, check, id_of
from app.exchange.reading import Fault, read_rows
from app.items.faults import Faults, fail
from app.items.queries import every_id_by_key
from app.labeling.canonical import canonical
from app.labeling.service import ConstraintRow, store_constraints
from app.models import Answer, Project, Triplet

BATCH = 500
T = TypeVar("T")


class Upload(NamedTuple):
    """A file of constraints, on disk, and who sends it to which project."""

    path: Path
    content_type: str
    project_id: int
    sender_id: int


class Received(NamedTuple):
    """How many rows there were, and how many of them are new."""

    rows: int
    stored: int


def receive(database: Database, upload: Upload) -> Received:
    """Check all rows, then store them; raise Invalid or Conflict with the rows that are wrong, storing nothing."""
    with database.reading() as session:
        project = session.get_one(Project, upload.project_id)
        rules = Rules(project.id, upload.sender_id, project.question_kind, every_id_by_key(session, project.id))
        labelers = queries.labelers_by_name(session, project.id)
    rows, names = _check_all(database, upload, rules, labelers)
    labelers |= _make_labelers(database, upload.project_id, [name for name in names if name not in labelers])
    stored = sum(_store(database, upload, batch, rules, labelers) for batch in _batches(_checked(upload, rules)))
    if stored:
        with database.transaction() as session:
            answers_arrived(session, lock_project(session, upload.project_id))
        database.has_grown(stored, Answer, Triplet)
    return Received(rows, stored)


def _check_all(database: Database, upload: Upload, rules: Rules, labelers: dict[str, int]) -> tuple[int, set[str]]:
    """Read the whole file once; give the number of rows and the names of the labelers in it."""
    faults, conflicts = Faults(), Faults()
    names: set[str] = set()
    count = 0
    with closing(_OwnIds()) as own:
        numbered = (
            (number, check(number, raw, rules)) for number, raw in read_rows(upload.path, upload.content_type)
        )
        for batch in _batches(numbered):
            count += len(batch)
            good = _sort_out(batch, faults)
            names.update(row.labeler for row in good if row.labeler is not None)
            named = [(row.id, row) for row in good if row.id is not None]
            own.add(named, rules)
            _compare(database, upload, rules, named, labelers, conflicts)
        for row, first in own.contradictions():
            faults.add("id", f"this id stands for another answer in row {first}", row=row)
    if not count:
        raise fail("body", "There are no rows in it.")
    faults.raise_any()
    conflicts.raise_any(Conflict)
    return count, names


def _sort_out(batch: Sequence[tuple[int, Checked | Fault]], faults: Faults) -> list[Checked]:
    good = []
    for number, row in batch:
        if isinstance(row, Fault):
            faults.add(row.field, row.detail, row=number)
        else:
            good.append(row)
    return good


def _compare(
    database: Database,
    upload: Upload,
    rules: Rules,
    rows: Sequence[tuple[UUID, Checked]],
    labelers: dict[str, int],
    conflicts: Faults,
) -> None:
    """Note the rows whose own id is taken by another answer."""
    if not rows:
        return
    with database.reading() as session:
        known = queries.known_answers(session, [number for number, _ in rows])
    for number, row in rows:
        labeler = upload.sender_id if row.labeler is None else labelers.get(row.labeler)
        content = (rules.project_id, *canonical(rules.question_kind, row.triplet, row.answer), labeler)
        if number in known and known[number] != content:
            conflicts.add("id", f"the id {number} is taken by another answer", row=row.row)


class _OwnIds:
    """The rows' own ids and what they stand for, on disk: a million of them would not fit in little memory."""

    def __init__(self) -> None:
        self.table = sqlite3.connect("", check_same_thread=False)
        self.table.execute("CREATE TABLE own (id BLOB, row INTEGER, content TEXT)")

    def add(self, rows: Sequence[tuple[UUID, Checked]], rules: Rules) -> None:
        """Note rows."""
        values = (
            (number.bytes, row.row, repr((canonical(rules.question_kind, row.triplet, row.answer), row.labeler)))
            for number, row in rows
        )
        self.table.executemany("INSERT INTO own VALUES (?, ?, ?)", values)

    def contradictions(self) -> Iterator[tuple[int, int]]:
        """Give the last and the first row of each id that stands for more than one thing."""
        yield from self.table.execute(
            "SELECT max(row), min(row) FROM own GROUP BY id HAVING min(content) <> max(content) ORDER BY max(row)"
        )

    def close(self) -> None:
        """Forget them."""
        self.table.close()


def _checked(upload: Upload, rules: Rules) -> Iterator[Checked]:
    for number, raw in read_rows(upload.path, upload.content_type):
        row = check(number, raw, rules)
        assert isinstance(row, Checked), "the first reading found no fault"
        yield row


def _make_labelers(database: Database, project_id: int, names: Iterable[str]) -> dict[str, int]:
    """Make a labeler of each name that is not known yet."""
    with database.transaction() as session:
        project = lock_project(session, project_id)
        return {name: participant_user(session, project, name).id for name in sorted(names)}


def _store(
    database: Database, upload: Upload, batch: Sequence[Checked], rules: Rules, labelers: dict[str, int]
) -> int:
    rows = [
        ConstraintRow(
            row.row,
            id_of(row, rules),
            row.triplet,
            row.answer,
            upload.sender_id if row.labeler is None else labelers[row.labeler],
            row.response_ms,
        )
        for row in batch
    ]
    with database.transaction() as session:
        return len(store_constraints(session, session.get_one(Project, upload.project_id), rows))


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch
