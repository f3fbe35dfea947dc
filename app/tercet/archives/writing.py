"""Writes an archive: first the rows, from one snapshot of the database, to a temporary folder, then a streamed ZIP."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from sqlalchemy import ColumnElement, Select, exists, literal, or_, select
from sqlalchemy.orm import Session

from tercet import __version__
from tercet.accounts.named_labelers import NamedLabeler
from tercet.archives import layout
from tercet.archives.rows import encode
from tercet.database import Database
from tercet.errors import Conflict
from tercet.models import Answer, ClusterNote, Run, RunStatus, Triplet, User, now
from tercet.storage import MEGABYTE, Storage
from tercet.web.zip_stream import ZipStream

ROWS_AT_ONCE = 2_000
ENDED = (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)


@dataclass
class _Blobs:
    """The files that rows refer to: the name of each in the archive, and its storage key."""

    storage: Storage
    names: dict[str, str] = field(default_factory=dict)  # by storage key
    folders: dict[str, str] = field(default_factory=dict)  # of results

    def name(self, key: str) -> str:
        """Return the name of a blob in the archive; raise Conflict if the storage has lost it."""
        if key not in self.names:
            if not self.storage.exists(key):
                raise Conflict(f"The file '{key}' is missing in the storage, so no archive can be made.")
            self.names[key] = f"blobs/{len(self.names) + 1:06}{PurePosixPath(key).suffix}"
        return self.names[key]

    def folder(self, key: str) -> str:
        """Return the name of a result's folder in the archive."""
        return self.folders.setdefault(key, f"results/{len(self.folders) + 1:06}")

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield name in the archive and storage key of every file."""
        for key, name in self.names.items():
            yield name, key
        for folder_key, folder in self.folders.items():
            for file in layout.RESULT_FILES:
                if self.storage.exists(f"{folder_key}/{file}"):
                    yield f"{folder}/{file}", f"{folder_key}/{file}"


def write_archive(database: Database, storage: Storage, project_id: int) -> Iterator[bytes]:
    """Yield the bytes of a project's archive in pieces; the rows are those at the time of the first piece."""
    with tempfile.TemporaryDirectory(prefix="tercet-archive-") as folder:
        blobs = _Blobs(storage)
        with database.snapshot() as session:
            counts, project = _dump(session, project_id, Path(folder), blobs)
        yield from _pack(Path(folder), storage, blobs, {"project": project, "rows": counts})


def _dump(session: Session, project_id: int, folder: Path, blobs: _Blobs) -> tuple[dict[str, int], dict[str, str]]:
    """Write the rows of all tables to files; return their numbers, and the project's key and name."""
    counts = {}
    for name in layout.ARCHIVED:
        with (folder / f"{name}.ndjson").open("wb") as file:
            counts[name] = _dump_table(session, project_id, name, file, blobs)
    with (folder / "person.ndjson").open("wb") as file:
        counts["person"] = _write_rows(file, (row._asdict() for row in session.execute(_people(project_id))))
    table = layout.table_of("project")
    key, title = session.execute(select(table.c.key, table.c.name).where(table.c.id == project_id)).one()
    return counts, {"key": key, "name": title}


def _dump_table(session: Session, project_id: int, name: str, file: IO[bytes], blobs: _Blobs) -> int:
    table = layout.table_of(name)
    statement = select(*layout.columns_of(table)).where(_belongs(name, project_id)).order_by(table.c.id)
    if name == "answer":
        statement = statement.order_by(None).order_by(table.c.number)
    rows = session.execute(statement.execution_options(yield_per=ROWS_AT_ONCE))
    return _write_rows(file, (_with_names(name, row._asdict(), blobs) for row in rows))


def _belongs(name: str, project_id: int) -> ColumnElement[bool]:
    """Return the condition that a row belongs to the archive; triplets without answers do not."""
    table = layout.table_of(name)
    if name == "project":
        return table.c.id == project_id
    belongs: ColumnElement[bool] = table.c.project_id == project_id
    if name == "triplet":
        return belongs & exists().where(Answer.triplet_id == Triplet.id)
    if name == "run":
        return belongs & Run.status.in_(ENDED)
    if name == "cluster_note":
        return belongs & exists().where(Run.id == ClusterNote.run_id, Run.status.in_(ENDED))
    return belongs


def _with_names(name: str, row: dict[str, Any], blobs: _Blobs) -> dict[str, Any]:
    """Return a row with names of files in the archive in place of storage keys."""
    for column in layout.BLOBS.get(name, ()):
        if row[column] is not None:
            row[column] = blobs.name(row[column])
    if name == "run" and row["result"] is not None:
        row["result"] = blobs.folder(row["result"])
    return row


def _people(project_id: int) -> Select[int, str]:
    """Return the statement for all users that archived rows refer to, with the names that exports show."""
    referring = []
    for name in layout.ARCHIVED:
        table = layout.table_of(name)
        for column in layout.columns_of(table):
            if layout.referred(column) == "user":
                referring.append(User.id.in_(select(column).where(_belongs(name, project_id))))
    person = NamedLabeler()
    statement = select(User.id, person.name.label("name")).where(or_(*referring)).order_by(User.id)
    return person.join(statement, User.id, literal(project_id))


def _write_rows(file: IO[bytes], rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    for row in rows:
        file.write(encode(row))
        count += 1
    return count


def _pack(folder: Path, storage: Storage, blobs: _Blobs, about: dict[str, Any]) -> Iterator[bytes]:
    archive = ZipStream()
    with (folder / "files.ndjson").open("wb") as listing:
        for name in (*layout.ARCHIVED, "person"):
            stream = (folder / f"{name}.ndjson").open("rb")
            yield from _member(archive, layout.table_path(name), stream, listing)
        for name, key in blobs.files():
            yield from _member(archive, name, storage.open(key), listing)
    content = (folder / "files.ndjson").read_bytes()
    yield from archive.add(layout.LISTING, [content], packed=True)
    manifest = {
        "format": layout.FORMAT,
        "version": layout.VERSION,
        "tercet": __version__,
        "made_at": now().isoformat(timespec="seconds"),
        **about,
        "files": {"count": content.count(b"\n"), "sha256": hashlib.sha256(content).hexdigest()},
    }
    yield from archive.add(layout.MANIFEST, [json.dumps(manifest, indent=1).encode()], packed=True)
    yield from archive.close()


def _member(archive: ZipStream, name: str, stream: IO[bytes], listing: IO[bytes]) -> Iterator[bytes]:
    """Add a file, and its line to the listing."""
    digest, size = hashlib.sha256(), 0

    def chunks() -> Iterator[bytes]:
        nonlocal size
        while chunk := stream.read(MEGABYTE):
            digest.update(chunk)
            size += len(chunk)
            yield chunk

    with closing(stream):
        yield from archive.add(name, chunks(), packed=name.startswith("tables/"))
    listing.write(encode({"path": name, "bytes": size, "sha256": digest.hexdigest()}))
