"""The one alembic history makes exactly the tables that the models describe, and can be undone."""

import uuid

import pytest
import sqlalchemy as sa
from alembic import command

from tercet.database import Database
from tercet.errors import Conflict
from tercet.jobs.lifecycle import claim_next
from tercet.migrate import alembic_config, upgrade
from tercet.models import BackgroundJob, Base, Item, Project, now
from tests.conftest import run_on_postgres
from tests.factories import make_project

SHARES = (0.0, 0.25, 0.95, 1.0)


def test_models_and_migrations_agree(database: Database) -> None:
    command.check(alembic_config(database))


def test_downgrade_and_upgrade_again(database: Database) -> None:
    command.downgrade(alembic_config(database), "base")
    command.upgrade(alembic_config(database), "head")
    command.check(alembic_config(database))


def test_a_database_that_is_behind_is_migrated_at_the_start(database: Database) -> None:
    command.downgrade(alembic_config(database), "-1")
    upgrade(database)
    command.check(alembic_config(database))


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_does_not_store_every_text_is_refused(postgres_url: str, encoding: str) -> None:
    """Debian makes SQL_ASCII databases where the machine has no locale."""
    name = f"test_{uuid.uuid4().hex}"
    run_on_postgres(postgres_url, f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    database = Database(sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False))
    with pytest.raises(Conflict, match=f"stores texts as {encoding}; .*createdb --encoding UTF8 .* {name}"):
        upgrade(database)
    database.close()
    run_on_postgres(postgres_url, f"DROP DATABASE {name}")


def test_shares_of_chosen_questions_that_somebody_set_stay(database: Database) -> None:
    """Only the former default becomes today's, and back."""
    with database.transaction() as session:
        shares = {make_project(session, key=f"songs-{share}", informative_share=share).id: share for share in SHARES}
    for revision, default in (("0008", 0.5), ("0009", 0.95)):
        change = command.downgrade if revision == "0008" else command.upgrade
        change(alembic_config(database), revision)
        with database.reading() as session:
            rows = session.execute(sa.select(Project.id, Project.informative_share))
            stored = {row.id: row.informative_share for row in rows}
        assert stored == {key: default if share == 0.95 else share for key, share in shares.items()}


def test_sounds_of_before_are_drawn_anew_once(database: Database) -> None:
    with database.transaction() as session:
        songs, texts = (make_project(session, key=key, n_items=3) for key in ("songs", "texts"))
        values = {"media_type": "audio/wav", "picture": "picture/a"}
        session.execute(sa.update(Item).where(Item.project_id == songs.id).values(values))
        numbers = songs.id, texts.id
    command.downgrade(alembic_config(database), "0013")
    command.upgrade(alembic_config(database), "0014")
    claim = claim_next(database, 15)
    assert claim is not None
    with database.reading() as session:
        [job] = session.scalars(sa.select(BackgroundJob))
        assert (job.project_id, job.kind, job.status, job.result) == (numbers[0], "draw_pictures", "running", {})
        assert abs((now() - job.created_at).total_seconds()) < 3600


def test_rows_that_refer_to_a_deleted_one_are_found_by_an_index() -> None:
    """Otherwise deleting a project reads whole tables once for each of its rows, which takes minutes."""
    missing = [
        f"{table.name}.{key.parent.name}"
        for table in Base.metadata.sorted_tables
        for key in table.foreign_keys
        if key.parent.name not in leading_columns(table)
    ]
    assert missing == []


def leading_columns(table: sa.Table) -> set[str]:
    """An index may leave out the rows whose first column is null: those refer to nothing."""
    keys = [
        constraint
        for constraint in table.constraints
        if isinstance(constraint, (sa.UniqueConstraint, sa.PrimaryKeyConstraint))
    ]
    leading = {next(iter(constraint.columns)).name for constraint in keys}
    for index in table.indexes:
        first, where = next(iter(index.columns)).name, index.dialect_options["sqlite"]["where"]
        if where is None or str(where) == f"{first} IS NOT NULL":
            leading.add(first)
    return leading
