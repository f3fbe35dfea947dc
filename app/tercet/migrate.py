"""Migrates the database to the newest revision, at every start."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from tercet.database import Database
from tercet.errors import Conflict
from tercet.settings import asset


def alembic_config(database: Database | None = None) -> Config:
    """Return alembic's configuration for the migrations of this installation, and for the database that they change."""
    config = Config()
    config.set_main_option("script_location", str(asset("migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database) -> None:
    """Apply missing migrations; of several processes that start at once, one migrates and the others wait."""
    if database.is_sqlite and database.url.database:
        Path(database.url.database).parent.mkdir(parents=True, exist_ok=True)
    with database.engine.connect() as connection:
        _check_encoding(connection)
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision != newest_revision():
        command.upgrade(alembic_config(database), "head")


def _check_encoding(connection: Connection) -> None:
    """Raise Conflict where PostgreSQL would not store every text, or not know its letters."""
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        name = connection.engine.url.database
        raise Conflict(
            f"The database {name} stores texts as {encoding}; Tercet needs one that stores them as UTF8: "
            f"createdb --encoding UTF8 --template template0 {name}"
        )


@cache
def newest_revision() -> str | None:
    """Return the revision of this installation's newest migration; all of them are read, once for a process."""
    return ScriptDirectory.from_config(alembic_config()).get_current_head()
