"""Writes a backup: rows of one moment, then the blobs, which are stored before the rows that name them."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from tercet import __version__
from tercet.archives.rows import encode
from tercet.backups.layout import BLOBS, FORMAT, MANIFEST, Entry, Manifest, Stored, rows_entry
from tercet.database import Database
from tercet.models import Answer, Base, Project, now
from tercet.storage import MEGABYTE, Storage

ROWS_AT_ONCE = 1_000


def write_backup(database: Database, storage: Storage, file: Path) -> Manifest:
    """Write everything to a file, which has its name once it is complete; return what it holds."""
    with ExitStack() as undo:
        partial = file.with_name(f"{file.name}.partial")
        undo.callback(partial.unlink, missing_ok=True)
        # Rows hold addresses and names of people: nobody else on this machine may read them.
        with os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as target:
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                manifest = _write(database, storage, archive)
                archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
            target.flush()
            os.fsync(target.fileno())
        partial.replace(file)
    return manifest


def _write(database: Database, storage: Storage, archive: zipfile.ZipFile) -> Manifest:
    entries: dict[str, Entry] = {}
    rows: dict[str, int] = {}
    with database.snapshot() as session:
        revision = session.scalar(text("SELECT version_num FROM alembic_version"))
        projects = _projects(session)
        for table in Base.metadata.sorted_tables:
            lines = _Counted(_rows(session, table.name))
            entries[rows_entry(table.name)] = _put(archive, rows_entry(table.name), lines)
            rows[table.name] = lines.count
    for key in storage.all_keys():
        # Written as they are: sounds and pictures are compressed already. One that was just deleted is in no row.
        try:
            entries[BLOBS + key] = _put(archive, BLOBS + key, _pieces(storage, key), zipfile.ZIP_STORED)
        except FileNotFoundError:
            continue
    made_at = now().isoformat(timespec="seconds")
    return Manifest(
        format=FORMAT,
        version=__version__,
        revision=str(revision),
        made_at=made_at,
        projects=projects,
        rows=rows,
        entries=entries,
    )


class _Counted:
    """Lines that are counted while they are read."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        """Begin with none."""
        self.lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines."""
        for line in self.lines:
            self.count += 1
            yield line


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


def _put(
    archive: zipfile.ZipFile, name: str, pieces: Iterable[bytes], compression: int = zipfile.ZIP_DEFLATED
) -> Entry:
    """Write an entry; its first piece is read before, so that what is missing leaves nothing behind."""
    iterator = iter(pieces)
    piece = next(iterator, b"")
    size, digest = 0, hashlib.sha256()
    info = zipfile.ZipInfo(name, now().timetuple()[:6])
    info.compress_type = compression
    with archive.open(info, "w", force_zip64=True) as entry:
        while piece:
            entry.write(piece)
            digest.update(piece)
            size += len(piece)
            piece = next(iterator, b"")
    return Entry(size=size, sha256=digest.hexdigest())
