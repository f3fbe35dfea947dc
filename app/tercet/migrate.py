"""Migrates the database to the newest revision, at every start."""

from pathlib import Path

from alembic import command
from alembic.config import Config

from tercet.database import Database
from tercet.settings import asset


def alembic_config(database: Database) -> Config:
    """Return alembic's configuration for this database and the migrations of this installation."""
    config = Config()
    config.set_main_option("script_location", str(asset("migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database) -> None:
    """Apply missing migrations; of several processes that start at once, one migrates and the others wait."""
    if database.is_sqlite and database.url.database:
        Path(database.url.database).parent.mkdir(parents=True, exist_ok=True)
    command.upgrade(alembic_config(database), "head")
