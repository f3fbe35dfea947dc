"""The server says whether it can store what it is sent."""

import sqlite3
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from tercet.database import Database
from tercet.storage import Storage
from tercet.web.readiness import Readiness

AWAY = "The database does not answer, or cannot be written."


def test_a_server_that_can_store_is_ready_and_leaves_nothing_behind(anonymous: TestClient, storage: Storage) -> None:
    assert anonymous.get("/readyz").json() == {"status": "ready"}
    assert list(storage.all_keys()) == []


@pytest.mark.only_on("sqlite")
def test_what_cannot_be_written_is_said(database: Database, storage: Storage, tmp_path: Path) -> None:
    assert Readiness(database, storage).fault() is None
    (tmp_path / "file").write_text("no folder")
    fault = Readiness(database, Storage(str(tmp_path / "file" / "blobs"))).fault()
    assert fault == "Items and results cannot be stored: Not a directory."
    nowhere = Database(f"sqlite:///{tmp_path / 'nowhere' / 'tercet.db'}")
    assert Readiness(nowhere, storage).fault() == AWAY
    nowhere.close()


@pytest.mark.only_on("sqlite")
def test_a_full_disk_of_the_database_is_named(database: Database, storage: Storage) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"

    def fail(*_: object) -> None:
        raise full

    event.listen(database.engine, "do_execute", fail)
    assert Readiness(database, storage).fault() == "There is no room left on the disk of the database."


@pytest.mark.only_on("postgres")
def test_a_database_that_may_only_be_read_is_not_ready(database: Database, storage: Storage) -> None:
    read_only = Database(f"{database.url}?options=-c%20default_transaction_read_only%3Don")
    assert Readiness(read_only, storage).fault() == AWAY
    read_only.close()


def test_strangers_cause_few_writes(anonymous: TestClient, storage: Storage) -> None:
    readiness: Readiness = anonymous.app.state.readiness  # type: ignore[attr-defined]
    assert anonymous.get("/readyz").status_code == 200
    readiness.storage = Storage("/dev/null/blobs")
    assert anonymous.get("/readyz").status_code == 200, "it was tried a moment ago"
    readiness._next_trial = 0.0
    assert anonymous.get("/readyz").status_code == 503
    assert anonymous.get("/readyz").json()["detail"] == "Items and results cannot be stored: Not a directory."
