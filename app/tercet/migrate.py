"""Migrates the database to the newest revision, at every start."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from tercet.database import Database
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
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision != newest_revision():
        command.upgrade(alembic_config(database), "head")


@cache
def newest_revision() -> str | None:
    """Return the revision of this installation's newest migration; all of them are read, once for a process."""
    return ScriptDirectory.from_config(alembic_config()).get_current_head()
