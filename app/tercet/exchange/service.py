"""Imports constraints in bulk: the whole file is checked first, then stored in short transactions.

One transaction for all would keep every labeler waiting until its end, since SQLite has one writer. If the server is
stopped in between, the file is sent again: what is stored already is counted as repeated.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

from tercet.accounts.named_labelers import pseudonym
from tercet.accounts.service import imported_labeler
from tercet.database import Database
from tercet.errors import Conflict
from tercet.exchange import queries
from tercet.exchange.checking import CheckedRow, Rules, check, id_of
from tercet.exchange.reading import read_rows
from tercet.exchange.rows import Fault
from tercet.intake.faults import Faults, fail
from tercet.items.queries import every_id_by_key
from tercet.labeling.canonical import canonical
from tercet.labeling.queries import stored_contents
from tercet.labeling.service import ConstraintRow, store_constraints, until_stored
from tercet.models import Answer, Project, ProjectView, Triplet
from tercet.runs.queries import lock_project
from tercet.runs.schedule import answers_arrived

BATCH = 500
T = TypeVar("T")
# Who gave answers that are stored already, by the answers' ids: their number, and the name that pages show.
StoredLabelers = dict[UUID, tuple[int, str]]


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
    """Read the whole file once, and return the number of rows and the names of the labelers in it."""
    faults, conflicts = Faults(), Faults()
    names: set[str] = set()
    count = 0
    with closing(_GivenIds()) as given_ids:
        rows = read_rows(upload.path, upload.content_type, list(rules.ids))
        numbered = ((number, check(number, raw, rules)) for number, raw in rows)
        for batch in _batches(numbered):
            count += len(batch)
            good = _sort_out(batch, faults)
            with_ids = [(row.id, row) for row in good if row.id is not None]
            given_ids.add(with_ids, rules)
            stored = _labelers_of_stored(database, good)
            names.update(row.labeler for row in good if row.labeler is not None and row.id not in stored)
            _compare(database, upload, rules, with_ids, labelers, stored, conflicts)
        for row, first in given_ids.contradictions():
            faults.add("id", f"this id stands for another answer in row {first}", row=row)
    if not count:
        raise fail("body", "There are no rows in it.")
    faults.raise_any()
    conflicts.raise_any(Conflict)
    return count, names


def _sort_out(batch: Sequence[tuple[int, CheckedRow | Fault]], faults: Faults) -> list[CheckedRow]:
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
    rows: Sequence[tuple[UUID, CheckedRow]],
    labelers: dict[str, int],
    stored: StoredLabelers,
    conflicts: Faults,
) -> None:
    """Add to `conflicts` the rows whose id is taken by another answer."""
    if not rows:
        return
    with database.reading() as session:
        contents = stored_contents(session, [answer_id for answer_id, _ in rows])
    for answer_id, row in rows:
        labeler_id = _labeler_id(row, upload, labelers, stored)
        triplet, answer = canonical(rules.question_kind, row.triplet, row.answer)
        if contents.get(answer_id, content := (rules.project_id, *triplet, labeler_id, answer)) != content:
            conflicts.add("id", f"the id {answer_id} is taken by another answer", row=row.row)


def _labelers_of_stored(database: Database, rows: Sequence[CheckedRow]) -> StoredLabelers:
    ids = [row.id for row in rows if row.id is not None]
    if not ids:
        return {}
    with database.reading() as session:
        return queries.labelers_of_answers(session, ids)


def _labeler_id(row: CheckedRow, upload: Upload, labelers: dict[str, int], stored: StoredLabelers) -> int | None:
    """Return the labeler of a row; an answer that is stored already keeps its labeler."""
    if row.labeler is None:
        return upload.sender_id
    stored_labeler_id, stored_name = stored.get(row.id, (None, None)) if row.id else (None, None)
    if stored_labeler_id is not None and row.labeler in (stored_name, pseudonym(stored_labeler_id)):
        return stored_labeler_id
    return labelers.get(row.labeler)


class _GivenIds:
    """The ids in a file and the answers they stand for, on disk: a million take too much memory."""

    def __init__(self) -> None:
        self.table = sqlite3.connect("", check_same_thread=False)
        self.table.execute("CREATE TABLE given (id BLOB, row INTEGER, content TEXT)")

    def add(self, rows: Sequence[tuple[UUID, CheckedRow]], rules: Rules) -> None:
        """Add rows of one batch."""
        values = (
            (number.bytes, row.row, repr((canonical(rules.question_kind, row.triplet, row.answer), row.labeler)))
            for number, row in rows
        )
        self.table.executemany("INSERT INTO given VALUES (?, ?, ?)", values)

    def contradictions(self) -> Iterator[tuple[int, int]]:
        """Return the last and the first row of each id that stands for different answers."""
        yield from self.table.execute(
            "SELECT max(row), min(row) FROM given GROUP BY id HAVING min(content) <> max(content) ORDER BY max(row)"
        )

    def close(self) -> None:
        """Delete the table."""
        self.table.close()


def _checked(upload: Upload, rules: Rules) -> Iterator[CheckedRow]:
    for number, raw in read_rows(upload.path, upload.content_type, list(rules.ids)):
        row = check(number, raw, rules)
        assert isinstance(row, CheckedRow), "the first reading found no fault"
        yield row


def _make_labelers(database: Database, project_id: int, names: Iterable[str]) -> dict[str, int]:
    """Add a labeler for each new name, and return the ids of all by name."""
    with database.transaction() as session:
        project = lock_project(session, project_id)
        labelers = queries.labelers_by_name(session, project_id)
        for name in sorted(set(names) - labelers.keys()):
            labelers[name] = imported_labeler(session, project, name).id
    return labelers


def _store(
    database: Database, upload: Upload, batch: Sequence[CheckedRow], rules: Rules, labelers: dict[str, int]
) -> int:
    stored = _labelers_of_stored(database, batch)
    rows = []
    for row in batch:
        labeler_id = _labeler_id(row, upload, labelers, stored)
        assert labeler_id is not None, "a labeler was made of every name"
        rows.append(ConstraintRow(row.row, id_of(row, rules), row.triplet, row.answer, labeler_id, row.response_ms))

    def store() -> int:
        with database.transaction() as session:
            project = ProjectView.of(session.get_one(Project, upload.project_id))
            return len(store_constraints(session, project, rows))

    return until_stored(store)


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch
