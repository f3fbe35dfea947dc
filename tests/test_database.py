"""Connections that die while nobody uses them cost no request anything; a large import slows no question."""

import numpy as np
import pytest
from sqlalchemy import text

from tercet import database as module
from tercet.database import Database
from tercet.intake.feature_files import Features
from tercet.intake.local import add_rows
from tercet.intake.tables import ItemRow
from tercet.storage import Storage
from tests.factories import make_project


def test_a_connection_that_died_in_the_pool_is_replaced(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if database.is_sqlite:
        pytest.skip("SQLite's connections have no server that could end them")
    end_others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = :d"
    with database.reading() as first, database.reading() as two:
        pids = {session.execute(text("SELECT pg_backend_pid()")).scalar_one() for session in (first, two)}
        ended = first.execute(text(end_others), {"d": database.url.database}).scalars().all()
    assert len(pids) == 2
    assert any(ended)
    monkeypatch.setattr(module, "TRUSTED_SECONDS", 0)
    for _ in range(2):
        with database.reading() as first, database.transaction() as two:
            assert first.execute(text("SELECT 1")).scalar_one() == 1
            assert two.execute(text("SELECT 2")).scalar_one() == 2


@pytest.mark.only_on("postgres")
def test_a_network_that_is_cut_ends_waiting_after_a_while(database_url: str) -> None:
    def waits(query: str) -> dict[str, str]:
        database = Database(database_url + query)
        with database.engine.connect() as connection:
            parameters = connection.connection.dbapi_connection.info.get_parameters()
        database.close()
        return parameters

    assert waits("").items() >= {name: str(value) for name, value in module.CONNECTING.items()}.items()
    assert waits(("&" if "?" in database_url else "?") + "connect_timeout=20")["connect_timeout"] == "20"


@pytest.mark.only_on("postgres")
def test_postgres_knows_at_once_how_many_items_an_import_brought(database: Database, storage: Storage) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=0)
    rows = [ItemRow(f"item-{i}") for i in range(2 * module.NEW_ROWS)]
    add_rows(database, storage, project.key, rows, Features(np.ones((len(rows), 2)), None, [], "ones"))
    with database.reading() as session:
        estimate = session.execute(text("SELECT reltuples FROM pg_class WHERE relname = 'item'")).scalar_one()
    assert estimate == len(rows)
