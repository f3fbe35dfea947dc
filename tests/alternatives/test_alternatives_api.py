"""Finding, naming, comparing and adopting clusterings over HTTP, on both databases."""

from collections.abc import Iterator

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import Event, Item, Project, Role, Run
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tests.alternatives.support import make_two_ways, run_numbered, two_ways
from tests.factories import add_member, make_token, row_counts
from tests.runs.support import compute, request

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")

API = "/api/v1/projects/songs"
PAGE = "/projects/songs"


@pytest.fixture
def project(database: Database, storage: Storage, settings: Settings) -> int:
    """A project with its first run done."""
    project = make_two_ways(database, storage)
    request(database, project)
    assert compute(database, settings) == "done"
    return project


@pytest.fixture
def client(app: FastAPI, database: Database, project: int) -> Iterator[TestClient]:
    """An analyst's program."""
    with database.transaction() as session:
        analyst = add_member(session, session.get_one(Project, project), Role.ANALYST)
        token = make_token(session, analyst)
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


def find(client: TestClient, database: Database, settings: Settings, **choices: object) -> int:
    """Find another clustering of the first run and give its number."""
    response = client.post(f"{API}/runs/1/another", json=choices)
    assert response.status_code == 202, response.text
    assert compute(database, settings) == "done"
    return int(response.json()["number"])


@pytest.mark.heavy
def test_another_clustering_is_the_other_way(
    client: TestClient, database: Database, storage: Storage, settings: Settings
) -> None:
    response = client.post(f"{API}/runs/latest/another", json={"n_clusters": 2, "name": " by place "})
    queued = response.json()
    assert (response.status_code, queued["purpose"], queued["status"]) == (202, "alternative", "queued")
    assert (queued["name"], queued["parameters"]["known_runs"]) == ("by place", [1])
    assert compute(database, settings) == "done"
    run = client.get(f"{API}/runs/2").json()
    assert run["status"] == "done", run["error"]
    labels = results.load(storage, str(run_numbered(database, 2).result)).labels
    site = two_ways(60)[2]
    agree = np.mean(labels - 1 == site)
    assert max(agree, 1 - agree) > 0.9, "the strongest grouping is by song, the next by site"
    assert client.get(f"{API}/runs/latest").json()["number"] == 1
    relation = client.get(f"{API}/runs/2/contingency", params={"with": "1"}).json()
    assert relation["shared"] < 0.05
    assert "almost nothing" in relation["sentence"]
    assert client.get(f"{API}/runs/2/contingency", params={"with": "site"}).json()["shared"] > 0.5


@pytest.mark.heavy
def test_a_clustering_unlike_a_column_too(client: TestClient, database: Database, settings: Settings) -> None:
    number = find(client, database, settings, known_columns=["site"], method="cmbc", n_clusters=3)
    run = run_numbered(database, number)
    assert run.status == "done", run.error
    assert set(run.metrics["known_nmi"]) == {"run 1", "site"}


UNKNOWN = [
    ({"known_runs": [7]}, "known_runs", "no run 7"),
    ({"known_runs": [2]}, "known_runs", "run 2 has no clusters: it is queued"),
    ({"known_columns": ["recorder"]}, "known_columns", "there are: site"),
    ({"known_columns": ["number"]}, "known_columns", "'number' is no column"),
    ({"known_columns": ["one"]}, "known_columns", "'one' is no column"),
    ({"n_clusters": 61}, "n_clusters", "only 60 items"),
    ({"n_clusters": 1}, "n_clusters", "greater than or equal to 2"),
    ({"method": "magic"}, "method", "regress-out"),
    ({"known": [1]}, "known", "is no field here: did you mean 'known_runs'?"),
]


def test_what_is_not_known_is_named_and_nothing_is_queued(client: TestClient, database: Database) -> None:
    client.post(f"{API}/runs", json={})
    before = row_counts(database)
    for choices, field, says in UNKNOWN:
        response = client.post(f"{API}/runs/1/another", json=choices)
        assert response.status_code == 422, choices
        assert response.headers["content-type"] == "application/problem+json"
        [error] = response.json()["errors"]
        assert error["field"] == field, choices
        assert says in error["detail"]
    assert row_counts(database) == before


def test_a_run_without_clusters_has_no_other(client: TestClient) -> None:
    client.post(f"{API}/runs", json={})
    assert client.post(f"{API}/runs/2/another", json={}).status_code == 409
    assert client.post(f"{API}/runs/2/adopt").status_code == 409
    assert client.get(f"{API}/runs/2/contingency", params={"with": "1"}).status_code == 409
    assert client.post(f"{API}/runs/9/another", json={}).status_code == 404


def test_names_of_runs(client: TestClient) -> None:
    assert client.patch(f"{API}/runs/1", json={"name": " by song "}).json()["name"] == "by song"
    assert client.patch(f"{API}/runs/latest", json={"name": ""}).json()["name"] == ""
    assert client.patch(f"{API}/runs/1", json={"name": "x" * 201}).status_code == 422
    assert client.patch(f"{API}/runs/1", json={"status": "done"}).status_code == 422
    assert client.patch(f"{API}/runs/8", json={"name": ""}).status_code == 404


def test_contingency_counts_every_item_once(client: TestClient, database: Database) -> None:
    client.put(f"{API}/runs/1/clusters/2", json={"name": "trill"})
    table = client.get(f"{API}/runs/1/contingency", params={"with": "site"}).json()
    assert [group["cluster"] for group in table["rows"]] == [1, 2, 3]
    assert [group["name"] for group in table["rows"]] == ["", "trill", ""]
    assert [group["name"] for group in table["columns"]] == ["site 0", "site 1"]
    assert sum(map(sum, table["counts"])) == table["items"] == 60
    assert client.get(f"{API}/runs/1/contingency", params={"with": "latest"}).json()["shared"] == pytest.approx(1)
    assert client.get(f"{API}/runs/1/contingency", params={"with": "nothing"}).status_code == 404
    assert client.get(f"{API}/runs/1/contingency").status_code == 422
    with database.transaction() as session:
        for item in session.scalars(select(Item).where(Item.position < 5)):
            item.details = {"site": None}
    assert client.get(f"{API}/runs/1/contingency", params={"with": "site"}).json()["items"] == 55


def test_adopt_and_go_back(
    client: TestClient, database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    client.put(f"{API}/runs/1/clusters/1", json={"name": "trill"})
    alternative = find(client, database, settings, n_clusters=2, name="by place")
    client.put(f"{API}/runs/{alternative}/clusters/2", json={"name": "hill"})
    adopted = client.post(f"{API}/runs/{alternative}/adopt")
    assert adopted.status_code == 201
    run = adopted.json()
    assert (run["number"], run["purpose"], run["status"], run["reason"]) == (3, "current", "done", "adopted")
    assert (run["name"], run["metrics"]["adopted_from"], run["metrics"]["n_clusters"]) == ("by place", alternative, 2)
    assert client.get(f"{API}/runs/latest/map").content == client.get(f"{API}/runs/{alternative}/map").content
    assert names(client, "latest") == ["", "hill"]
    assert client.get(API).json()["n_clusters"] == 2
    again = client.post(f"{API}/runs/{alternative}/adopt")
    assert (again.status_code, "is the current clustering already" in again.text) == (409, True)
    back = client.post(f"{API}/runs/1/adopt").json()
    assert (back["number"], back["metrics"]["adopted_from"]) == (4, 1)
    assert client.get(API).json()["n_clusters"] == 3
    assert names(client, "latest") == ["trill", "", ""]
    with database.reading() as session:
        events = session.scalars(select(Event).where(Event.kind == "clusters").order_by(Event.number)).all()
    assert [event.payload for event in events] == [{"run": 1}, {"run": 3}, {"run": 4}]


def names(client: TestClient, run: str) -> list[str]:
    return [cluster["name"] for cluster in client.get(f"{API}/runs/{run}/clusters").json()["clusters"]]


def test_the_next_run_after_answers_goes_on_from_what_was_adopted(
    client: TestClient, database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    """Alone it would find the songs again, which are by far the strongest grouping."""
    alternative = find(client, database, settings, n_clusters=3)
    client.post(f"{API}/runs/{alternative}/adopt")
    with database.transaction() as session:
        session.get_one(Project, project).rerun_answers = 1
    answer = {"triplet": ["item-0", "item-1", "item-3"], "answer": "yes", "labeler": "Cy"}
    assert client.post(f"{API}/constraints", json=[answer]).status_code == 201
    assert compute(database, settings) == "done"
    run = run_numbered(database, 4)
    assert (run.status, run.reason, run.purpose) == ("done", "answers", "current"), run.error
    with_before = client.get(f"{API}/runs/4/contingency", params={"with": "3"}).json()["shared"]
    with_songs = client.get(f"{API}/runs/4/contingency", params={"with": "1"}).json()["shared"]
    assert with_before > 0.5 > with_songs
    assert run.metrics["warm_start"]


@pytest.mark.heavy
def test_an_older_run_that_is_restored_stays_until_new_answers_move_it_on(
    client: TestClient, database: Database, storage: Storage, settings: Settings, project: int
) -> None:
    first = clusters_of(database, storage, 1)
    request(database, project, parameters={"n_clusters": 4})
    assert compute(database, settings) == "done"
    with database.transaction() as session:
        session.get_one(Project, project).rerun_answers = 1
    answer = {"triplet": ["item-0", "item-1", "item-3"], "answer": "yes", "labeler": "Cy"}
    client.post(f"{API}/constraints", json=[answer])
    assert run_numbered(database, 3).status == "queued"
    assert client.post(f"{API}/runs/1/adopt").json()["number"] == 4
    # It would have gone on from run 2, and have been older than what is restored when it was done.
    assert run_numbered(database, 3).status == "cancelled"
    assert client.get(f"{API}/runs/latest").json()["number"] == 4
    assert "These are the clusters of run 1, restored. The next run goes on from them" in client.get(PAGE).text
    client.post(f"{API}/constraints", json=[answer | {"labeler": "Di"}])
    assert compute(database, settings) == "done"
    assert client.get(f"{API}/runs/latest").json()["number"] == 5
    assert np.mean(clusters_of(database, storage, 5) == first) >= 0.9
    assert "restored. The next run" not in client.get(PAGE).text


def clusters_of(database: Database, storage: Storage, number: int) -> np.ndarray:
    return results.load(storage, str(run_numbered(database, number).result)).labels


def test_alternatives_are_listed_once_each_with_what_they_share(
    client: TestClient, database: Database, settings: Settings
) -> None:
    assert [alternative["number"] for alternative in client.get(f"{API}/alternatives").json()["clusterings"]] == [1]
    alternative = find(client, database, settings, n_clusters=2, known_columns=[])
    client.post(f"{API}/runs/{alternative}/adopt")
    overview = client.get(f"{API}/alternatives").json()
    assert [(clustering["number"], clustering["current"]) for clustering in overview["clusterings"]] == [
        (1, False),
        (3, True),
    ]
    assert overview["clusterings"][1]["known"] == ["run 1"]
    shared = np.array(overview["shared"])
    assert shared[0, 1] == shared[1, 0] < 0.05
    bits, entropies = np.array(overview["information_bits"]), np.log2([3, 2])
    assert np.diag(bits) == pytest.approx(entropies, abs=0.05)
    client.post(f"{API}/runs/1/adopt")
    overview = client.get(f"{API}/alternatives").json()
    assert [(clustering["number"], clustering["current"]) for clustering in overview["clusterings"]] == [
        (2, False),
        (4, True),
    ]


def test_a_project_without_runs_has_no_alternatives(client: TestClient, database: Database, project: int) -> None:
    with database.transaction() as session:
        for run in session.scalars(select(Run).where(Run.project_id == project)):
            session.delete(run)
    overview = client.get(f"{API}/alternatives").json()
    assert overview == {"clusterings": [], "information_bits": [], "nmi": [], "shared": []}
