"""Writes a backup: rows of one moment, then the blobs, which are stored before the rows that name them."""

import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from tercet import __version__
from tercet.archives.rows import encode
from tercet.backups.layout import BLOBS, FORMAT, MANIFEST, Entry, Manifest, Stored, rows_entry
from tercet.database import Database
from tercet.models import Answer, Base, Project, now
from tercet.storage import MEGABYTE, Storage
from tercet.web.zip_stream import ZipStream

ROWS_AT_ONCE = 1_000
Pieces = Generator[bytes, None, Manifest]


def write_backup(database: Database, storage: Storage, file: Path) -> Manifest:
    """Write everything to a file, which has its name once it is complete; return what it holds."""
    with ExitStack() as undo:
        partial = file.with_name(f"{file.name}.partial")
        undo.callback(partial.unlink, missing_ok=True)
        # Rows hold addresses and names of people: nobody else on this machine may read them.
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as target:
            manifest = _save(backup_pieces(database, storage), target)
            target.flush()
            os.fsync(target.fileno())
        partial.replace(file)
    return manifest


def _save(pieces: Pieces, target: BinaryIO) -> Manifest:
    while True:
        try:
            target.write(next(pieces))
        except StopIteration as ended:
            return ended.value  # type: ignore[no-any-return]


def backup_pieces(database: Database, storage: Storage) -> Pieces:
    """Yield the bytes of a backup in pieces, and return what it holds."""
    archive = ZipStream()
    entries: dict[str, Entry] = {}
    rows: dict[str, int] = {}
    with database.snapshot() as session:
        revision = session.scalar(text("SELECT version_num FROM alembic_version"))
        projects = _projects(session)
        for table in Base.metadata.sorted_tables:
            lines = _Measured(_rows(session, table.name))
            yield from archive.add(rows_entry(table.name), lines, packed=True)
            entries[rows_entry(table.name)], rows[table.name] = lines.entry(), lines.count
    for key in storage.all_keys():
        # Written as they are: sounds and pictures are compressed already. One that was just deleted is in no row.
        try:
            pieces = _Measured(_begun(_pieces(storage, key)))
        except FileNotFoundError:
            continue
        yield from archive.add(BLOBS + key, pieces)
        entries[BLOBS + key] = pieces.entry()
    manifest = Manifest(
        format=FORMAT,
        version=__version__,
        revision=str(revision),
        made_at=now().isoformat(timespec="seconds"),
        projects=projects,
        rows=rows,
        entries=entries,
    )
    yield from archive.add(MANIFEST, [manifest.model_dump_json(indent=1).encode()], packed=True)
    yield from archive.close()
    return manifest


def _begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Read the first piece now, so that of what is missing nothing is written."""
    return chain([next(pieces, b"")], pieces)


class _Measured:
    """Pieces that are counted, added up and hashed while they are read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        """Begin with none."""
        self.pieces = pieces
        self.count, self.size, self.digest = 0, 0, hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces."""
        for piece in self.pieces:
            self.count += 1
            self.size += len(piece)
            self.digest.update(piece)
            yield piece

    def entry(self) -> Entry:
        """Return what the manifest says of them."""
        return Entry(size=self.size, sha256=self.digest.hexdigest())


def _projects(session: Session) -> dict[str, Stored]:
    answers = select(func.count()).where(Answer.project_id == Project.id).scalar_subquery()
    rows = session.execute(select(Project.key, Project.answer_number, answers))
    return {key: Stored(answer_number=number, answers=count) for key, number, count in rows}


def _rows(session: Session, name: str) -> Iterator[bytes]:
    table = Base.metadata.tables[name]
    statement = select(table).order_by(*table.primary_key.columns)
    result = session.execute(statement, execution_options={"yield_per": ROWS_AT_ONCE})
    for row in result.mappings():
        yield encode(dict(row))


def _pieces(storage: Storage, key: str) -> Iterator[bytes]:
    with storage.open(key) as stream:
        read: Callable[[], bytes] = lambda: stream.read(MEGABYTE)  # noqa: E731 - for iter()
        yield from iter(read, b"")
