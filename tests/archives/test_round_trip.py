"""An archive made on one kind of database and restored on the other holds what was there; twice, there and back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.archives import service
from tercet.archives.layout import ARCHIVED, LEFT_OUT
from tercet.archives.restoring import HIDDEN_KEY
from tercet.database import Database
from tercet.models import Base, Item, Membership, Project, Role, Run, RunStatus, User
from tercet.storage import Storage
from tests.archives.world import Place, contents, fill, write
from tests.factories import add_member, make_token, make_user, row_counts

EXPECTED_CHANGES = {"key", "event_number"}


@pytest.fixture
def sqlite(sqlite_database_url: str, tmp_path: Path) -> Iterator[Place]:
    database = Database(sqlite_database_url)
    yield Place(database, Storage(str(tmp_path / "sqlite blobs")))
    database.close()


@pytest.fixture
def postgres(postgres_database_url: str, tmp_path: Path) -> Iterator[Place]:
    database = Database(postgres_database_url)
    yield Place(database, Storage(str(tmp_path / "postgres blobs")))
    database.close()


def restore(place: Place, path: Path, key: str) -> int:
    with place.database.transaction() as session:
        owner_id = make_user(session, "Dee").id
    service.restore_file(place.database, place.storage, path, key, owner_id)
    with place.database.reading() as session:
        project = session.scalar(sa.select(Project).where(Project.key == key))
        assert project is not None
        owners = session.scalars(
            sa.select(Membership.user_id).where(Membership.project_id == project.id, Membership.role == Role.OWNER)
        )
        assert owners.all() == [owner_id]
        return project.id


def what_travels(place: Place, project_id: int) -> dict[str, list[dict[str, object]]]:
    tables = contents(place, project_id)
    tables["project"] = [{k: v for k, v in tables["project"][0].items() if k not in EXPECTED_CHANGES}]
    tables["triplet"] = [row for row in tables["triplet"] if row["priority"] is None]
    tables["run"] = [row for row in tables["run"] if row["status"] != RunStatus.QUEUED]
    return tables


def test_there_and_back(sqlite: Place, postgres: Place, tmp_path: Path) -> None:
    first = fill(sqlite)
    with postgres.database.transaction() as session:  # ids there are other ones
        other_project = Project(key="other", name="Other")
        session.add(other_project)
        session.flush()
        session.add_all(Item(project_id=other_project.id, key=f"x{i}", position=i) for i in range(5))
    second = restore(postgres, write(sqlite, first, tmp_path / "a.zip"), "copy")
    third = restore(sqlite, write(postgres, second, tmp_path / "b.zip"), "copy-of-copy")
    before, there = what_travels(sqlite, first), what_travels(postgres, second)
    assert [len(before[name]) for name in ARCHIVED] == [1, 2, 12, 2, 6, 1, 6, 2, 1, 0, 0, 1, 1, 1]
    assert there == before
    back = what_travels(sqlite, third)
    taken = [row.pop("id") for row in before["answer"]]
    assert not {row.pop("id") for row in back["answer"]} & set(taken), "the first project is still here"
    assert back == before


def test_every_table_is_archived_or_left_out_on_purpose() -> None:
    assert set(Base.metadata.tables) <= set(ARCHIVED) | LEFT_OUT


def test_addresses_stay_here(sqlite: Place, tmp_path: Path) -> None:
    path = write(sqlite, fill(sqlite), tmp_path / "a.zip")
    import zipfile

    with zipfile.ZipFile(path) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist() if name.endswith("json"))
    assert b"Bo" in text
    assert b"example.org" not in text


def test_what_is_refused_leaves_nothing(sqlite: Place, tmp_path: Path) -> None:
    project = fill(sqlite)
    path = write(sqlite, project, tmp_path / "a.zip")
    with sqlite.database.transaction() as session:
        owner = make_user(session).id
    before, blobs = row_counts(sqlite.database), sorted(Path(sqlite.storage.root).rglob("*.*"))
    from tercet.errors import Conflict

    with pytest.raises(Conflict, match="already a project 'songs'"):
        service.restore_file(sqlite.database, sqlite.storage, path, "songs", owner)
    assert row_counts(sqlite.database) == before
    assert sorted(Path(sqlite.storage.root).rglob("*.*")) == blobs


@pytest.mark.heavy(but="sqlite")
def test_over_rest(app: FastAPI, database: Database, storage: Storage) -> None:
    project = fill(Place(database, storage))
    with database.transaction() as session:
        analyst = add_member(session, session.get_one(Project, project), Role.ANALYST, "Eve")
        token = make_token(session, analyst)
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        got = client.get("/api/v1/projects/songs/archive")
        assert (got.status_code, got.headers["content-type"]) == (200, "application/zip")
        restored = client.post("/api/v1/projects/restore", params={"key": "again"}, content=got.content)
        assert restored.status_code == 201, restored.text
        assert (restored.json()["key"], restored.json()["answers"]) == ("again", 6)
        answers = [client.get(f"/api/v1/projects/{key}/constraints").text.splitlines() for key in ("songs", "again")]
        assert len(answers[0]) == len(answers[1]) == 6
        clusters = [client.get(f"/api/v1/projects/{key}/runs/latest/items").json() for key in ("songs", "again")]
        assert clusters[0] == clusters[1]
        picture = client.get("/api/v1/projects/again/media/thumbnail/song 3")
        assert picture.content == client.get("/api/v1/projects/songs/media/thumbnail/song 3").content
        assert client.post("/api/v1/projects/restore", params={"key": "Again!"}, content=b"").status_code == 422
    with database.reading() as session:
        assert not session.scalars(sa.select(Project).where(Project.key.startswith(HIDDEN_KEY))).all()
        assert session.scalar(sa.select(sa.func.count()).select_from(Run)) == 5
        assert session.scalar(sa.select(sa.func.count()).select_from(User).where(User.name == "Bo")) == 2
