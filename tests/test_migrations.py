"""The one alembic history makes exactly the tables that the models describe, and can be undone."""

from alembic import command

from app.database import Database
from app.migrate import alembic_config


def test_models_and_migrations_agree(database: Database) -> None:
    command.check(alembic_config(database))


def test_downgrade_and_upgrade_again(database: Database) -> None:
    command.downgrade(alembic_config(database), "base")
    command.upgrade(alembic_config(database), "head")
    command.check(alembic_config(database))
