"""The database engine, and sessions to read and to write.

`transaction` is the only place that commits, but for leases of questions (`labeling/sql/drivers.py`).

Handlers are plain functions that open a session in their body; never a yield-dependency, which can hold
every connection of the pool while all threads wait for one.
"""

import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, create_engine, event, exc, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "busy_timeout=15000",
    "foreign_keys=ON",
    "cache_size=-65536",
)
# A connection that was in use so lately is trusted to be alive; a ping costs as much as a query.
TRUSTED_SECONDS = 1.0
# PostgreSQL's own rule of when to analyze a table again: so many new rows, and a tenth of those it knows of.
NEW_ROWS, NEW_SHARE = 50, 0.1
# Where the network to PostgreSQL is cut nothing comes back, not even an error, and threads would wait for many minutes.
# A database in another encoding would give its texts as bytes; `migrate` refuses it, in words that it can read so.
CONNECTING = {
    "client_encoding": "utf8",
    "connect_timeout": 5,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


class Database:
    """One database: its engine and sessions."""

    def __init__(self, url: str, pool_size: int = 16) -> None:
        """Prepare the engine; nothing is opened before the first use."""
        parsed = make_url(re.sub("^postgres://", "postgresql://", url))  # as hosts of databases write it
        if parsed.get_backend_name() == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        self.url = parsed
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        arguments = {"check_same_thread": False} if self.is_sqlite else _without(parsed.query, CONNECTING)
        self.engine = create_engine(
            parsed,
            pool_size=pool_size,
            max_overflow=4,
            pool_use_lifo=True,
            connect_args=arguments,
        )
        # SQLite has one writer. Threads that wait here in turn have a far shorter tail than threads that
        # poll SQLite's own lock; other processes are kept apart by BEGIN IMMEDIATE and busy_timeout.
        self._writer: AbstractContextManager[Any] = threading.Lock() if self.is_sqlite else nullcontext()
        self._readers = self.engine
        self._writers = self.engine.execution_options(write=True)
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            event.listen(self.engine, "checkin", _note_use)
            event.listen(self.engine, "checkout", self._check_alive)
            # There each statement has a view of its own in any case: a transaction would only add two round trips.
            self._readers = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._snapshots = self._readers
        if not self.is_sqlite:
            self._snapshots = self.engine.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session that only reads."""
        with Session(self._readers, expire_on_commit=False, autoflush=False) as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """Open a session that only reads, and whose statements all see the moment of the first one."""
        with Session(self._snapshots, expire_on_commit=False, autoflush=False) as session:
            yield session

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a session that writes: everything in the block is committed, or nothing if it raises."""
        with self._writer, Session(self._writers, expire_on_commit=False) as session:
            yield session
            session.commit()

    def has_grown(self, rows: int, *tables: type[DeclarativeBase]) -> None:
        """Have PostgreSQL analyze tables after many rows were added.

        It would do so by itself within a minute; until then it takes them for almost empty and reads all of them
        for each answer.
        """
        if self.is_sqlite:
            return
        with self.transaction() as session:
            for name in (table.__tablename__ for table in tables):
                rows_at_last_look = session.scalar(
                    text("SELECT reltuples FROM pg_class WHERE oid = to_regclass(:name)"), {"name": name}
                )
                if rows > NEW_ROWS + NEW_SHARE * (rows_at_last_look or 0):
                    session.execute(text(f'ANALYZE "{name}"'))

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def _check_alive(
        self, connection: DBAPIConnection, record: ConnectionPoolEntry, proxy: PoolProxiedConnection
    ) -> None:
        """Replace a connection of the pool that died while it was idle."""
        used = record.info.get("used")
        if used is None or time.monotonic() - used < TRUSTED_SECONDS:
            return
        dialect = self.engine.dialect
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            raise exc.DisconnectionError from error


def _note_use(connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    record.info["used"] = time.monotonic()


def _prepare_sqlite(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    # None hands BEGIN to us: sqlite3's own implicit BEGIN comes too late and is never IMMEDIATE.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer that begins by reading could fail when it upgrades its lock, so writers say so at once.
    write = connection.get_execution_options().get("write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _without(own: Collection[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the address of the database does not set itself."""
    return {name: value for name, value in values.items() if name not in own}
