"""Brings the database to the newest revision of the one alembic history, at every start."""

from pathlib import Path

from alembic import command
from alembic.config import Config

from app.database import Database
from app.settings import asset


def alembic_config(database: Database) -> Config:
    """Point alembic at our migrations and this database, wherever we are installed."""
    config = Config()
    config.set_main_option("script_location", str(asset("migrations")))
    config.attributes["database"] = database
    return config


def upgrade(database: Database) -> None:
    """Apply what is missing; several processes may start at once, so one goes first and the rest find it done."""
    if database.is_sqlite and database.url.database:
        Path(database.url.database).parent.mkdir(parents=True, exist_ok=True)
    command.upgrade(alembic_config(database), "head")
