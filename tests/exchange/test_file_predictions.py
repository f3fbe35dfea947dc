"""New recordings, pictures, texts and rows are assigned to the clusters of a run as its own items would be."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image
from sklearn.datasets import load_digits
from sqlalchemy import select, update

import tercet
from tercet.database import Database
from tercet.demo.birdsong import make_syllables
from tercet.exchange import file_predictions
from tercet.exchange.file_predictions import FOLDER, STAYS
from tercet.models import BackgroundJob, FeatureSet, Item, JobKind, Project, Role, now
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import add_member, make_project, make_token
from tests.intake.support import do_jobs
from tests.runs.support import compute

# What is stored is read by statements that other tests hold on both kinds of database.
pytestmark = pytest.mark.only_on("sqlite")

API = "/api/v1/projects/songs"
PREDICT = f"{API}/runs/latest/predict"


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    """An analyst's program in an empty project."""
    with database.transaction() as session:
        project = make_project(session, n_items=0, n_clusters=3, parameters={"n_init": 2, "random_state": 0})
        token = make_token(session, add_member(session, project, Role.ANALYST, "Ada"))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


def songs(folder: Path) -> list[Path]:
    for syllable in make_syllables(40, 0)[:40]:
        soundfile.write(folder / f"{syllable.key}.flac", syllable.samples, syllable.sample_rate)
    return sorted(folder.glob("*.flac"))


def digits(folder: Path) -> list[Path]:
    for number, row in enumerate(load_digits(n_class=3).data[:45]):
        Image.fromarray((row.reshape(8, 8) * 15).astype(np.uint8)).resize((32, 32)).save(folder / f"{number:02d}.png")
    return sorted(folder.glob("*.png"))


def texts(folder: Path) -> list[Path]:
    ends = {"bird": "sings at dawn in the wood", "rock": "lies heavy below the sediment", "ship": "sails over the sea"}
    for number, (noun, end) in enumerate(list(ends.items()) * 8):
        (folder / f"{number:02d}.txt").write_text(f"the {noun} number {number} {end}")
    return sorted(folder.glob("*.txt"))


def fit(client: TestClient, database: Database, settings: Settings, paths: list[Path]) -> dict[str, dict[str, Any]]:
    """Import files by REST, make features and fit; return what the run says of each item."""
    send(client, f"{API}/items", paths, 201)
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
    answer = client.put(f"{API}/feature-recipe", json={"groups": None})
    assert answer.status_code == 202, answer.text
    assert do_jobs(database, settings) == ["done"]
    assert compute(database, settings) == "done"
    assert project.key == "songs"
    return {row["item"]: row for row in client.get(f"{API}/runs/latest/items").json()["items"]}


def send(client: TestClient, url: str, paths: list[Path], status: int) -> dict[str, Any]:
    parts = [("media", (path.name, path.read_bytes())) for path in paths]
    answer = client.post(url, files=parts)
    assert answer.status_code == status, answer.text
    return answer.json()


def predicted(client: TestClient, database: Database, settings: Settings, paths: list[Path]) -> dict[str, Any]:
    """Have files predicted; return the answer."""
    begun = send(client, PREDICT, paths, 202)
    assert begun["status"] == "queued"
    assert do_jobs(database, settings) == ["done"]
    return client.get(f"{API}/predictions/{begun['id']}/items").json()


@pytest.mark.heavy(but="sqlite-songs")
@pytest.mark.parametrize("make", [songs, digits, texts])
def test_items_that_come_again_get_their_clusters(
    client: TestClient, database: Database, settings: Settings, storage: Storage, tmp_path: Path, make: Any
) -> None:
    """Each kind of item, under new names: over REST and by the model's file alike; nothing of them stays."""
    paths = make(tmp_path)
    stored = fit(client, database, settings, paths)
    (tmp_path / "new").mkdir()
    new = [path.rename(tmp_path / "new" / f"new {path.name}") for path in paths[5:12]]
    answer = predicted(client, database, settings, new)
    assert [row["item"] for row in answer["items"]] == [path.stem for path in new]
    assert [row["cluster"] for row in answer["items"]] == [stored[path.stem[4:]]["cluster"] for path in new]
    assert answer["faults"] == []
    with database.reading() as session:
        assert len(session.scalars(select(Item)).all()) == len(paths)
    folder = storage.names_in(FOLDER)[0]
    assert storage.names_in(f"{FOLDER}/{folder}/files") == []
    model = tercet.load_model(io.BytesIO(client.get(f"{API}/runs/latest/model").content))
    by_file = model.predict_files(tmp_path / "new")
    assert by_file.items == [path.stem for path in new]
    assert by_file.faults == []
    posterior = [row["posterior"] for row in answer["items"]]
    np.testing.assert_allclose(by_file.posterior, posterior, atol=1e-3)
    assert by_file.labels.tolist() == [row["cluster"] for row in answer["items"]]


def test_texts_and_rows_of_a_table_as_json(client: TestClient, database: Database, settings: Settings) -> None:
    rows = [{"key": f"r{n}", "metadata": {"hz": 100 * (n % 3) + n / 9, "site": "abc"[n % 3]}} for n in range(30)]
    client.post(f"{API}/items", json={"items": rows}).raise_for_status()
    client.put(f"{API}/feature-recipe", json={"groups": None}).raise_for_status()
    assert do_jobs(database, settings) == ["done"]
    assert compute(database, settings) == "done"
    stored = {row["item"]: row["cluster"] for row in client.get(f"{API}/runs/latest/items").json()["items"]}
    new = [{"key": "like r4", "metadata": rows[4]["metadata"]}, {"key": "bare", "text": "no columns"}]
    answer = client.post(PREDICT, json={"items": new})
    assert answer.status_code == 202
    assert do_jobs(database, settings) == ["done"]
    came = client.get(answer.headers["location"]).json()
    assert (came["status"], came["items"], came["faults_count"]) == ("done", 1, 1)
    assert came["faults"][0]["detail"] == "'bare' cannot be measured: it has none of the columns 'hz', 'site'"
    items = client.get(f"{answer.headers['location']}/items").json()["items"]
    assert [(row["item"], row["cluster"]) for row in items] == [("like r4", stored["r4"])]
    table = list(csv.DictReader(io.StringIO(client.get(f"{answer.headers['location']}/items?format=csv").text)))
    assert [(row["item"], row["cluster"]) for row in table] == [("like r4", str(stored["r4"]))]
    assert sum(float(table[0][f"cluster_{k}"]) for k in (1, 2, 3)) == pytest.approx(1, abs=1e-3)


def test_what_is_wrong_is_said_of_each_file(
    client: TestClient, database: Database, settings: Settings, tmp_path: Path
) -> None:
    paths = songs(tmp_path)
    fit(client, database, settings, paths)
    soundfile.write(tmp_path / "silence.wav", np.zeros(22_050), 22_050)
    soundfile.write(tmp_path / "long.flac", np.tile(soundfile.read(paths[0])[0], 300)[: 130 * 22_050], 22_050)
    (tmp_path / "cut.wav").write_bytes(b"RIFF\x00\x00\x00\x10WAVEfmt ")
    (tmp_path / "page.pdf").write_bytes(b"%PDF-1.4 and so on")
    names = ("silence.wav", "cut.wav", "page.pdf", "long.flac")
    begun = send(client, PREDICT, [paths[0], *(tmp_path / name for name in names)], 202)
    assert do_jobs(database, settings) == ["done"]
    faults = client.get(f"{API}/predictions/{begun['id']}").json()["faults"]
    assert {fault["file"] for fault in faults} == {"silence.wav", "cut.wav", "page.pdf"}
    assert "only silence" in next(fault["detail"] for fault in faults if fault["file"] == "silence.wav")
    items = client.get(f"{API}/predictions/{begun['id']}/items").json()["items"]
    remarks = {row["item"]: row.get("remark") for row in items}
    assert remarks[paths[0].stem] is None
    assert "longer than 120 seconds" in remarks["long"]


def test_predictions_are_forgotten(
    client: TestClient, database: Database, settings: Settings, storage: Storage, tmp_path: Path
) -> None:
    paths = texts(tmp_path)
    fit(client, database, settings, paths)
    first, second = (send(client, PREDICT, paths[:2], 202)["id"] for _ in range(2))
    assert client.get(f"{API}/predictions/{first}/items").status_code == 409
    assert client.delete(f"{API}/predictions/{first}").status_code == 204
    assert client.get(f"{API}/predictions/{first}").json()["status"] == "cancelled"
    assert do_jobs(database, settings) == ["done"]
    file_predictions.forget_old(database, storage)
    assert client.get(f"{API}/predictions/{second}").json()["items"] == 2
    with database.transaction() as session:
        long_ago = now() - 2 * STAYS
        session.execute(update(BackgroundJob).where(BackgroundJob.id == second).values(created_at=long_ago))
        folder = session.get_one(BackgroundJob, second).result["folder"]
    storage.filesystem.mv(
        f"{storage.root}/{folder}", f"{storage.root}/{FOLDER}/{int(long_ago.timestamp())}-old", recursive=True
    )
    file_predictions.forget_old(database, storage)
    assert client.get(f"{API}/predictions/{second}").status_code == 404
    assert storage.names_in(FOLDER) == []


def test_runs_that_new_items_cannot_be_measured_for(
    client: TestClient, database: Database, settings: Settings, tmp_path: Path
) -> None:
    paths = texts(tmp_path)
    fit(client, database, settings, paths)
    with database.transaction() as session:
        features = session.scalars(select(FeatureSet)).one()
        learned, features.learned = features.learned, None
    answer = client.post(PREDICT, files=[("media", ("a.txt", b"a bird"))])
    assert answer.status_code == 409
    assert "make them anew" in answer.json()["detail"]
    old = tercet.load_model(io.BytesIO(client.get(f"{API}/runs/latest/model").content))
    with pytest.raises(ValueError, match="holds no feature recipe"):
        old.predict_files(tmp_path)
    with database.transaction() as session:
        features = session.scalars(select(FeatureSet)).one()
        features.learned, features.recipe = learned, None
    answer = client.post(PREDICT, files=[("media", ("a.txt", b"a bird"))])
    assert answer.status_code == 409
    assert "were uploaded" in answer.json()["detail"]
    with database.reading() as session:
        assert session.scalars(select(BackgroundJob).where(BackgroundJob.kind == JobKind.PREDICT)).all() == []


def test_who_may_have_items_predicted(
    client: TestClient, database: Database, settings: Settings, tmp_path: Path
) -> None:
    paths = texts(tmp_path)
    fit(client, database, settings, paths)
    number = send(client, PREDICT, paths[:1], 202)["id"]
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        labeler = make_token(session, add_member(session, project, Role.LABELER, "Bo"))
        other = make_project(session, "others", n_items=3)
        stranger = make_token(session, add_member(session, other, Role.OWNER, "Cy"))
    for token, status in ((labeler, 403), (stranger, 404)):
        headers = {"Authorization": f"Bearer {token}"}
        assert client.post(PREDICT, files=[("media", ("a.txt", b"a bird"))], headers=headers).status_code == status
        assert client.get(f"{API}/predictions/{number}", headers=headers).status_code == status
    elsewhere = f"/api/v1/projects/others/predictions/{number}"
    assert client.get(elsewhere, headers={"Authorization": f"Bearer {stranger}"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"items": []}, "at least 1 item"),
        ({"items": [{"text": "no key"}]}, "Field required"),
        ({"items": 3}, "valid array"),
    ],
)
def test_bad_items(client: TestClient, body: dict[str, object], sentence: str) -> None:
    answer = client.post(PREDICT, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert sentence in answer.json()["errors"][0]["detail"]
