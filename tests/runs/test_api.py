"""Runs, clusters, exports and the map over HTTP, on both databases."""

import csv
import io
import json
import threading
import time

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from tercet.database import Database
from tercet.models import ClusterNote, Event, Item, Membership, Project, Role, Run
from tercet.runs import lifecycle, results
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.job import run_job
from tests.factories import add_member, make_project, make_token
from tests.runs.support import answer_truly, get_run, make_songs, place, request, request_and_claim

API = "/api/v1/projects/songs"


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    return make_songs(database, storage)


@pytest.fixture
def client(app: FastAPI, database: Database, project: int) -> TestClient:
    """An analyst's program."""
    with database.transaction() as session:
        analyst = add_member(session, session.get_one(Project, project), Role.ANALYST)
        token = make_token(session, analyst)
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


@pytest.fixture
def done(client: TestClient, database: Database, settings: Settings, project: int) -> int:
    """A run that is done; gives its id."""
    answer_truly(database, project, 40)
    run_id = request(database, project)
    assert lifecycle.claim_next(database, 15) is not None
    assert run_job(place(settings), run_id) == "done"
    return run_id


def counts(database: Database) -> dict[str, int | None]:
    with database.reading() as session:
        tables = (Run, Event, ClusterNote)
        return {table.__name__: session.scalar(select(func.count()).select_from(table)) for table in tables}


def test_a_run_is_queued_listed_and_cancelled(client: TestClient) -> None:
    queued = client.post(f"{API}/runs", json={"parameters": {"n_clusters": 4}})
    assert queued.status_code == 202
    assert (queued.json()["number"], queued.json()["status"], queued.json()["reason"]) == (1, "queued", "request")
    assert [run["number"] for run in client.get(f"{API}/runs").json()["runs"]] == [1]
    assert client.get(f"{API}/runs/1").json() == queued.json()
    cancelled = client.post(f"{API}/runs/1/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    again = client.post(f"{API}/runs/1/cancel")
    assert (again.status_code, again.json()["detail"]) == (
        409,
        "Run 1 cannot be cancelled any more: it is cancelled.",
    )


def test_a_program_waits_for_the_end_of_a_run(client: TestClient) -> None:
    address = client.post(f"{API}/runs", json={}).headers["location"]
    assert client.get(address, params={"wait": 1}).json()["status"] == "queued", "a second has passed"
    later = threading.Timer(0.3, lambda: client.post(f"{address}/cancel"))
    later.start()
    begun = time.monotonic()
    assert client.get(address, params={"wait": 30}).json()["status"] == "cancelled"
    assert time.monotonic() - begun < 25
    later.join()
    assert client.get(address, params={"wait": 31}).status_code == 422


def test_a_running_run_is_asked_to_stop(client: TestClient, database: Database, project: int) -> None:
    run_id = request_and_claim(database, project)
    run = lifecycle.begin_task(database, run_id, 15)
    assert run is not None
    assert client.post(f"{API}/runs/1/cancel").json()["status"] == "running"
    assert not lifecycle.renew(database, run_id, run.token, 15)
    assert lifecycle.end_from_task(database, run, "cancelled")
    assert client.get(f"{API}/runs/1").json()["status"] == "cancelled"


def test_a_cancelled_run_whose_worker_died_ends_with_its_lease(
    client: TestClient, database: Database, project: int
) -> None:
    run_id = request_and_claim(database, project)
    client.post(f"{API}/runs/1/cancel")
    lifecycle.release(database, run_id)
    assert lifecycle.claim_next(database, 15) is None
    assert client.get(f"{API}/runs/1").json()["status"] == "cancelled"


def test_runs_come_in_pages(client: TestClient, database: Database, project: int) -> None:
    with database.transaction() as session:
        values = {"project_id": project, "algorithm": "dcrc", "status": "failed", "due_at": func.now()}
        session.add_all(Run(number=number, **values) for number in range(1, 6))
    first = client.get(f"{API}/runs?limit=3").json()
    assert [run["number"] for run in first["runs"]] == [5, 4, 3]
    second = client.get(f"{API}/runs?limit=3&after={first['next']}").json()
    assert ([run["number"] for run in second["runs"]], second["next"]) == ([2, 1], None)


def test_clusters_show_their_items(client: TestClient, done: int) -> None:
    body = client.get(f"{API}/runs/latest/clusters").json()
    assert [cluster["cluster"] for cluster in body["clusters"]] == [1, 2, 3]
    assert sum(cluster["size"] for cluster in body["clusters"]) == 60
    for cluster in body["clusters"]:
        assert len(cluster["exemplars"]) == len(cluster["uncertain"]) == 6
        sure = [item["confidence"] for item in cluster["exemplars"]]
        unsure = [item["confidence"] for item in cluster["uncertain"]]
        assert min(sure) >= max(unsure)
        assert unsure == sorted(unsure)


def test_a_name_holds_from_its_run_on(client: TestClient, done: int, database: Database, project: int) -> None:
    named = client.put(f"{API}/runs/1/clusters/2", json={"name": "Thrush", "note": "two songs"})
    assert named.json() == {"cluster": 2, "name": "Thrush", "note": "two songs"}
    client.put(f"{API}/runs/1/clusters/2", json={"name": "Swainson's thrush"})
    names = [cluster["name"] for cluster in client.get(f"{API}/runs/1/clusters").json()["clusters"]]
    assert names == ["", "Swainson's thrush", ""]
    with database.transaction() as session:
        first = session.get_one(Run, done)
        copied = {name: getattr(first, name) for name in ("project_id", "algorithm", "status", "due_at", "result")}
        session.add(Run(number=2, **copied))
    names = [cluster["name"] for cluster in client.get(f"{API}/runs/2/clusters").json()["clusters"]]
    assert names == ["", "Swainson's thrush", ""]
    client.put(f"{API}/runs/2/clusters/2", json={"name": "Veery"})
    assert client.get(f"{API}/runs/1/clusters").json()["clusters"][1]["name"] == "Swainson's thrush"
    assert client.get(f"{API}/runs/2/clusters").json()["clusters"][1]["name"] == "Veery"


def test_items_are_exported_in_three_forms(client: TestClient, done: int) -> None:
    listed = client.get(f"{API}/runs/1/items").json()
    assert listed["run"] == 1
    rows = listed["items"]
    assert [row["item"] for row in rows] == [f"item-{i}" for i in range(60)]
    ndjson = client.get(f"{API}/runs/1/items?format=ndjson")
    assert [json.loads(line) for line in ndjson.text.splitlines()] == rows
    table = client.get(f"{API}/runs/1/items?format=csv")
    assert table.headers["content-disposition"] == 'attachment; filename="songs-run-1.csv"'
    read = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["item"], int(row["cluster"]), float(row["confidence"])) for row in read] == [
        (row["item"], row["cluster"], row["confidence"]) for row in rows
    ]


def test_items_of_one_cluster_the_least_certain_first(client: TestClient, done: int) -> None:
    rows = client.get(f"{API}/runs/1/items?cluster=2&sort=confidence").json()["items"]
    assert {row["cluster"] for row in rows} == {2}
    confidences = [row["confidence"] for row in rows]
    assert confidences == sorted(confidences)
    assert client.get(f"{API}/runs/1/items?cluster=9").json()["items"] == []


def test_a_key_is_no_formula_in_csv(client: TestClient, done: int, database: Database) -> None:
    with database.transaction() as session:
        session.execute(update(Item).where(Item.position == 0).values(key="=cmd()"))
    assert client.get(f"{API}/runs/1/items?format=csv").text.splitlines()[1].startswith("'=cmd(),")
    assert client.get(f"{API}/runs/1/items?format=ndjson").text.startswith('{"item": "=cmd()"')


def test_the_map_is_sent_once(client: TestClient, done: int) -> None:
    first = client.get(f"{API}/runs/1/map")
    points = np.frombuffer(first.content, "<f4").reshape(-1, 4)
    assert points.shape == (60, 4)
    assert np.isfinite(points).all()
    assert "immutable" in first.headers["cache-control"]
    again = client.get(f"{API}/runs/latest/map", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_other_resolutions_are_sent_where_there_are_any(
    client: TestClient, done: int, database: Database, storage: Storage
) -> None:
    none = client.get(f"{API}/runs/1/resolutions")
    assert (none.status_code, "SKLR finds them" in none.json()["detail"]) == (409, True)
    rows = np.stack([np.arange(60) % k + 1 for k in (2, 3, 4)]).astype(np.uint8)
    results.save_resolutions(storage, get_run(database, done).result, rows)
    sent = client.get(f"{API}/runs/latest/resolutions")
    np.testing.assert_array_equal(np.frombuffer(sent.content, np.uint8).reshape(-1, 60), rows)
    again = client.get(f"{API}/runs/latest/resolutions", headers={"If-None-Match": sent.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert sent.headers["etag"] != client.get(f"{API}/runs/1/map").headers["etag"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/runs", {"algorithm": "kmeanz"}, 422, "algorithm is not known"),
        ("POST", "/runs", {"parameters": {"n_clusters": 61}}, 422, "More clusters than items"),
        ("POST", "/runs", {"parameters": {"epsilon": "much"}}, 422, "parameters are not right"),
        ("POST", "/runs", {"algoritm": "dcrc"}, 422, "not of the expected form"),
        ("GET", "/runs/7", None, 404, "There is no run '7'"),
        ("GET", "/runs/newest", None, 404, "There is no run 'newest'"),
        ("GET", "/runs/latest", None, 404, "No run is done yet."),
        ("GET", "/runs/latest/clusters", None, 404, "No run is done yet."),
        ("GET", "/runs/7/map", None, 404, "There is no run '7'"),
        ("GET", "/runs/7/resolutions", None, 404, "There is no run '7'"),
        ("GET", "/runs/7/items", None, 404, "There is no run '7'"),
        ("GET", "/runs/7/items?format=xls", None, 422, "not of the expected form"),
        ("POST", "/runs/7/cancel", None, 404, "There is no run '7'"),
        ("PUT", "/runs/7/clusters/1", {"name": "x"}, 404, "There is no run '7'"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    client: TestClient, database: Database, method: str, path: str, body: object, status: int, words: str
) -> None:
    before = counts(database)
    answer = client.request(method, API + path, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert words in answer.json()["detail"]
    assert counts(database) == before


def test_a_run_without_result_has_no_clusters(client: TestClient, database: Database, project: int) -> None:
    request(database, project)
    for path in ("clusters", "items", "map"):
        answer = client.get(f"{API}/runs/1/{path}")
        assert (answer.status_code, answer.json()["detail"]) == (409, "Run 1 has no clusters: it is queued.")


def test_an_unknown_cluster_cannot_be_named(client: TestClient, done: int, database: Database) -> None:
    before = counts(database)
    answer = client.put(f"{API}/runs/1/clusters/4", json={"name": "x"})
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "There is no cluster 4 in run 1: it has clusters 1 to 3.",
    )
    assert counts(database) == before


def test_a_project_without_features_says_what_to_do(client: TestClient, database: Database) -> None:
    with database.transaction() as session:
        bare = make_project(session, "bare", n_items=5)
        analyst = session.scalars(select(Membership.user_id).where(Membership.role == Role.ANALYST)).one()
        session.add(Membership(project_id=bare.id, user_id=analyst, role=Role.ANALYST))
    answer = client.post("/api/v1/projects/bare/runs", json={})
    assert answer.status_code == 409
    assert "5 items, no features and no answers yet: label first, or upload features" in answer.json()["detail"]
