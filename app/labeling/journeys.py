"""Questions that need nothing of each other's answers, on one journey to PostgreSQL.

Labelers wait at each key. Sent one by one, the statements of a key take nine journeys, and on a busy machine each of
them waits twice for a processor. psycopg's pipeline sends several at once; SQLAlchemy knows no pipelines, so that
what it has built is handed to psycopg here. SQLite is in the process, and is asked in turn.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import ClauseElement, Connection, Executable
from sqlalchemy.dialects.postgresql import psycopg as dialect
from sqlalchemy.exc import OperationalError
from sqlalchemy.sql.compiler import SQLCompiler

if TYPE_CHECKING:
    from psycopg import Connection as Driver

Asked = tuple[Executable, Mapping[str, object]]
_dialect = dialect.dialect()  # type: ignore[no-untyped-call]


def ask(connection: Connection, *asked: Asked) -> list[Sequence[Any]]:
    """Run statements with their parameters, and give the rows of each, none of one that gives no rows.

    A server that is away is told as SQLAlchemy would tell it. PostgreSQL's times come in its session's zone.
    """
    if connection.dialect.name == "sqlite":
        results = [connection.execute(statement, parameters) for statement, parameters in asked]
        return [result.all() if result.returns_rows else [] for result in results]
    driver = cast("Driver[Any]", connection.connection.driver_connection)
    try:
        with driver.pipeline():
            cursors = [
                driver.execute(str(built), built.construct_params(parameters))
                for built, parameters in ((_built(statement), parameters) for statement, parameters in asked)
            ]
        # `description` would say the same of a statement without rows, but describes every column first.
        return [[] if cursor.rownumber is None else cursor.fetchall() for cursor in cursors]
    except connection.dialect.loaded_dbapi.OperationalError as error:
        raise OperationalError("a pipeline", None, error) from error


@cache
def _built(statement: Executable) -> SQLCompiler:
    """Write a statement as psycopg takes it; all that are asked are constants."""
    return cast(SQLCompiler, cast(ClauseElement, statement).compile(dialect=_dialect))
