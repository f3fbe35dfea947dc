"""Makes a project from an archive, in short transactions, so that labelers of other projects need not wait.

Until all is stored the new project has no member, and a key that cannot be in an address. If anything is wrong,
everything is removed again; remains of a restoration that was interrupted by a stop of the server are removed by a
later one.
"""

import uuid
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import groupby, islice
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from sqlalchemy import JSON, Table, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from tercet.accounts.service import imported_labeler
from tercet.archives import layout
from tercet.archives.checking import Archive, refusal
from tercet.archives.rows import Row, decode
from tercet.audit import chain
from tercet.database import Database
from tercet.errors import Conflict, FieldError
from tercet.features.fitted import FittedRecipe
from tercet.intake.media import is_image
from tercet.items.media_types import CONTENT_TYPES
from tercet.models import Answer, Item, Membership, Project, Role, Run, Triplet, User, now
from tercet.projects import deleting
from tercet.projects import service as projects
from tercet.projects.queries import project_by_key
from tercet.runs import results
from tercet.storage import Storage
from tercet.web.texts import fault_of_name

ROWS_AT_ONCE = 2_000
HIDDEN_KEY = "restoring/"  # no key that people choose can have a slash
STALE = timedelta(days=1)
# The endings of files that are no media.
SUFFIXES = {"feature_set.blob": {".npy"}, "feature_set.learned": {".npz"}}


class _Ids:
    """The new ids of a table's rows by the old ones, in sixteen bytes a row."""

    def __init__(self) -> None:
        self.old, self.new = array("q"), array("q")

    def add(self, old: int, new: int) -> None:
        """Add a row; old ids come in ascending order."""
        if self.old and old <= self.old[-1]:
            raise ValueError(f"column 'id' holds {old} after {self.old[-1]}: ids ascend")
        self.old.append(old)
        self.new.append(new)

    def __getitem__(self, old: int) -> int:
        place = bisect_left(self.old, old)
        if place == len(self.old) or self.old[place] != old:
            raise KeyError(old)
        return self.new[place]


def restore(database: Database, storage: Storage, archive: Archive, key: str, owner_id: int) -> None:
    """Store a checked archive as a new project; raise Invalid or Conflict, and store nothing then."""
    _remove_stale(database, storage)
    with database.reading() as session:
        _refuse_taken(session, key)
    restoration = _Restoration(database, storage, archive)
    with ExitStack() as undo:
        undo.callback(restoration.remove)
        try:
            restoration.store()
            restoration.appear(key, owner_id)
        except (IntegrityError, DBAPIError) as error:
            raise refusal(f"It contradicts itself: {error.orig}") from error
        undo.pop_all()


def _refuse_taken(session: Session, key: str) -> None:
    if project_by_key(session, key) is not None:
        raise Conflict(f"There is already a project '{key}': choose another key.", [FieldError("key", "is taken")])


def _remove_stale(database: Database, storage: Storage) -> None:
    """Remove the remains of restorations that began more than a day ago and never ended."""
    with database.transaction() as session:
        stale = session.scalars(
            select(Project).where(Project.key.startswith(HIDDEN_KEY), Project.created_at < now() - STALE)
        )
        folders = [folder for project in stale for folder in deleting.remove_project(session, project)]
    deleting.remove_blobs(storage, folders)


class _Restoration:
    """The restoration of one archive."""

    def __init__(self, database: Database, storage: Storage, archive: Archive) -> None:
        self.database, self.storage, self.archive = database, storage, archive
        self.ids: dict[str, _Ids] = {name: _Ids() for name in (*layout.ARCHIVED, "user")}
        self.project_id = 0
        self.created_at = now()
        self.keys_of_results: dict[str, str] = {}

    def store(self) -> None:
        """Store the row of the project, hidden, then the people, then all other tables, parents first."""
        if len(list(islice(self.archive.rows("project"), 2))) != 1:
            raise refusal("must hold one row", layout.table_path("project"))
        self._store_table("project")
        self._store_people()
        for name in layout.ARCHIVED[1:]:
            self._store_table(name)
        self._check_positions()
        self.database.has_grown(len(self.ids["answer"].new) or len(self.ids["item"].new), Answer, Triplet, Item)

    def appear(self, key: str, owner_id: int) -> None:
        """Give the project its key and its owner, which makes it visible."""
        with self.database.transaction() as session:
            _refuse_taken(session, key)
            project = session.get_one(Project, self.project_id)
            project.key, project.created_at = key, self.created_at
            session.flush()
            projects.check_clustering(session, project)
            session.add(Membership(project_id=project.id, user_id=owner_id, role=Role.OWNER))
            made = {"name": project.name}
            owner = session.get_one(User, owner_id)
            chain.record(session, "project made of an archive", project=project, by=owner, after=made)

    def remove(self) -> None:
        """Remove everything again."""
        if not self.project_id:
            return
        with self.database.transaction() as session:
            folders = deleting.remove_project(session, session.get_one(Project, self.project_id))
            session.execute(delete(User).where(User.id.in_(self.ids["user"].new.tolist())))
        deleting.remove_blobs(self.storage, folders)

    def _store_people(self) -> None:
        rows = self.archive.rows("person")
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            with self.database.transaction() as session:
                project = session.get_one(Project, self.project_id)
                for number, row in batch:
                    old, name = self._person(number, row)
                    self.ids["user"].add(old, imported_labeler(session, project, name).id)

    def _person(self, number: int, row: Any) -> tuple[int, str]:
        old, name = (row.get("id"), row.get("name")) if isinstance(row, dict) else (None, None)
        if not isinstance(old, int) or not isinstance(name, str) or fault_of_name(name):
            raise refusal("has no id, or no name that can be shown", layout.PEOPLE, number)
        if self.ids["user"].old and old <= self.ids["user"].old[-1]:
            raise refusal("has an id that is not above the one before", layout.PEOPLE, number)
        return old, name

    def _store_table(self, name: str) -> None:
        table = layout.table_of(name)
        rows = self._decoded(table)
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            with self.database.transaction() as session:
                new = self._insert(session, table, batch)
            if name != "answer":  # nothing refers to the ids of answers, which are UUIDs
                for (number, old, _), new_id in zip(batch, new, strict=True):
                    self._note(table, number, old, new_id)
            if name == "project":
                self.project_id = new[0]
            elif name == "run":
                self._store_results(batch, new)

    def _note(self, table: Table, number: int, old: int, new: int) -> None:
        try:
            self.ids[table.name].add(old, new)
        except ValueError as error:
            raise refusal(str(error), layout.table_path(table.name), number) from None

    def _decoded(self, table: Table) -> Iterator[tuple[int, Any, Row]]:
        """Yield number, old id and the values to insert of every row."""
        file = layout.table_path(table.name)
        for number, raw in self.archive.rows(table.name):
            try:
                row = decode(layout.columns_of(table), raw)
                old = row["id"] if table.name == "answer" else row.pop("id")
                yield number, old, self._translated(table, row)
            except ValueError as error:
                raise refusal(str(error), file, number) from None

    def _translated(self, table: Table, row: Row) -> Row:
        """Return a row with the ids and files of this server."""
        for column in layout.columns_of(table):
            parent = layout.referred(column)
            if parent is not None and row.get(column.name) is not None:
                try:
                    row[column.name] = self.ids[parent][row[column.name]]
                except KeyError:
                    raise ValueError(f"column '{column.name}' names a {parent} that is not in the archive") from None
        if table.name == "project":
            self.created_at = row.get("created_at", now())
            row |= {"key": f"{HIDDEN_KEY}{uuid.uuid4().hex}", "created_at": now()}
        for column_name in layout.BLOBS.get(table.name, ()):
            if row.get(column_name) is not None:
                row[column_name] = self._store_blob(f"{table.name}.{column_name}", row[column_name])
        if table.name == "feature_set":
            self._check_features(row)
        return row

    def _store_blob(self, column: str, name: str) -> str:
        if not self.archive.has(name) or not name.startswith("blobs/"):
            raise ValueError(f"names the file '{name:.200}', which is not in the archive")
        suffix = PurePosixPath(name).suffix
        if suffix not in SUFFIXES.get(column, CONTENT_TYPES):
            raise ValueError(f"names the file '{name}', which is of a kind that is not served")
        with self.archive.zip.open(name) as stream:
            start = stream.read(16)
        if CONTENT_TYPES.get(suffix, "").startswith("image/") and not is_image(start):
            raise ValueError(f"names the file '{name}', which is not a picture, although its name says so")
        key = f"{projects.blob_folder(self.project_id)}/{name}"
        if not self.storage.exists(key):
            with self.archive.zip.open(name) as stream:
                self.storage.put_stream(key, stream)
        return key

    def _check_features(self, row: Row) -> None:
        try:
            features = self.storage.memory_map(row["blob"])
        except (ValueError, OSError, EOFError) as error:
            raise ValueError(f"names an array that cannot be read: {error}") from error
        if features.shape != (row["n"], row["d"]) or features.dtype.kind != "f":
            raise ValueError(f"says {row['n']} x {row['d']} numbers; the array holds {features.shape}")
        if row["n"] > len(self.ids["item"].new):
            raise ValueError(f"has features of {row['n']} items, and there are {len(self.ids['item'].new)}")
        if row.get("learned") is not None:
            FittedRecipe.of_file(self.storage.get(row["learned"]))
        blocks = range(0, len(features), ROWS_AT_ONCE)
        if not all(np.isfinite(features[start : start + ROWS_AT_ONCE]).all() for start in blocks):
            raise ValueError("names an array with NaN or infinity in it")

    def _insert(self, session: Session, table: Table, batch: list[tuple[int, Any, Row]]) -> list[int]:
        """Insert rows in their order and return their ids."""
        rows = [_without_empty_json(table, row) for _, _, row in batch]
        if table.name == "answer":
            _avoid_taken(session, rows, self.project_id)
        if table.name == "run":
            rows = [row | {"result": None} for row in rows]  # until its files are stored
        new: list[int] = []
        for _, group in groupby(rows, key=lambda row: row.keys()):
            statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
            new += session.scalars(statement, list(group))
        return new

    def _store_results(self, batch: list[tuple[int, Any, Row]], new: list[int]) -> None:
        """Store the files of the runs' results, then their storage keys in the rows; runs may share a result."""
        for (number, _, row), run_id in zip(batch, new, strict=True):
            folder = row.get("result")
            if folder is None:
                continue
            if folder not in self.keys_of_results:
                try:
                    self.keys_of_results[folder] = self._store_result(folder, f"runs/{run_id}/{row.get('token', 1)}")
                except (ValueError, KeyError, TypeError, OSError, EOFError) as error:
                    raise refusal(f"has a result that cannot be read: {error}", "tables/run.ndjson", number) from None
            with self.database.transaction() as session:
                session.execute(update(Run).where(Run.id == run_id).values(result=self.keys_of_results[folder]))

    def _store_result(self, folder: str, key: str) -> str:
        for file in layout.RESULT_FILES:
            if self.archive.has(f"{folder}/{file}"):
                with self.archive.zip.open(f"{folder}/{file}") as stream:
                    self.storage.put_stream(f"{key}/{file}", stream)
        _check_result(self.storage, key, len(self.ids["item"].new))
        if self.storage.exists(key + results.REPORT):
            report = self.storage.get_arrays(key + results.REPORT)
            report["labelers_labeler"] = np.array(
                [self.ids["user"][int(old)] for old in report["labelers_labeler"]], dtype=np.int64
            )
            self.storage.put_arrays(key + results.REPORT, report)
        return key

    def _check_positions(self) -> None:
        """Raise Invalid where positions of items have gaps: positions are the rows of every array."""
        with self.database.reading() as session:
            positions = session.scalars(
                select(Item.position).where(Item.project_id == self.project_id).order_by(Item.position)
            )
            if any(position != place for place, position in enumerate(positions)):
                raise refusal("holds positions with gaps; they run from 0", layout.table_path("item"))


def _without_empty_json(table: Table, row: Row) -> Row:
    """Return the row without empty JSON columns: None would be stored as JSON's null instead of SQL's."""
    return {name: value for name, value in row.items() if value is not None or not isinstance(table.c[name].type, JSON)}


def _avoid_taken(session: Session, rows: list[Row], project_id: int) -> None:
    """Give answers another id where theirs is taken, for instance by the original project on this server."""
    taken = set(session.scalars(select(Answer.id).where(Answer.id.in_([row["id"] for row in rows]))))
    for row in rows:
        if row["id"] in taken:
            row["id"] = uuid.uuid5(row["id"], str(project_id))


def _check_result(storage: Storage, key: str, n_items: int) -> None:
    """Raise ValueError unless the arrays are a clustering of `n_items` items or fewer."""
    result = results.load(storage, key)
    n, n_clusters = result.posterior.shape
    if result.labels.shape != (n,) or result.confidence.shape != (n,) or n > n_items:
        raise ValueError(f"its arrays are of {result.labels.shape[0]} items, and there are {n_items}")
    if n and not (int(result.labels.min()) >= 1 and int(result.labels.max()) <= n_clusters):
        raise ValueError("its clusters are not numbered from 1")
    if len(results.load_map(storage, key)) != 16 * n:
        raise ValueError("its map is of another number of items")
