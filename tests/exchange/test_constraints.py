"""Constraints in and out over HTTP, on both databases."""

import csv
import io
import json
import random
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.exchange import service
from tercet.models import Answer, Item, Membership, Project, Role, Run, Triplet, User
from tercet.storage import Storage
from tests.exchange.conftest import NDJSON, URL, keys
from tests.factories import add_features, add_member, make_token, row_counts

ROWS: list[dict[str, Any]] = [
    {"triplet": keys(0, 1, 2), "answer": "yes", "labeler": "Bo", "response_ms": 900},
    {"triplet": keys(0, 2, 1), "answer": "yes", "labeler": "Cy"},
    {"triplet": keys(3, 5, 4), "answer": "dnk"},
]
# Stored with left before right, the answer turned round to match.
STORED = [
    ("item-0", "item-1", "item-2", "yes", "Bo"),
    ("item-0", "item-1", "item-2", "no", "Cy"),
    ("item-3", "item-4", "item-5", "dnk", "Ada"),
]


def ndjson(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["anchor", "left", "right", "answer", "labeler", "response_ms"])
    for row in rows:
        writer.writerow([*row["triplet"], row["answer"], row.get("labeler", ""), row.get("response_ms", "")])
    return out.getvalue()


def exported(client: TestClient, **parameters: Any) -> list[tuple[str, ...]]:
    lines = client.get(URL, params={"names": True, **parameters}).text.splitlines()
    return [(*row["triplet"], row["answer"], row["labeler"]) for row in map(json.loads, lines)]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-ndjson", "\n" + ndjson(ROWS) + " \n"),
        ("application/x-ndjson; charset=utf-8", ndjson(ROWS).rstrip()),
        ("text/csv", as_csv(ROWS)),
        ("text/csv", "\ufeff" + as_csv(ROWS)),
        ("application/json", json.dumps(ROWS)),
        ("application/json", " [ " + " , ".join(json.dumps(row, indent=3) for row in ROWS) + " ] \n"),
    ],
)
def test_every_format_goes_in(client: TestClient, database: Database, content_type: str, body: str) -> None:
    answer = client.post(URL, content=body.encode(), headers={"Content-Type": content_type})
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"rows": 3, "stored": 3, "repeated": 0}
    assert exported(client) == STORED
    with database.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Triplet)) == 2
        members = session.execute(sa.select(Membership.participant, Membership.role).order_by(Membership.id)).all()
        assert members[1:] == [("Bo", Role.LABELER), ("Cy", Role.LABELER)]
        assert session.scalar(sa.select(Project.answer_number)) == 3


def test_the_same_file_again_stores_nothing_twice(client: TestClient, database: Database) -> None:
    rows = [*ROWS, ROWS[0]]
    first = client.post(URL, content=ndjson(rows), headers=NDJSON)
    assert first.json() == {"rows": 4, "stored": 4, "repeated": 0}, "the same answer twice in a file is two answers"
    before = row_counts(database)
    again = client.post(URL, content=ndjson(rows), headers=NDJSON)
    assert (again.status_code, again.json()) == (201, {"rows": 4, "stored": 0, "repeated": 4})
    grown = client.post(URL, content=ndjson([*rows, ROWS[2]]), headers=NDJSON)
    assert grown.json() == {"rows": 5, "stored": 1, "repeated": 4}
    assert row_counts(database) == {**before, "answer": before["answer"] + 1}


def test_the_same_file_from_somebody_else_is_their_answers(
    client: TestClient, app: FastAPI, database: Database
) -> None:
    assert client.post(URL, content=ndjson(ROWS), headers=NDJSON).json()["stored"] == 3
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        token = make_token(session, add_member(session, project, Role.ANALYST, "Eve"))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as other_client:
        answer = other_client.post(URL, content=ndjson(ROWS), headers=NDJSON)
    assert (answer.status_code, answer.json()) == (201, {"rows": 3, "stored": 1, "repeated": 2}), answer.text
    assert exported(client) == [*STORED, (*STORED[2][:4], "Eve")], "rows that name their labelers are the same answers"


@pytest.mark.parametrize("form", ["ndjson", "csv", "json"])
def test_what_comes_out_can_go_in_again(client: TestClient, database: Database, form: str) -> None:
    client.post(URL, content=ndjson(ROWS), headers=NDJSON)
    out = client.get(URL, params={"format": form})
    assert f'filename="songs-answers.{form}"' in out.headers["content-disposition"]
    kind = out.headers["content-type"]
    assert client.get(URL, headers={"Accept": kind}).text == out.text
    before = row_counts(database)
    again = client.post(URL, content=out.content, headers={"Content-Type": kind})
    assert (again.status_code, again.json()) == (201, {"rows": 3, "stored": 0, "repeated": 3}), again.text
    assert row_counts(database) == before
    with database.transaction() as session:
        session.execute(sa.delete(Answer))
    restored = client.post(URL, content=out.content, headers={"Content-Type": kind})
    assert restored.json()["stored"] == 3
    assert sorted(exported(client)) == sorted(STORED)


def test_export_goes_on_behind_a_number_and_can_leave_out_withdrawn(client: TestClient, database: Database) -> None:
    client.post(URL, content=ndjson(ROWS), headers=NDJSON)
    withdrawn = json.loads(client.get(URL).text.splitlines()[1])
    assert withdrawn["number"] == 2
    client.delete(f"/api/v1/projects/songs/answers/{withdrawn['id']}")
    assert exported(client, after=1) == STORED[1:]
    assert exported(client, withdrawn=False) == [STORED[0], STORED[2]]
    line = client.get(URL, params={"after": 1}).text.splitlines()[0]
    assert json.loads(line)["withdrawn_at"] is not None
    refused = client.post(URL, content=line, headers=NDJSON)
    assert refused.status_code == 422
    assert "withdrawn=false" in refused.json()["errors"][0]["detail"]


@pytest.mark.parametrize(("form", "expected"), [("ndjson", ""), ("json", "[]\n")])
def test_an_empty_export(client: TestClient, form: str, expected: str) -> None:
    assert client.get(URL, params={"format": form}).text == expected
    assert client.get(URL, params={"format": "csv"}).text.startswith("id,number,anchor,left,right,answer,labeler,")


def test_cells_of_csv_are_no_formulas_and_come_back_whole(client: TestClient, database: Database) -> None:
    hostile = ["=1+1", "+x", "-x", "@x", "'=x", "''@y"]
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        session.add_all(Item(project_id=project.id, key=key, position=10 + i) for i, key in enumerate(hostile))
    rows = [
        {"triplet": hostile[:3], "answer": "yes", "labeler": "=cmd|' /C calc'!A0"},
        {"triplet": hostile[3:], "answer": "no", "labeler": 'Bo, "the" first'},
    ]
    assert client.post(URL, content=ndjson(rows), headers=NDJSON).status_code == 201
    text = client.get(URL, params={"format": "csv"}).text
    cells = [cell for row in list(csv.reader(io.StringIO(text)))[1:] for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    again = client.post(URL, content=text.encode(), headers={"Content-Type": "text/csv"})
    assert again.json() == {"rows": 2, "stored": 0, "repeated": 2}, again.text
    assert exported(client)[0][:3] == tuple(hostile[:3])


def test_own_ids_are_kept_and_repeats_counted(client: TestClient) -> None:
    answer_id = str(uuid.uuid4())
    row = {**ROWS[0], "id": answer_id}
    turned = {"triplet": keys(0, 2, 1), "answer": "no", "labeler": "Bo", "id": answer_id.upper()}
    answer = client.post(URL, content=ndjson([row, row, turned]), headers=NDJSON)
    assert answer.json() == {"rows": 3, "stored": 1, "repeated": 2}, answer.text
    assert json.loads(client.get(URL).text)["id"] == answer_id


def test_the_other_question(client: TestClient, database: Database) -> None:
    with database.transaction() as session:
        session.execute(sa.update(Project).values(question_kind="outlier"))
    rows = [{"triplet": keys(2, 0, 1), "answer": "1"}, {"triplet": keys(1, 3, 2), "answer": "dnk"}]
    assert client.post(URL, content=ndjson(rows), headers=NDJSON).status_code == 201
    assert [row[:4] for row in exported(client)] == [(*keys(0, 1, 2), "3"), (*keys(1, 2, 3), "dnk")]
    refused = client.post(URL, content=ndjson(ROWS), headers=NDJSON)
    assert "expected one of 1, 2, 3, dnk" in refused.json()["errors"][0]["detail"]


def test_many_rows_queue_one_run(client: TestClient, database: Database, storage: Storage) -> None:
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        add_features(session, storage, project, np.arange(12.0).reshape(6, 2))
    chance = random.Random(0)
    rows = [{"triplet": keys(*chance.sample(range(6), 3)), "answer": "yes"} for _ in range(2 * service.BATCH + 1)]
    answer = client.post(URL, content=ndjson(rows), headers=NDJSON)
    assert answer.json()["stored"] == len(rows)
    with database.reading() as session:
        assert [run.status for run in session.scalars(sa.select(Run))] == ["queued"]
        numbers = session.scalars(sa.select(Answer.number).order_by(Answer.number)).all()
        assert numbers == list(range(1, len(rows) + 1))
        assert session.scalar(sa.select(Project.answer_number)) == len(rows)


KILLED = 9
RECEIVE_UNTIL_KILLED = f"""
import os, pathlib, sys
from sqlalchemy import event
from tercet.database import Database
from tercet.exchange.service import Upload, receive

url, path, project_id, sender_id, commits = sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:])
database, seen = Database(url), []

def kill_before_the_last(connection):
    seen.append(connection)
    if len(seen) > commits:
        os._exit({KILLED})

event.listen(database.engine, "commit", kill_before_the_last)
receive(database, Upload(path, "application/x-ndjson", project_id, sender_id))
"""


@pytest.mark.heavy(but="sqlite")
def test_rows_of_an_upload_that_was_killed_stay_and_the_rest_is_stored_when_it_is_sent_again(
    client: TestClient, database: Database, database_url: str, tmp_path: Path
) -> None:
    chance = random.Random(2)
    rows = [{"triplet": keys(*chance.sample(range(6), 3)), "answer": "yes"} for _ in range(2 * service.BATCH + 7)]
    path = tmp_path / "rows.ndjson"
    path.write_text(ndjson(rows))
    with database.reading() as session:
        project_id, sender_id = session.execute(sa.select(Membership.project_id, Membership.user_id)).one()
    # One commit is that of the labelers, so that the second batch is not committed any more.
    arguments = [database_url, str(path), str(project_id), str(sender_id), "2"]
    killed = subprocess.run([sys.executable, "-c", RECEIVE_UNTIL_KILLED, *arguments], check=False)
    assert killed.returncode == KILLED
    with database.reading() as session:
        numbers = sa.select(Answer.number).order_by(Answer.number)
        assert session.scalars(numbers).all() == list(range(1, service.BATCH + 1))
        assert session.scalar(sa.select(Project.answer_number)) == service.BATCH
    again = client.post(URL, content=ndjson(rows), headers=NDJSON)
    assert again.json() == {"rows": len(rows), "stored": len(rows) - service.BATCH, "repeated": service.BATCH}
    with database.reading() as session:
        assert session.scalars(numbers).all() == list(range(1, len(rows) + 1))


@pytest.mark.heavy(but="sqlite")
def test_readme_and_the_api_page_say_how_many_rows_are_stored_at_a_time(app: FastAPI) -> None:
    sentence = f"stored {service.BATCH} at a time, so that labelers need not wait"
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    page = app.openapi()["paths"]["/api/v1/projects/{project}/constraints"]["post"]["description"]
    assert sentence in " ".join(readme.split())
    assert sentence in " ".join(page.split())


def test_labelers_answer_while_rows_come_in(client: TestClient, database: Database) -> None:
    chance = random.Random(1)
    rows = [{"triplet": keys(*chance.sample(range(6), 3)), "answer": "no"} for _ in range(5 * service.BATCH)]
    done = threading.Event()
    uploaded: list[int] = []

    def upload() -> None:
        uploaded.append(client.post(URL, content=ndjson(rows), headers=NDJSON).status_code)
        done.set()

    thread = threading.Thread(target=upload)
    thread.start()
    answered = 0
    while not done.is_set():
        row = {"id": str(uuid.uuid4()), "triplet": keys(0, 1, 2), "answer": "yes"}
        assert client.post("/api/v1/projects/songs/answers", json=row).status_code == 201
        answered += 1
    thread.join()
    assert uploaded == [201]
    with database.reading() as session:
        of_ada = Answer.labeler_id == sa.select(User.id).where(User.name == "Ada").scalar_subquery()
        assert session.scalar(sa.select(sa.func.count()).where(of_ada)) == answered + len(rows)
        last = session.scalar(sa.select(sa.func.max(Answer.number)))
        assert last == answered + len(rows) == session.scalar(sa.select(Project.answer_number))


@pytest.mark.parametrize("change", [{"answer": "no"}, {"triplet": keys(0, 1, 3)}, {"labeler": "Cy"}, {"labeler": None}])
def test_an_id_taken_by_another_answer(client: TestClient, database: Database, change: dict[str, Any]) -> None:
    taken = str(uuid.uuid4())
    assert client.post(URL, content=json.dumps({**ROWS[0], "id": taken}), headers=NDJSON).status_code == 201
    before = row_counts(database)
    rows = [{**ROWS[0], "id": str(uuid.uuid4())}, {**ROWS[0], "id": taken, **change}]
    answer = client.post(URL, content="\n".join(map(json.dumps, rows)), headers=NDJSON)
    assert answer.status_code == 409, answer.text
    [error] = answer.json()["errors"]
    assert (error["row"], error["field"]) == (2, "id")
    assert row_counts(database) == before
