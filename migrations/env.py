"""Runs migrations on SQLite (batch mode) and PostgreSQL, from the app or from alembic's own command."""

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import context
from sqlalchemy import Connection, text

import tercet.models
from tercet.database import Database
from tercet.settings import Settings

LOCK = 7_238_373  # any number that only this application uses


@contextmanager
def foreign_keys_off(connection: Connection) -> Iterator[None]:
    """Let SQLite replace a table: with foreign keys on, dropping the old one would delete its children."""
    raw = connection.connection.driver_connection
    assert raw is not None
    raw.execute("PRAGMA foreign_keys=OFF")  # has an effect only outside a transaction, so before BEGIN
    yield
    raw.execute("PRAGMA foreign_keys=ON")


def migrate(connection: Connection, is_sqlite: bool) -> None:
    """Upgrade in one transaction, holding a lock so that processes that start together take turns."""
    with connection.begin():
        if not is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        context.configure(
            connection=connection,
            target_metadata=tercet.models.Base.metadata,
            render_as_batch=True,
            compare_type=True,
            user_module_prefix="tercet.models.base.",
        )
        context.run_migrations()


def run() -> None:
    """Open the database that the app gave, or the one of the settings, and migrate it."""
    database = context.config.attributes.get("database") or Database(Settings().resolved_database_url())
    with database.engine.connect().execution_options(write=True) as connection:
        if database.is_sqlite:
            with foreign_keys_off(connection):
                migrate(connection, True)
        else:
            migrate(connection, False)


run()
