"""Runs migrations on SQLite (batch mode) and PostgreSQL, from the app or from alembic's own command."""

from alembic import context
from sqlalchemy import text

import app.models
from app.database import Database
from app.settings import Settings

LOCK = 7_238_373  # any number that only this application uses


def run() -> None:
    """Upgrade in one transaction, holding a lock so that processes that start together take turns."""
    database = context.config.attributes.get("database") or Database(Settings().resolved_database_url())
    with database.engine.connect() as connection, connection.begin():
        if not database.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        context.configure(
            connection=connection,
            target_metadata=app.models.Base.metadata,
            render_as_batch=True,
            compare_type=True,
            user_module_prefix="app.models.base.",
        )
        context.run_migrations()


run()
