"""`tercet archive`, `tercet restore` and `tercet export` as a person types them."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tercet import migrate
from tercet.cli import cli
from tercet.database import Database
from tercet.errors import Conflict, Invalid, NotFound
from tercet.storage import Storage
from tests.archives.world import Place, fill
from tests.factories import make_user


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a project and the address of somebody."""
    for name in ("TERCET_DATABASE_URL", "TERCET_STORAGE_URL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    database = Database(f"sqlite:///{folder / 'tercet.db'}")
    migrate.upgrade(database)
    fill(Place(database, Storage(str(folder / "blobs"))))
    with database.transaction() as session:
        make_user(session, "Dee").email = "dee@example.org"
    database.close()
    return folder


def run(*arguments: object) -> bytes:
    """Run a command that succeeds and give what it prints; what a person did wrong is raised."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout_bytes


def test_there_and_back(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "songs.zip"
    assert "was written to" in run("archive", "songs", file, "--data", data).decode()
    assert [path.name for path in tmp_path.glob("songs*")] == ["songs.zip"]
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(archive.read("tercet.json"))
    assert (manifest["version"], manifest["rows"]["item"], manifest["rows"]["answer"]) == (1, 12, 6)
    restore = ["restore", file, "--owner", "dee@example.org", "--data", data]
    assert "dee@example.org owns it" in run(*restore, "--key", "again").decode()
    clusters = [run("export", key, "clusters", "--data", data) for key in ("songs", "again")]
    assert clusters[0] == clusters[1]
    with pytest.raises(Conflict, match="already a project"):
        run(*restore, "--key", "again")
    with pytest.raises(ValueError, match="key"):
        run(*restore, "--key", "No Key")
    with pytest.raises(NotFound, match="tercet user add"):
        run(*restore[:2], "--key", "third", "--owner", "who@example.org", "--data", data)
    with pytest.raises(NotFound, match="no project"):
        run("archive", "poems", tmp_path / "poems.zip", "--data", data)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(Invalid, match="nothing was stored"):
        run(*restore, "--key", "third")


def test_every_content(data: Path, tmp_path: Path) -> None:
    for what in ("raven", "audacity", "clips"):
        run("export", "songs", what, "--output", tmp_path / f"{what}.zip", "--data", data)
        assert zipfile.ZipFile(tmp_path / f"{what}.zip").testzip() is None
    with np.load(io.BytesIO(run("export", "songs", "features", "--data", data))) as arrays:
        assert arrays["X"].shape == (12, 3)
    with np.load(io.BytesIO(run("export", "songs", "posterior", "--format", "npz", "--data", data))) as arrays:
        assert arrays["posterior"].shape == (12, 3)
    assert run("export", "songs", "posterior", "--run", "1", "--data", data).startswith(b"item,cluster_1")
    with pytest.raises(Invalid, match="npz or csv"):
        run("export", "songs", "posterior", "--format", "json", "--data", data)
    assert run("export", "songs", "report", "--data", data).startswith(b"<!doctype html>")
    with pytest.raises(Conflict, match="left no model"):
        run("export", "songs", "model", "--data", data)
    assert len(run("export", "songs", "answers", "--format", "ndjson", "--data", data).splitlines()) == 6
