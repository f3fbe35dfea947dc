"""Files of Salmon and cblearn: read as those programs write them, and written so that they read them."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.database import Database
from tercet.exchange import foreign
from tercet.models import Membership, Project, Role
from tests.exchange.conftest import NDJSON, URL, keys
from tests.factories import make_project, row_counts

CSV = {"Content-Type": "text/csv"}
NPZ = {"Content-Type": "application/x-npz"}
# As Salmon writes it: what was answered, then what was shown, the file names, and when.
SALMON = """\
head,left,right,winner,sampler,score,puid,response_time,network_latency,loser,left_html,right_html,head_html,\
winner_html,loser_html,left_filename,right_filename,head_filename,winner_filename,loser_filename,\
time_received_since_start,datetime_received,start_time
0,1,2,1,Random,0.0,A1B2,1.83,0.02,2,{1},{2},{0},{1},{2},{1},{2},{0},{1},{2},12.5,2021-03-04T10:00:00,1614852000.0
3,5,4,4,ARR,0.7,,-1.0,0.02,5,{5},{4},{3},{4},{5},{5},{4},{3},{4},{5},13.5,2021-03-04T10:00:01,1614852000.0
"""
OLD_SALMON = "head,left,right,winner,response_time,puid\n0,1,2,1,1.83,A1B2\n3,5,4,4,-1,\n"


def salmon(names: list[str]) -> str:
    return SALMON.format(*names)


def exported(client: TestClient, url: str = URL) -> list[tuple[Any, ...]]:
    lines = map(json.loads, client.get(url, params={"names": True}).text.splitlines())
    return [(*row["triplet"], row["answer"], row["labeler"], row["response_ms"]) for row in lines]


STORED = [
    ("item-0", "item-1", "item-2", "yes", "A1B2", 1830),
    ("item-3", "item-4", "item-5", "yes", "Ada", None),
]


@pytest.mark.parametrize(
    "body",
    [
        salmon([f"target {n}" for n in range(6)]),
        salmon([f"<img src='/static/targets/item-{n}.png' />" for n in range(6)]),
        OLD_SALMON,
        "head,winner,loser,puid,response_time\n0,1,2,A1B2,1.83\n3,4,5,,\n",
        "head,winner,loser,puid,response_time\nitem-0,item-1,item-2,A1B2,1.83\nitem-3,item-4,item-5,,nan\n",
    ],
    ids=["positions", "pictures", "without loser", "three columns", "keys"],
)
def test_salmons_answers_come_in(client: TestClient, body: str) -> None:
    sent = client.post(URL, content=body, headers=CSV)
    assert sent.status_code == 201, sent.text
    assert sent.json() == {"rows": 2, "stored": 2, "repeated": 0}
    assert exported(client) == STORED
    assert client.post(URL, content=body, headers=CSV).json()["repeated"] == 2


def test_what_was_shown_names_items_better_than_positions(client: TestClient) -> None:
    shuffled = salmon([f"<img src='/static/targets/item-{5 - n}.png' />" for n in range(6)])
    client.post(URL, content=shuffled, headers=CSV)
    assert [row[:3] for row in exported(client)] == [("item-5", "item-3", "item-4"), ("item-2", "item-0", "item-1")]


def assert_refused(
    client: TestClient, database: Database, headers: dict[str, str], body: str | bytes, field: str, words: str
) -> None:
    before = row_counts(database)
    refused = client.post(URL, content=body, headers=headers)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == field
    assert words in refused.json()["errors"][0]["detail"]
    assert row_counts(database) == before


@pytest.mark.only_on("sqlite")  # what is wrong is seen before the database is asked
@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ("head,winner,loser\n0,1,6\n", "triplet", "no item '6'"),
        ("head,winner,loser\n0,1,1\n", "triplet", "named twice"),
        ("head,winner,loser\n0,1\n", "row", "2 cells where the header names 3"),
        ("head,left,right,winner\n0,1,2,3\n", "winner", "'3' is neither left nor right"),
        ("head,winner\n0,1\n", "anchor", "anchor"),
    ],
)
def test_wrong_rows_of_salmon_are_named(
    client: TestClient, database: Database, body: str, field: str, words: str
) -> None:
    assert_refused(client, database, CSV, body, field, words)


def packed(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zipped(content: bytes) -> bytes:
    """A ZIP of one file that is called like an array; what is packed begins at byte 42."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("triplets.npy", content)
    return file.getvalue()


TORN = zipped(bytes(range(256)))
ORDERED = np.array([[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(
    "arrays",
    [
        {"triplets": ORDERED},
        {"triplets": ORDERED[:, [0, 2, 1]], "responses": [False, False]},
        {"triplets": ORDERED, "response": np.array([True, True])},
        {"data": ORDERED.astype(np.int32), "y": np.array([1.0, 1.0])},
        {"triplets": 5 - ORDERED, "items": keys(5, 4, 3, 2, 1, 0)},
    ],
    ids=["list-order", "list-boolean turned", "list-boolean", "list-count", "names"],
)
def test_arrays_of_cblearn_come_in(client: TestClient, arrays: dict[str, Any]) -> None:
    sent = client.post(URL, content=packed(**arrays), headers=NPZ)
    assert sent.status_code == 201, sent.text
    assert [row[:4] for row in exported(client)] == [row[:4] for row in STORED]


def test_arrays_may_say_who_answered_and_dont_know(client: TestClient) -> None:
    body = packed(triplets=ORDERED, responses=[0, -1], labelers=[7, 8])
    assert client.post(URL, content=body, headers=NPZ).status_code == 201
    assert [row[3:5] for row in exported(client)] == [("dnk", "7"), ("no", "8")]


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        (b"no zip", "body", "is no .npz of plain arrays"),
        (zipped(b"\x93NUMPY\x01\0\x06\0\0\0\0'''"), "body", "is no .npz of plain arrays"),
        (TORN[:42] + b"\x05" * 20 + TORN[62:], "body", "is no .npz of plain arrays"),
        (packed(triplets=ORDERED.astype(float)), "triplets", "triplets (2, 3)"),
        (packed(answers=ORDERED), "triplets", "an array 'triplets' of whole numbers"),
        (packed(triplets=ORDERED + 1), "triplets", "6 is no position of an item: there are 0 to 5"),
        (packed(triplets=ORDERED, responses=[1, 2]), "responses", "2 is no response"),
        (packed(triplets=ORDERED, responses=[1.0, np.nan]), "responses", "nan is no response"),
        (packed(triplets=ORDERED, responses=[1]), "responses", "has shape (1,)"),
        (packed(triplets=ORDERED, responses=["yes", "no"]), "responses", "True and False, or 1, -1 and 0"),
        (packed(triplets=np.array([[0, 1, None]], dtype=object)), "body", "is no .npz of plain arrays"),
    ],
)
def test_wrong_arrays_are_named(client: TestClient, database: Database, body: bytes, field: str, words: str) -> None:
    assert_refused(client, database, NPZ, body, field, words)


def test_arrays_that_unpack_to_too_much_are_not_unpacked(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "MOST_UNPACKED", 1000)
    file = io.BytesIO()
    np.savez_compressed(file, triplets=np.zeros((10_000, 3), dtype=np.int64))
    refused = client.post(URL, content=file.getvalue(), headers=NPZ)
    assert refused.status_code == 422
    assert "at most 1000 are read" in refused.json()["detail"]


@pytest.fixture
def answered(client: TestClient) -> TestClient:
    rows: list[dict[str, Any]] = [
        {"triplet": keys(0, 1, 2), "answer": "yes", "labeler": "=Bo", "response_ms": 900},
        {"triplet": keys(3, 4, 5), "answer": "no", "labeler": "Cy"},
        {"triplet": keys(1, 2, 3), "answer": "dnk"},
    ]
    body = "".join(json.dumps(row) + "\n" for row in rows)
    assert client.post(URL, content=body, headers=NDJSON).status_code == 201
    return client


def test_answers_go_out_as_salmon_writes_them(answered: TestClient) -> None:
    sent = answered.get(URL, params={"format": "salmon", "names": True})
    assert sent.headers["content-disposition"] == 'attachment; filename="songs-answers-with-names.csv"'
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    assert [[row[name] for name in ("head", "winner", "loser")] for row in rows] == [["0", "1", "2"], ["3", "5", "4"]]
    assert [(row["puid"], row["response_time"], row["winner_html"]) for row in rows] == [
        ("'=Bo", "0.9", "item-1"),
        ("Cy", "-1", "item-5"),
    ]
    assert all(row["winner"] in (row["left"], row["right"]) for row in rows)


def test_answers_go_out_as_cblearn_takes_them(answered: TestClient) -> None:
    sent = answered.get(URL, params={"format": "cblearn", "names": True})
    assert sent.headers["content-disposition"] == 'attachment; filename="songs-answers-with-names.npz"'
    with np.load(io.BytesIO(sent.content), allow_pickle=False) as arrays:
        assert arrays["triplets"].tolist() == [[0, 1, 2], [3, 5, 4]]
        assert arrays["responses"].tolist() == [True, True]
        assert arrays["items"].tolist() == keys(0, 1, 2, 3, 4, 5)
        assert arrays["labelers"].tolist() == ["=Bo", "Cy"]


@pytest.mark.parametrize(("form", "headers"), [("salmon", CSV), ("cblearn", NPZ)])
def test_what_goes_out_comes_into_another_project(
    answered: TestClient, database: Database, form: str, headers: dict[str, str]
) -> None:
    with database.transaction() as session:
        second_project = make_project(session, "again", n_items=6)
        analyst = session.scalars(select(Membership.user_id).where(Membership.role == Role.ANALYST)).one()
        session.add(Membership(project_id=second_project.id, user_id=analyst, role=Role.ANALYST))
    again = URL.replace("songs", "again")
    body = answered.get(URL, params={"format": form, "names": True}).content
    assert answered.post(again, content=body, headers=headers).json()["stored"] == 2
    assert [row[:5] for row in exported(answered, again)] == [row[:5] for row in exported(answered) if row[3] != "dnk"]


def test_outlier_answers_have_no_such_form(client: TestClient, database: Database) -> None:
    with database.transaction() as session:
        session.execute(update(Project).values(question_kind="outlier"))
    for form in ("salmon", "cblearn"):
        refused = client.get(URL, params={"format": form})
        assert refused.status_code == 422
        assert "export csv or ndjson" in refused.json()["errors"][0]["detail"]


@pytest.mark.heavy
@pytest.mark.only_on("sqlite")
def test_the_command_writes_both(answered: TestClient, settings: Any, tmp_path: Any) -> None:
    for what in ("salmon", "cblearn"):
        command = [sys.executable, "-m", "tercet.cli", "export", "songs", what, "--data", str(settings.data)]
        output = tmp_path / what
        environment = {"TERCET_DATABASE_URL": settings.resolved_database_url()}
        done = subprocess.run([*command, "--output", str(output)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert output.read_bytes() == answered.get(URL, params={"format": what}).content
