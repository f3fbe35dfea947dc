"""What is taken away, read back with the programs' own readers: tables, arrays, ZIPs, the model, predictions."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator

import numpy as np
import pytest
import soundfile
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

import tercet
from tercet.database import Database
from tercet.exchange import selections
from tercet.models import Answer, ClusterNote, FeatureSet, Item, Project, Role, Run, Triplet
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tests.archives.world import Place, fill
from tests.factories import add_member, make_token
from tests.runs.support import answer_truly, compute, make_songs, request

# Rows are read by the same statements on both kinds of database, which other tests hold.
pytestmark = pytest.mark.only_on("sqlite")

API = "/api/v1/projects/songs"
LATEST = f"{API}/runs/latest"


@pytest.fixture
def songs(app: FastAPI, database: Database, storage: Storage) -> Iterator[TestClient]:
    """A program of the analyst of twelve songs, which lie behind each other in two recordings."""
    project = fill(Place(database, storage))
    with database.transaction() as session:
        token = make_token(session, add_member(session, session.get_one(Project, project), Role.ANALYST))
        note = session.scalars(select(ClusterNote)).one()
        note.name = "thrush / =wren"
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


@pytest.fixture
def fitted(app: FastAPI, database: Database, storage: Storage, settings: Settings) -> Iterator[TestClient]:
    """A program of the analyst of sixty items with a run that a worker computed."""
    project_id = make_songs(database, storage, parameters={})
    answer_truly(database, project_id, 30)
    request(database, project_id, parameters={"n_init": 2, "transductive": False})
    assert compute(database, settings) == "done"
    with database.transaction() as session:
        project = session.get_one(Project, project_id)
        token = make_token(session, add_member(session, project, Role.ANALYST))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def arrays(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return dict(stored)


def raven_rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode()), delimiter="\t"))


def test_raven_tables(songs: TestClient) -> None:
    got = songs.get(f"{LATEST}/selections")
    assert got.headers["content-type"] == "application/zip"
    assert got.headers["content-disposition"] == 'attachment; filename="songs-run-2-raven.zip"'
    files = unzipped(got.content)
    assert sorted(files) == ["rec 0.Table.1.selections.txt", "rec 1.Table.1.selections.txt"]
    rows = raven_rows(files["rec 0.Table.1.selections.txt"])
    assert [row["Selection"] for row in rows] == [str(number) for number in range(1, 7)]
    assert [float(row["Begin Time (s)"]) for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [float(row["End Time (s)"]) for row in rows] == [0.3, 1.3, 2.3, 3.3, 4.3, 5.3]
    assert [row["Item"] for row in rows] == [f"song {number}" for number in range(0, 12, 2)]
    assert [row["Cluster"] for row in rows] == ["1", "3", "2", "1", "3", "2"]
    assert {row["Cluster name"] for row in rows} == {"", "thrush / =wren"}
    assert "Low Freq (Hz)" not in rows[0], "no item says its frequencies"


def test_whole_files_and_frequencies(songs: TestClient, database: Database, storage: Storage) -> None:
    """Clips without metadata are as long as their sound, one behind the other as Raven opens them."""
    with database.transaction() as session:
        items = session.scalars(select(Item).order_by(Item.position)).all()
        for item in items[:10]:
            item.details = {}
        for item in items[10:]:
            item.details = {**item.details, "low_hz": "1500", "high_hz": 4000, "recording": 'a "b"\tc/d'}
        lengths = [soundfile.info(io.BytesIO(storage.get(item.media or ""))).duration for item in items[:10]]
    files = unzipped(songs.get(f"{LATEST}/selections?format=raven").content)
    uncut = raven_rows(files["whole files.selections.txt"])
    np.testing.assert_allclose([float(row["End Time (s)"]) for row in uncut], np.cumsum(lengths), atol=1e-4)
    np.testing.assert_allclose([float(row["File Offset (s)"]) for row in uncut], 0)
    assert uncut[0]["Begin File"] == f"{uncut[0]['Item']}.wav", "Raven looks for the file under this name"
    parts = raven_rows(files["a _b__c_d.Table.1.selections.txt"])
    assert [(row["Low Freq (Hz)"], row["High Freq (Hz)"]) for row in parts] == [("1500.000", "4000.000")] * 2
    assert parts[0]["Begin File"] == "d"
    labels = unzipped(songs.get(f"{LATEST}/selections?format=audacity").content)
    assert len(labels) == 11
    assert labels["a _b__c_d.txt"].decode().splitlines() == [
        "5.000000\t5.300000\t2 thrush / =wren",
        "\\\t1500.000000\t4000.000000",
        "5.500000\t5.800000\t3",
        "\\\t1500.000000\t4000.000000",
    ]


@pytest.mark.parametrize(
    ("recording", "table", "file"),
    [
        ("creek.flac", "creek.Table.1.selections.txt", "creek.flac"),
        ("site 1/creek.MP3", "site 1_creek.Table.1.selections.txt", "creek.MP3"),
        ("tape 1.2", "tape 1.2.Table.1.selections.txt", "tape 1.2"),
    ],
)
def test_raven_finds_the_recording_of_segments(
    songs: TestClient, database: Database, recording: str, table: str, file: str
) -> None:
    """Its ending is known since the import; the table is called like the recording, as Raven calls it."""
    with database.transaction() as session:
        for item in session.scalars(select(Item)):
            item.details = {**item.details, "recording": recording}
    files = unzipped(songs.get(f"{LATEST}/selections?format=raven").content)
    assert list(files) == [table]
    assert {row["Begin File"] for row in raven_rows(files[table])} == {file}


def test_no_sounds(fitted: TestClient) -> None:
    answer = fitted.get(f"{LATEST}/selections")
    assert (answer.status_code, answer.json()["detail"]) == (409, selections.NO_SOUNDS)


def test_clips(songs: TestClient, database: Database, storage: Storage) -> None:
    with database.transaction() as session:
        item = session.scalars(select(Item).where(Item.position == 1)).one()
        item.key = "../../song/1.wav"
        session.scalars(select(Item).where(Item.position == 4)).one().media = None
    files = unzipped(songs.get(f"{LATEST}/clips").content)
    table = list(csv.DictReader(io.StringIO(files.pop("clusters.csv").decode())))
    assert len(table) == 12
    assert {name.partition("/")[0] for name in files} == {"01", "02 thrush _ =wren", "03"}
    assert {row["file"] for row in table} - {""} == set(files)
    assert [row["item"] for row in table if not row["file"]] == ["song 4"]
    assert "02 thrush _ =wren/_.._song_1.wav" in files
    with database.reading() as session:
        for row in table:
            if row["file"]:
                media = session.scalar(select(Item.media).where(Item.key == row["item"]))
                assert media
                assert files[row["file"]] == storage.get(media)
    of_first = [float(row["confidence"]) for row in table if row["cluster"] == "1"]
    assert of_first == sorted(of_first, reverse=True)


def test_posterior(songs: TestClient, database: Database, storage: Storage) -> None:
    with database.reading() as session:
        run = session.scalars(select(Run).where(Run.number == 1)).one()
    result = results.load(storage, run.result or "")
    matrix = arrays(songs.get(f"{LATEST}/posterior").content)
    np.testing.assert_array_equal(matrix["posterior"], result.posterior)
    assert matrix["keys"].tolist() == [f"song {number}" for number in range(12)]
    assert matrix["cluster_names"].tolist() == ["", "thrush / =wren", ""]
    rows = list(csv.reader(io.StringIO(songs.get(f"{LATEST}/posterior?format=csv").text)))
    assert rows[0] == ["item", "cluster_1", "cluster_2", "cluster_3"]
    np.testing.assert_allclose(np.array([row[1:] for row in rows[1:]], dtype=float), result.posterior, atol=1e-6)


def test_features_go_out_as_they_come_in(songs: TestClient) -> None:
    got = songs.get(f"{API}/features/1")
    assert arrays(got.content)["X"].tolist() == np.arange(36.0).reshape(12, 3).tolist()
    again = songs.put(f"{API}/features", content=got.content)
    assert (again.status_code, again.json()["version"]) == (200, 3)
    latest = songs.get(f"{API}/features/latest")
    assert arrays(latest.content)["X"].tolist() == arrays(got.content)["X"].tolist()
    for version in ("9", "newest", "-1", "9" * 40):
        assert songs.get(f"{API}/features/{version}").status_code == 404


def test_rows_as_arrays_and_parquet(songs: TestClient) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    plain = songs.get(f"{LATEST}/items").json()["items"]
    npz = arrays(songs.get(f"{LATEST}/items?format=npz").content)
    assert npz["keys"].tolist() == [row["item"] for row in plain]
    assert npz["clusters"].tolist() == [row["cluster"] for row in plain]
    got = songs.get(f"{LATEST}/items?format=parquet")
    assert got.headers["content-type"] == "application/vnd.apache.parquet"
    as_text = [row | {"tags": "; ".join(row["tags"])} for row in plain]
    assert parquet.read_table(io.BytesIO(got.content)).to_pylist() == as_text
    assert npz["tags"].tolist() == [row["tags"] for row in as_text]
    answers = [json.loads(line) for line in songs.get(f"{API}/constraints").text.splitlines()]
    table = parquet.read_table(io.BytesIO(songs.get(f"{API}/constraints?format=parquet").content)).to_pylist()
    assert [[row["anchor"], row["left"], row["right"]] for row in table] == [row["triplet"] for row in answers]
    assert [row["withdrawn_at"] is None for row in table] == [row["withdrawn_at"] is None for row in answers]
    npz = arrays(songs.get(f"{API}/constraints?format=npz").content)
    assert npz["keys"][npz["triplets"]].tolist() == [row["triplet"] for row in answers]
    assert npz["labeler_names"][npz["labelers"]].tolist() == [row["labeler"] for row in answers]
    assert npz["answers"].tolist() == [row["answer"] for row in answers]
    assert npz["counts"].tolist() == [True, False, True, False, True, True]


def test_parquet_without_pyarrow(songs: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tercet.web.parquet.find_spec", lambda name: None)
    answer = songs.get(f"{LATEST}/items?format=parquet")
    assert answer.status_code == 422
    assert "pip install 'tercet[parquet]'" in answer.json()["detail"]


def test_the_model_and_predictions_agree(fitted: TestClient) -> None:
    features = arrays(fitted.get(f"{API}/features/latest").content)["X"]
    stored = [row["cluster"] for row in fitted.get(f"{LATEST}/items").json()["items"]]
    model = tercet.load_model(io.BytesIO(fitted.get(f"{LATEST}/model").content))
    assert (model.about_["project"], model.about_["algorithm"]) == ("songs", "dcrc")
    assert model.predict(features).tolist() == stored
    answer = fitted.post(f"{LATEST}/predict", json={"features": features.tolist()})
    assert answer.status_code == 200, answer.text
    assert [row["cluster"] for row in answer.json()["items"]] == stored
    np.testing.assert_allclose(
        [row["posterior"] for row in answer.json()["items"]], model.predict_proba(features), atol=1e-4
    )
    buffer = io.BytesIO()
    np.savez(buffer, X=features[:2], keys=np.array(["new a", "new b"]))
    answer = fitted.post(
        f"{LATEST}/predict", content=buffer.getvalue(), headers={"Content-Type": "application/octet-stream"}
    )
    assert [row["item"] for row in answer.json()["items"]] == ["new a", "new b"]


def test_columns_in_another_order(fitted: TestClient, database: Database) -> None:
    with database.transaction() as session:
        session.scalars(select(FeatureSet)).one().feature_names = ["a", "b", "c", "d"]
    features = arrays(fitted.get(f"{API}/features/latest").content)["X"]
    stored = [row["cluster"] for row in fitted.get(f"{LATEST}/items").json()["items"]]
    turned = {"features": features[:, ::-1].tolist(), "feature_names": ["d", "c", "b", "a"]}
    assert [row["cluster"] for row in fitted.post(f"{LATEST}/predict", json=turned).json()["items"]] == stored
    lines = ["key,d,c,b,a", *(f"k{i},{','.join(map(repr, row[::-1].tolist()))}" for i, row in enumerate(features))]
    answer = fitted.post(f"{LATEST}/predict", content="\n".join(lines), headers={"Content-Type": "text/csv"})
    assert [row["cluster"] for row in answer.json()["items"]] == stored
    wrong = fitted.post(f"{LATEST}/predict", json={"features": [[1, 2, 3, 4]], "feature_names": ["a", "b", "c", "e"]})
    assert wrong.status_code == 422
    assert {(e["field"], e["detail"]) for e in wrong.json()["errors"]} == {
        ("d", "this column is missing"),
        ("e", "there is no such feature"),
    }


BAD_ROWS = [
    ({"features": [[1, 2, 3]]}, "3 numbers a row; run 1 takes 4"),
    ({"features": []}, "at least 1 item"),
    ({"features": [[1, 2, 3, 4], [1, 2]]}, "2 numbers, the first row has 4"),
    ({"features": [[1, 2, 3, "x"]]}, "valid number"),
    ({"features": [[1, 2, 3, 4]], "items": ["a", "b"]}, "2 names for 1 rows"),
    ({"features": [[1, 2, 3, 4]], "feature_names": ["a"]}, "1 names for 4 columns"),
    ({"rows": [[1]]}, "Field required"),
]


def test_rows_that_cannot_be_predicted(fitted: TestClient) -> None:
    for body, sentence in BAD_ROWS:
        answer = fitted.post(f"{LATEST}/predict", json=body)
        assert answer.status_code == 422, body
        assert sentence in " ".join(error["detail"] for error in answer.json()["errors"])


def test_rows_where_the_items_themselves_are_expected(fitted: TestClient, database: Database) -> None:
    answer = fitted.post(f"{LATEST}/predict", content=b"RIFF", headers={"Content-Type": "audio/wav"})
    assert answer.status_code == 415
    assert "send recordings, pictures, texts and tables as multipart/form-data" in answer.json()["detail"]
    with database.transaction() as session:
        session.scalars(select(FeatureSet)).one().extractor = "sounds"
    answer = fitted.post(f"{LATEST}/predict", json={"features": [[1]]})
    assert "are made of the items themselves" in answer.json()["errors"][0]["detail"]


def test_runs_without_a_model(songs: TestClient) -> None:
    for answer in (songs.get(f"{LATEST}/model"), songs.post(f"{LATEST}/predict", json={"features": [[1, 2, 3]]})):
        assert answer.status_code == 409
        assert "left no model" in answer.json()["detail"]


def test_the_page_says_how_much_each_holds(songs: TestClient, database: Database, storage: Storage) -> None:
    page = " ".join(songs.get("/projects/songs/export", headers={"Accept": "text/html"}).text.split())
    with database.reading() as session:
        media = [key for key in session.scalars(select(Item.media)) if key]
    kilobytes = max(sum(len(storage.get(key)) for key in media) / 1024, 1)
    assert f"the surest items first, about {kilobytes:,.0f} kB." in page
    assert "12 rows, one for each item" in page
    assert "with the cluster of every part of it: 12 rows." in page


@pytest.mark.heavy
def test_deleted_items_are_in_nothing_that_goes_out(fitted: TestClient, database: Database, settings: Settings) -> None:
    """Features without them can be uploaded again, and the report counts those that are left."""
    with database.reading() as session:
        asked = session.scalars(select(Triplet).join(Answer, Answer.triplet_id == Triplet.id)).all()
        busy = {number for row in asked for number in (row.anchor_id, row.left_id, row.right_id)}
        free = session.scalars(select(Item).where(Item.id.not_in(busy)).order_by(Item.position)).first()
        assert free is not None, "thirty answers are about some of the sixty items"
        project_id, key = free.project_id, free.key
    assert fitted.delete(f"{API}/items/{key}").json() == {"key": key, "set_aside": False}
    request(database, project_id, parameters={"n_init": 2})
    assert compute(database, settings) == "done"
    features = fitted.get(f"{API}/features/latest")
    posterior = arrays(fitted.get(f"{LATEST}/posterior").content)
    for table in (arrays(features.content), posterior):
        assert len(table["keys"]) == 59
        assert set(table["keys"]) == {row["item"] for row in csv.DictReader(io.StringIO(cluster_table(fitted)))}
    np.testing.assert_allclose(posterior["posterior"].sum(axis=1), 1, atol=1e-5)
    assert fitted.put(f"{API}/features", content=features.content).status_code == 200
    report = fitted.get(f"{LATEST}/report").text
    assert report.count("<circle") == 59
    assert "<dt>Items</dt>\n<dd><strong>59</strong>" in report


def cluster_table(client: TestClient) -> str:
    return client.get(f"{LATEST}/items?format=csv").text
