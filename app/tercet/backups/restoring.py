"""Restores a backup into an empty place, on either kind of database: everything, or nothing."""

import json
import zipfile
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Integer, Table, func, insert, select, text
from sqlalchemy.orm import Session

from tercet.archives.rows import Row, decode
from tercet.backups.checking import check_backup
from tercet.backups.layout import BLOBS, Manifest, rows_entry
from tercet.database import Database
from tercet.errors import Conflict
from tercet.models import Base
from tercet.storage import Storage

ROWS_AT_ONCE = 500


def restore_backup(database: Database, storage: Storage, file: Path) -> Manifest:
    """Check a backup, then store its blobs and, in one transaction, its rows."""
    manifest = check_backup(file)
    with database.reading() as session:
        _check_place(session, manifest)
    with zipfile.ZipFile(file) as archive:
        for name in manifest.entries:
            if name.startswith(BLOBS):
                with archive.open(name) as entry:
                    storage.put_stream(name.removeprefix(BLOBS), entry)
        with database.transaction() as session:
            for table in Base.metadata.sorted_tables:
                _insert(session, table, _rows(archive, table))
    return manifest


def _check_place(session: Session, manifest: Manifest) -> None:
    filled = [
        table.name for table in Base.metadata.sorted_tables if session.scalar(select(func.count()).select_from(table))
    ]
    if filled:
        raise Conflict(f"There is something in the database already ({', '.join(filled)}): restore into an empty one.")
    revision = session.scalar(text("SELECT version_num FROM alembic_version"))
    if revision != manifest.revision:
        raise Conflict(
            f"The backup was made by version {manifest.version} (tables {manifest.revision}, here {revision}): "
            "restore it with that version, then update."
        )


def _rows(archive: zipfile.ZipFile, table: Table) -> Iterator[Row]:
    with archive.open(rows_entry(table.name)) as lines:
        for line in lines:
            yield decode(table.columns, json.loads(line))


def _insert(session: Session, table: Table, rows: Iterator[Row]) -> None:
    # Of JSON columns, None would be stored as JSON's null: they are left out, and so become NULL.
    of_json = {column.name for column in table.columns if isinstance(column.type, JSON)}
    filled = ({name: value for name, value in row.items() if value is not None or name not in of_json} for row in rows)
    for _, alike in groupby(filled, key=frozenset):
        while batch := list(islice(alike, ROWS_AT_ONCE)):
            session.execute(insert(table), batch)
    _continue_numbers(session, table)


def _continue_numbers(session: Session, table: Table) -> None:
    """Have PostgreSQL number new rows after the restored ones."""
    keys: list[Any] = list(table.primary_key.columns)
    if session.get_bind().dialect.name != "postgresql" or len(keys) != 1 or not isinstance(keys[0].type, Integer):
        return
    sequence = session.scalar(select(func.pg_get_serial_sequence(f'"{table.name}"', keys[0].name)))
    largest = session.scalar(select(func.max(keys[0])))
    if sequence is not None and largest is not None:
        session.execute(select(func.setval(sequence, largest)))
