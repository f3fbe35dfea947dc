"""Brings the database to the newest revision of the one alembic history, at every start."""

from pathlib import Path

from alembic import command
from alembic.config import Config

from tercet.database import Database
from tercet.settings import asset


def alembic_config(database: Database) -> Config:
    """Return alembic's configuration for our migrations and this database, wherever we are installed."""
    config = Config()
    config.set_main_option("script_location", str(asset("migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database) -> None:
    """Apply the migrations that are missing; of processes that start at once, one does and the others wait for it."""
    if database.is_sqlite and database.url.database:
        Path(database.url.database).parent.mkdir(parents=True, exist_ok=True)
    command.upgrade(alembic_config(database), "head")
