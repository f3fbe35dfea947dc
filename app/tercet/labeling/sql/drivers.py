"""Runs the statements of every question and answer on the databases' own drivers, since labelers wait for them.

SQLAlchemy compiles them. If it also ran them, PostgreSQL would get them one by one, each with a round trip; psycopg's
pipeline sends several at once, which SQLAlchemy does not support. SQLite runs in the process, and SQLAlchemy takes
several times as long for a statement as SQLite itself.
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

# A statement and its parameters.
Query = tuple[Executable, Mapping[str, object]]
Rows = Sequence[Any]
Converter = Callable[[Any], Any]
_postgres = psycopg.dialect()  # type: ignore[no-untyped-call]
_sqlite = pysqlite.dialect(paramstyle="named")


class Compiled(NamedTuple):
    """A statement in a driver's own SQL, its constants, and how parameters and results are converted."""

    sql: str
    constants: dict[str, Any]
    parameter_converters: dict[str, Converter]
    result_converters: dict[int, Converter]


def run(connection: Connection, **queries: Query) -> dict[str, Rows]:
    """Run queries in their order and return the rows of each by its name; empty for a statement without rows.

    Raises SQLAlchemy's OperationalError where the database cannot be reached. Times from PostgreSQL are in the time
    zone of its session.
    """
    return _run(connection, queries, are_last=False)


def run_last(connection: Connection, **queries: Query) -> dict[str, Rows]:
    """Run the last queries of a transaction that may be lost if the database crashes within the next second.

    PostgreSQL commits it along with them: without a further round trip, and without waiting for its disk.
    """
    return _run(connection, queries, are_last=True)


def _run(connection: Connection, queries: Mapping[str, Query], *, are_last: bool) -> dict[str, Rows]:
    driver = connection.connection.driver_connection
    try:
        if connection.dialect.name == "sqlite":
            return {name: _run_in_sqlite(cast("SqliteDriver", driver), *query) for name, query in queries.items()}
        return _run_in_postgres(cast("PostgresDriver[Any]", driver), queries, are_last)
    except connection.dialect.loaded_dbapi.OperationalError as error:
        raise OperationalError("run past SQLAlchemy", None, error) from error


def _run_in_postgres(driver: "PostgresDriver[Any]", queries: Mapping[str, Query], are_last: bool) -> dict[str, Rows]:
    cursors = {}
    with driver.pipeline():
        for name, (statement, parameters) in queries.items():
            compiled = _compile(statement, _postgres)
            cursors[name] = driver.execute(compiled.sql, {**compiled.constants, **parameters})
        if are_last:
            driver.execute("SET LOCAL synchronous_commit TO off")
            driver.commit()
    # `description` would also tell which statements return no rows, but it describes every column, which takes time.
    return {name: [] if cursor.rownumber is None else cursor.fetchall() for name, cursor in cursors.items()}


def _run_in_sqlite(driver: "SqliteDriver", statement: Executable, parameters: Mapping[str, object]) -> Rows:
    compiled = _compile(statement, _sqlite)
    values = {**compiled.constants, **parameters}
    for name, convert in compiled.parameter_converters.items():
        values[name] = convert(values[name])
    rows = driver.execute(compiled.sql, values).fetchall()
    return [_converted(row, compiled.result_converters) for row in rows] if compiled.result_converters else rows


def _converted(row: tuple[Any, ...], converters: dict[int, Converter]) -> tuple[Any, ...]:
    values = list(row)
    for place, convert in converters.items():
        values[place] = convert(values[place])
    return tuple(values)


@cache
def _compile(statement: Executable, dialect: Dialect) -> Compiled:
    """Compile a statement once; all statements that are run here are constants of modules."""
    compiled = cast(SQLCompiler, cast(ClauseElement, statement).compile(dialect=dialect))
    constants = {name: bind.value for bind, name in compiled.bind_names.items() if not bind.required}
    converters = _sqlite_converters(statement, compiled) if dialect is _sqlite else ({}, {})
    return Compiled(str(compiled), constants, *converters)


def _sqlite_converters(
    statement: Executable, compiled: SQLCompiler
) -> tuple[dict[str, Converter], dict[int, Converter]]:
    """Return the converters of parameters and results: SQLite stores times and JSON as text."""
    columns = statement.exported_columns if isinstance(statement, ReturnsRows) else ()
    parameters = ((name, _type(bind).bind_processor(_sqlite)) for bind, name in compiled.bind_names.items())
    results = ((place, _type(column).result_processor(_sqlite, None)) for place, column in enumerate(columns))
    return (
        {name: convert for name, convert in parameters if convert},
        {place: convert for place, convert in results if convert},
    )


def _type(element: ColumnElement[Any]) -> TypeEngine[Any]:
    return element.type.dialect_impl(_sqlite)
