"""What was stored under any earlier revision of the tables is still there in the newest, on both databases.

One database goes through the whole history. Under every revision each table that there is then gets rows of their own,
so that every step has the rows of all revisions before it to carry.
"""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from tercet.database import Database
from tercet.migrate import alembic_config
from tercet.models import Base

Rows = dict[tuple[str, Any], dict[str, Any]]

MOMENT = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
# What a column may hold where not everything of its type is allowed.
VALUES = {
    "question_kind": "relative",
    "role": "analyst",
    "verdict": "set aside",
    "purpose": "current",
    "value": "yes",
    "kind": "move",
    "reason": "cut",
}
VALUES_OF_TABLE = {
    ("run", "status"): "done",
    ("run", "reason"): "answers",
    ("job", "status"): "done",
    ("job", "kind"): "make_features",
    ("import", "status"): "done",
    ("import", "source"): "page",
    ("delivery", "status"): "delivered",
    ("dismissal", "kind"): "merge",
    ("decision", "reason"): "in a hurry",
    ("triplet", "source"): "random",
}


@pytest.mark.heavy(but="sqlite")
def test_rows_of_every_revision_come_through_all_later_ones(database: Database) -> None:
    config = alembic_config(database)
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    command.downgrade(config, "base")
    written: Rows = {}
    for revision in revisions:
        command.upgrade(config, revision)
        with database.engine.begin() as connection:
            written |= write_rows(connection, tables_of(connection), revision)
    command.check(config)
    with database.engine.connect() as connection:
        tables = tables_of(connection)
        stored = {table.name: rows_of(connection, table) for table in tables.values()}
    assert len(stored["project"]) == len(revisions)
    assert len(stored["item"]) == 3 * len(revisions)
    for (table, key), row in written.items():
        left = stored[table][key]
        assert {name: left[name] for name in row if name in left} == {n: v for n, v in row.items() if n in left}
    with database.reading() as session:
        for mapper in Base.registry.mappers:
            assert session.scalars(sa.select(mapper)).all(), f"the code reads no {mapper.class_.__name__}"


def tables_of(connection: sa.Connection) -> dict[str, sa.Table]:
    """Return the tables that there are now, each after those it refers to."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return {table.name: table for table in metadata.sorted_tables if table.name != "alembic_version"}


def rows_of(connection: sa.Connection, table: sa.Table) -> dict[Any, dict[str, Any]]:
    [key] = table.primary_key.columns
    return {row[key.name]: dict(row) for row in connection.execute(sa.select(table)).mappings()}


def write_rows(connection: sa.Connection, tables: dict[str, sa.Table], revision: str) -> Rows:
    """Write a row, three of items, to each table, and return what the database has of them."""
    keys: dict[str, list[Any]] = {}
    rows: Rows = {}
    for name, table in tables.items():
        [key] = table.primary_key.columns
        for position in range(3 if name == "item" else 1):
            row = {column.name: value_of(column, keys, revision, position) for column in table.columns}
            if name == "audit":
                row[key.name] = int(revision)
            elif isinstance(key.type, sa.Integer):
                del row[key.name]
            if name == "triplet":
                row |= dict(zip(("anchor_id", "left_id", "right_id"), keys["item"], strict=True))
            [number] = connection.execute(sa.insert(table).values(row)).inserted_primary_key or ()
            keys.setdefault(name, []).append(number)
        for number, stored in rows_of(connection, table).items():
            if number in keys[name]:
                rows[name, number] = stored
    return rows


def value_of(column: sa.Column[Any], keys: dict[str, list[Any]], revision: str, position: int) -> Any:
    """Return a value that the column may hold, such that all rows of a table differ."""
    table, kind = column.table.name, column.type
    if column.foreign_keys:
        [reference] = column.foreign_keys
        return keys.get(reference.column.table.name, [None])[0]
    if (table, column.name) in VALUES_OF_TABLE or column.name in VALUES:
        return VALUES_OF_TABLE.get((table, column.name)) or VALUES[column.name]
    if isinstance(kind, sa.DateTime):
        return None if column.nullable else MOMENT if kind.timezone else MOMENT.replace(tzinfo=None)
    if isinstance(kind, sa.UUID):
        return uuid.uuid4()
    if isinstance(kind, sa.CHAR):
        return uuid.uuid4().hex
    if isinstance(kind, sa.Boolean):
        return False
    if isinstance(kind, sa.Integer):
        return position + 1
    if isinstance(kind, sa.Float | sa.Numeric):
        return 0.25
    if isinstance(kind, sa.JSON):
        return {}
    assert isinstance(kind, sa.String), f"no value is known for {column}"
    return f"{revision}-{position} {column.name}"[: kind.length]
