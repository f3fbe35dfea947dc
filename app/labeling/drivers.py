"""The statements of every key that a labeler presses, handed to the databases' own drivers.

SQLAlchemy has written them; it also would run them, but not as labelers need it, who wait at each key. PostgreSQL
would be sent them one by one, nine journeys for one key, and on a busy machine each of them waits twice for a
processor: psycopg's pipeline sends several that need nothing of each other at once, and SQLAlchemy knows no
pipelines. SQLite is in the process, where it takes SQLAlchemy several times as long to run a statement as SQLite.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sqlalchemy import ClauseElement, ColumnElement, Connection, Dialect, Executable, ReturnsRows
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.exc import OperationalError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

if TYPE_CHECKING:
    from sqlite3 import Connection as SqliteDriver

    from psycopg import Connection as PostgresDriver

Asked = tuple[Executable, Mapping[str, object]]
Turn = Callable[[Any], Any]
_postgres = psycopg.dialect()  # type: ignore[no-untyped-call]
_sqlite = pysqlite.dialect(paramstyle="named")


class Prepared(NamedTuple):
    """A statement as its driver takes it: its own values, and what is done to others on their way in and out."""

    sql: str
    values: dict[str, Any]
    turn_in: dict[str, Turn]
    turn_out: dict[int, Turn]


def ask(connection: Connection, *asked: Asked) -> list[Sequence[Any]]:
    """Run statements with their parameters, and give the rows of each, none of one that gives no rows.

    A database that is away is told as SQLAlchemy would tell it. PostgreSQL's times come in its session's zone.
    """
    driver = connection.connection.driver_connection
    try:
        if connection.dialect.name == "sqlite":
            return [_run_in_sqlite(cast("SqliteDriver", driver), *one) for one in asked]
        return _send_to_postgres(cast("PostgresDriver[Any]", driver), asked)
    except connection.dialect.loaded_dbapi.OperationalError as error:
        raise OperationalError("asked past SQLAlchemy", None, error) from error


def _send_to_postgres(driver: "PostgresDriver[Any]", asked: Sequence[Asked]) -> list[Sequence[Any]]:
    with driver.pipeline():
        cursors = []
        for statement, parameters in asked:
            prepared = _prepare(statement, _postgres)
            cursors.append(driver.execute(prepared.sql, {**prepared.values, **parameters}))
    # `description` would say the same of a statement without rows, but describes every column first.
    return [[] if cursor.rownumber is None else cursor.fetchall() for cursor in cursors]


def _run_in_sqlite(
    driver: "SqliteDriver", statement: Executable, parameters: Mapping[str, object]
) -> Sequence[tuple[Any, ...]]:
    prepared = _prepare(statement, _sqlite)
    given = {**prepared.values, **parameters}
    for name, turn in prepared.turn_in.items():
        given[name] = turn(given[name])
    rows = driver.execute(prepared.sql, given).fetchall()
    return [_turned(row, prepared.turn_out) for row in rows] if prepared.turn_out else rows


def _turned(row: tuple[Any, ...], turns: dict[int, Turn]) -> tuple[Any, ...]:
    values = list(row)
    for place, turn in turns.items():
        values[place] = turn(values[place])
    return tuple(values)


@cache
def _prepare(statement: Executable, dialect: Dialect) -> Prepared:
    """Write a statement as a driver takes it; all that are asked are constants."""
    built = cast(SQLCompiler, cast(ClauseElement, statement).compile(dialect=dialect))
    values = {name: bind.value for bind, name in built.bind_names.items() if not bind.required}
    return Prepared(str(built), values, *(_turns(statement, built) if dialect is _sqlite else ({}, {})))


def _turns(statement: Executable, built: SQLCompiler) -> tuple[dict[str, Turn], dict[int, Turn]]:
    """Say what turns values to SQLite's and back: it knows neither times nor JSON, which are text there."""
    columns = statement.exported_columns if isinstance(statement, ReturnsRows) else ()
    going_in = ((name, _kind(bind).bind_processor(_sqlite)) for bind, name in built.bind_names.items())
    coming_out = ((place, _kind(column).result_processor(_sqlite, None)) for place, column in enumerate(columns))
    return {name: turn for name, turn in going_in if turn}, {place: turn for place, turn in coming_out if turn}


def _kind(element: ColumnElement[Any]) -> TypeEngine[Any]:
    return element.type.dialect_impl(_sqlite)
