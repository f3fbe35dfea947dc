"""A backup holds every acknowledged answer, shows every damage, and is restored whole or not at all."""

import json
import shutil
import threading
import time
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from typer.testing import CliRunner

from tercet import migrate
from tercet.backups.checking import check_backup, is_backup
from tercet.backups.layout import MANIFEST, rows_entry
from tercet.backups.restoring import restore_backup
from tercet.backups.schedule import BackupSchedule, backups, seconds_until_due
from tercet.backups.writing import write_backup
from tercet.cli import cli
from tercet.database import Database
from tercet.errors import Conflict, Invalid
from tercet.models import Answer, Base, Item, Role, User
from tercet.runs.schedule import request_run
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import add_features, add_member, make_project, row_counts, signed_in
from tests.runs.support import wait_for

N_ITEMS = 60


@pytest.fixture
def labeler(database: Database, storage: Storage) -> User:
    """A project with items, features, a labeler and a run."""
    with database.transaction() as session:
        project = make_project(
            session, n_items=N_ITEMS, n_clusters=2, guidelines="Hört genau hin: ♪", focus={"items": []}
        )
        add_features(session, storage, project, np.eye(N_ITEMS))
        request_run(session, project, reason="request")
        return add_member(session, project, Role.LABELER)


def answer(number: int) -> dict[str, object]:
    # A question of its own each time: a second answer of the same person to the same one is no other answer.
    step = 1 + number // N_ITEMS
    keys = [f"item-{(number + way) % N_ITEMS}" for way in (0, step, step + 1)]
    return {"id": str(uuid.uuid4()), "triplet": keys, "answer": "yes", "response_ms": 900}


def rows(database: Database) -> dict[str, list[tuple[object, ...]]]:
    with database.reading() as session:
        tables = Base.metadata.sorted_tables
        return {t.name: [tuple(row) for row in session.execute(sa.select(t).order_by(*t.primary_key))] for t in tables}


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest, database_url: str) -> Iterator[Database]:
    """An empty database of the other kind."""
    if database_url.startswith("sqlite"):
        url = request.getfixturevalue("postgres_database_url")
    else:
        url = f"sqlite:///{tmp_path / 'elsewhere' / 'tercet.db'}"
    elsewhere = Database(url)
    migrate.upgrade(elsewhere)
    yield elsewhere
    elsewhere.close()


def test_everything_comes_back_on_the_other_kind_of_database(
    app: FastAPI, database: Database, storage: Storage, labeler: User, place: Database, tmp_path: Path
) -> None:
    with signed_in(app, labeler) as client:
        for number in range(5):
            assert client.post("/api/v1/projects/songs/answers", json=answer(number)).status_code == 201
    file = tmp_path / "all.zip"
    manifest = write_backup(database, storage, file)
    assert manifest.projects["songs"].answers == 5
    assert file.stat().st_mode & 0o077 == 0, "it holds names and addresses"
    elsewhere = Storage(str(tmp_path / "other blobs"))
    assert restore_backup(place, elsewhere, file) == check_backup(file)
    assert rows(place) == rows(database)
    assert {key: elsewhere.get(key) for key in elsewhere.all_keys()} == {
        key: storage.get(key) for key in storage.all_keys()
    }
    with place.transaction() as session:
        project = make_project(session, "new")
        session.add(Item(project_id=project.id, key="a", position=0))
        add_member(session, project, Role.OWNER)
    with pytest.raises(Conflict, match="into an empty one"):
        restore_backup(place, elsewhere, file)


def test_every_answer_acknowledged_before_a_backup_is_in_it(
    app: FastAPI, database: Database, storage: Storage, labeler: User, tmp_path: Path
) -> None:
    """Backups are taken while people label; each is whole, and no labeler hears of it."""
    acknowledged: list[str] = []
    ended = threading.Event()
    faults: list[int] = []

    def label() -> None:
        with signed_in(app, labeler) as client:
            number = 0
            while not ended.is_set():
                # Without a response time: pages do not answer one question twice in a second.
                sent = answer(number) | {"response_ms": None}
                status = client.post("/api/v1/projects/songs/answers", json=sent).status_code
                (acknowledged if status == 201 else faults).append(str(sent["id"]) if status == 201 else status)
                number += 1

    thread = threading.Thread(target=label)
    thread.start()
    try:
        for turn in range(4):
            while len(acknowledged) < 5 * (turn + 1):
                assert thread.is_alive()
                time.sleep(0.001)  # looking without a pause would hold up the labeler
            before = set(acknowledged)
            file = tmp_path / f"{turn}.zip"
            write_backup(database, storage, file)
            check_backup(file)
            with zipfile.ZipFile(file) as archive:
                lines = archive.read(rows_entry("answer")).decode()
            assert all(answer_id in lines for answer_id in before)
    finally:
        ended.set()
        thread.join()
    assert faults == []


@pytest.mark.only_on("sqlite")
def test_a_copy_of_the_database_file_alone_loses_answers(
    app: FastAPI, database: Database, storage: Storage, labeler: User, tmp_path: Path
) -> None:
    """Why there is a command: the newest rows are in the file beside it."""
    with signed_in(app, labeler) as client:
        for number in range(5):
            assert client.post("/api/v1/projects/songs/answers", json=answer(number)).status_code == 201
        shutil.copy(str(database.url.database), tmp_path / "copy.db")
        write_backup(database, storage, tmp_path / "all.zip")
    copy = sa.create_engine(f"sqlite:///{tmp_path / 'copy.db'}")
    with copy.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Answer)) < 5
    copy.dispose()
    assert check_backup(tmp_path / "all.zip").rows["answer"] == 5


@pytest.fixture
def file(database: Database, storage: Storage, labeler: User, tmp_path: Path) -> Path:
    write_backup(database, storage, tmp_path / "all.zip")
    return tmp_path / "all.zip"


def rewritten(file: Path, name: str, content: bytes | None) -> Path:
    """The backup with one entry changed, or without it."""
    target = file.with_name("changed.zip")
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(target, "w") as archive:
        for entry in source.namelist():
            if entry != name:
                archive.writestr(entry, source.read(entry))
        if content is not None:
            archive.writestr(name, content)
    return target


@pytest.mark.only_on("sqlite")
def test_every_damage_shows_and_nothing_of_it_is_restored(file: Path, database: Database, tmp_path: Path) -> None:
    elsewhere = Database(f"sqlite:///{tmp_path / 'elsewhere' / 'tercet.db'}")
    migrate.upgrade(elsewhere)
    before = row_counts(elsewhere)
    whole = file.read_bytes()
    damaged = [
        rewritten(file, rows_entry("item"), b'{"id": 1}\n').read_bytes(),
        rewritten(file, rows_entry("answer"), None).read_bytes(),
        rewritten(file, "blobs/strange", b"x").read_bytes(),
        rewritten(file, MANIFEST, b"{}").read_bytes(),
        whole[: len(whole) // 2],
        whole.replace(b"\x93NUMPY", b"\x93NUMPX"),
        b"",
    ]
    for content in damaged:
        (tmp_path / "damaged.zip").write_bytes(content)
        with pytest.raises(Invalid):
            restore_backup(elsewhere, Storage(str(tmp_path / "other")), tmp_path / "damaged.zip")
    assert row_counts(elsewhere) == before
    assert list(Storage(str(tmp_path / "other")).all_keys()) == []
    elsewhere.close()


@pytest.mark.only_on("sqlite")
def test_a_backup_of_other_tables_says_which_version_restores_it(
    file: Path, database: Database, tmp_path: Path
) -> None:
    with zipfile.ZipFile(file) as archive:
        manifest = json.dumps({**json.loads(archive.read(MANIFEST)), "revision": "0001"}).encode()
    elsewhere = Database(f"sqlite:///{tmp_path / 'elsewhere' / 'tercet.db'}")
    migrate.upgrade(elsewhere)
    with pytest.raises(Conflict, match="restore it with that version"):
        restore_backup(elsewhere, Storage(str(tmp_path / "other")), rewritten(file, MANIFEST, manifest))
    elsewhere.close()


@pytest.mark.only_on("sqlite")
def test_a_backup_that_fails_leaves_no_file(
    database: Database, storage: Storage, labeler: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(key: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "open", fail)
    with pytest.raises(OSError, match="No space"):
        write_backup(database, storage, tmp_path / "all.zip")
    assert not list(tmp_path.glob("all.zip*"))
    assert not is_backup(tmp_path / "all.zip")


@pytest.mark.only_on("sqlite")
def test_a_server_makes_backups_by_itself(
    database: Database, settings: Settings, labeler: User, tmp_path: Path, place: Database
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for name in ("tercet-2026-01-01T00-00-00Z.zip", "tercet-2026-01-02T00-00-00Z.zip", "tercet-mine.zip"):
        (folder / name).write_bytes(b"old")
    schedule = BackupSchedule(settings.model_copy(update={"backup_folder": str(folder), "backups_kept": 2}))
    schedule.start()
    wait_for(lambda: len(backups(folder)) == 2 and backups(folder)[-1].size > 10)
    schedule.stop()
    newest = backups(folder)[-1]
    assert sorted(file.name for file in folder.iterdir()) == [
        "tercet-2026-01-02T00-00-00Z.zip",
        newest.file.name,
        "tercet-mine.zip",
    ]
    assert 0 < seconds_until_due(schedule.settings) <= 24 * 3600
    restore_backup(place, Storage(str(tmp_path / "restored")), newest.file)
    assert rows(place)["project"] == rows(database)["project"]


def test_a_backup_that_is_removed_while_they_are_listed_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "tercet-2026-01-01T00-00-00Z.zip").symlink_to(tmp_path / "gone.zip")
    (tmp_path / "tercet-2026-01-02T00-00-00Z.zip").write_bytes(b"old")
    assert [row.size for row in backups(tmp_path)] == [3]


@pytest.mark.only_on("sqlite")
def test_as_a_person_types_it(app: FastAPI, settings: object, labeler: User, tmp_path: Path, database_url: str) -> None:
    def tercet(*arguments: str, url: str = "") -> str:
        environment = {"TERCET_DATABASE_URL": url}
        result = CliRunner().invoke(cli, list(arguments), env=environment, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    file, data, empty = str(tmp_path / "all.zip"), str(tmp_path / "data"), str(tmp_path / "empty")
    assert "all.zip" in tercet("backup", file, "--data", data, url=database_url)
    assert "is whole: 1 project, 0 answers, 1 user and 1 file," in tercet("check", file)
    assert "Restored 1 project," in tercet("restore", file, "--data", empty)
    refused = CliRunner().invoke(cli, ["restore", file, "--key", "a", "--owner", "b", "--data", empty])
    assert refused.exit_code == 2
    assert "leave --key and --owner out" in refused.output
