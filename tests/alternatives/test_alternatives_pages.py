"""The pages of runs and alternatives over HTTP: what they say, their forms, no text that becomes markup."""

import re

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import ClusterNote, FeatureSet, Item, Project, Purpose, Role, Run, User, now
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, signed_in

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")

HOSTILE = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>"
SONGS, SITES = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [1, 2] * 6


def add_alternative(database: Database, storage: Storage, number: int, labels: list[int], name: str = "") -> None:
    """Add an alternative that is unlike run 1 and site."""
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        run = add_result(session, storage, project, number, labels)
        run.purpose, run.name, run.algorithm = Purpose.ALTERNATIVE, name, "cmbc"
        run.parameters = {"n_clusters": 3, "method": "regress-out", "known_runs": [1], "known_columns": ["site"]}
        run.metrics = {
            "n_clusters": 3,
            "n_items": 12,
            "n_iter": 4,
            "converged": True,
            "mean_confidence": 0.8,
            "clusters_found": 2,
            "known_nmi": {"run 1": 0.01, "site": 0.02},
        }


@pytest.fixture
def owner(database: Database, storage: Storage) -> User:
    """The owner of a project of twelve items in three clusters, with a site each."""
    with database.transaction() as session:
        project = make_project(session, n_items=12)
        add_features(session, storage, project, np.eye(12))
        for item in session.scalars(select(Item)):
            item.details = {"site": f"site {item.position % 2}"}
        add_result(session, storage, project, 1, SONGS)
        return add_member(session, project, Role.OWNER)


def read(app: FastAPI, user: User, path: str) -> str:
    with signed_in(app, user) as client:
        response = client.get(path)
        assert response.status_code == 200, response.text
        return response.text


def test_a_run_says_which_features_it_used(app: FastAPI, owner: User, database: Database, storage: Storage) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        session.scalars(select(Run)).one().feature_set_id = session.scalars(select(FeatureSet)).one().id
        add_features(session, storage, project, np.zeros((12, 2)), version=2)
    page = " ".join(read(app, owner, "/projects/songs/runs/1").split())
    assert "12 numbers an item, version 1 of the features." in page, "not of those that came later"


def test_the_current_run_offers_the_button_and_what_to_be_unlike(app: FastAPI, owner: User) -> None:
    page = read(app, owner, "/projects/songs/runs/1")
    assert ">current</span>" in page
    assert "Make this the current" not in page
    assert 'name="known_columns" value="site"' in page
    assert page.count('class="cluster"') == 3
    assert page.count("<canvas") == 1


def test_an_alternative_stands_beside_what_it_is_unlike(
    app: FastAPI, database: Database, storage: Storage, owner: User
) -> None:
    add_alternative(database, storage, 2, SITES, "by site")
    page = read(app, owner, "/projects/songs/runs/2")
    assert re.findall(r'<canvas data-run="(\d)"', page) == ["1", "2"]
    assert "They share 0.00 of 1.00 bits" in page
    assert "Make this the current clustering" in page
    cells = re.findall(r'<td class="h\d+">(\d*)</td>', page)
    assert cells == ["2", "2", ""] * 3
    assert "regress-out" in page
    beside = read(app, owner, "/projects/songs/runs/2?with=site")
    assert beside.count("<canvas") == 1
    assert "nearly everything" in beside
    with signed_in(app, owner) as client:
        assert client.get("/projects/songs/runs/2?with=9").status_code == 404


def test_an_alternative_that_waits_says_so(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        session.add(Run(project_id=project.id, number=2, purpose="alternative", algorithm="cmbc", due_at=now()))
        session.add(
            Run(project_id=project.id, number=3, algorithm="dcrc", status="failed", due_at=now(), error="Out of luck")
        )
    page = read(app, owner, "/projects/songs/runs/2")
    assert "waits for its turn" in page
    assert 'http-equiv="refresh"' in page
    assert 'data-run="2"' in read(app, owner, "/projects/songs/runs/2")
    assert "waits for its turn" in read(app, owner, "/projects/songs/alternatives")
    assert "Out of luck" in read(app, owner, "/projects/songs/runs/3")
    assert "another clustering" in read(app, owner, "/projects/songs")


def test_the_form_queues_an_alternative_and_goes_to_it(app: FastAPI, database: Database, owner: User) -> None:
    with signed_in(app, owner) as client:
        form = {"n_clusters": "", "method": "cmbc", "known_columns": ["site"], "name": "by song"}
        response = client.post("/projects/songs/runs/1/another", data=form, follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (303, "/projects/songs/runs/2")
        refused = client.post("/projects/songs/runs/1/another", data={"known_runs": "7"})
        assert (refused.status_code, "no run 7" in refused.text) == (422, True)
    with database.reading() as session:
        run = session.scalars(select(Run).where(Run.number == 2)).one()
    assert (run.purpose, run.name, run.status) == ("alternative", "by song", "queued")
    requested = {"n_clusters": 3, "method": "cmbc", "known_runs": [1], "known_columns": ["site"]}
    assert run.parameters == requested


def test_name_adopt_and_go_back(app: FastAPI, database: Database, storage: Storage, owner: User) -> None:
    add_alternative(database, storage, 2, SITES)
    with signed_in(app, owner) as client:
        named = client.post("/projects/songs/runs/2/name", data={"name": "by site"})
        assert "Run 2: by site" in named.text
        listed = client.post("/projects/songs/runs/1/name", data={"name": "by song", "page": "alternatives"})
        assert listed.url.path == "/projects/songs/alternatives"
        adopted = client.post("/projects/songs/runs/2/adopt")
        assert (adopted.url.path, "adopted from" in adopted.text) == ("/projects/songs/runs/3", True)
        assert "Go back to run 1" in adopted.text
        assert '"3">run 3, by site' in client.get("/projects/songs/runs/1").text
        assert "Go back to run 3" in client.post("/projects/songs/runs/1/adopt").text
        assert client.post("/projects/songs/runs/1/adopt").status_code == 409


def test_a_cluster_of_an_alternative_is_named_on_its_page(
    app: FastAPI, database: Database, storage: Storage, owner: User
) -> None:
    add_alternative(database, storage, 2, SITES)
    with signed_in(app, owner) as client:
        form = {"run": "2", "name": "hill", "page": "run"}
        response = client.post("/projects/songs/clusters/1/name", data=form, follow_redirects=False)
        assert response.headers["location"] == "/projects/songs/runs/2#cluster-1"
        assert 'value="hill"' in client.get("/projects/songs/runs/2").text
        assert 'value="hill"' not in client.get("/projects/songs").text


def test_alternatives_with_their_matrix(app: FastAPI, database: Database, storage: Storage, owner: User) -> None:
    assert "What they have in common" not in read(app, owner, "/projects/songs/alternatives")
    add_alternative(database, storage, 2, SITES, "by site")
    page = read(app, owner, "/projects/songs/alternatives")
    assert re.findall(r">(\d\.\d\d) bits<", page.replace("</small>", "<")) == ["1.58", "0.00", "0.00", "1.00"]
    assert 'href="/projects/songs/runs/2?with=1"' in page
    assert page.count("Make current") == 1


def test_a_new_project_has_no_alternatives(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        session.delete(session.scalars(select(Run)).one())
    page = read(app, owner, "/projects/songs/alternatives")
    assert "No run is done yet" in page
    assert 'id="another"' not in page


def test_a_table_too_large_to_read_is_left_to_programs(
    app: FastAPI, database: Database, storage: Storage, owner: User
) -> None:
    add_alternative(database, storage, 2, SITES)
    with database.transaction() as session:
        for run in session.scalars(select(Run)):
            run.metrics = {**run.metrics, "n_clusters": 60}
    page = read(app, owner, "/projects/songs/runs/2")
    assert "3,600 cells" in page
    assert 'class="heat"' not in page


def test_hostile_names_stay_text(app: FastAPI, database: Database, storage: Storage, owner: User) -> None:
    add_alternative(database, storage, 2, SITES, HOSTILE)
    with database.transaction() as session:
        for item in session.scalars(select(Item)):
            item.details = {HOSTILE: f"{HOSTILE} {item.position % 2}"}
        alternative = session.scalars(select(Run).where(Run.number == 2)).one()
        session.add(ClusterNote(project_id=alternative.project_id, run_id=alternative.id, cluster=1, name=HOSTILE))
    for path in ("alternatives", "runs/1", "runs/2", "runs/1?with=2"):
        page = read(app, owner, f"/projects/songs/{path}")
        assert "&lt;script&gt;" in page, path
        assert "<script>" not in page, path
        assert "\"'><img" not in page, path


def test_a_reader_hears_who_may_change(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        labeler = add_member(session, session.scalars(select(Project)).one(), Role.LABELER)
    with signed_in(app, labeler) as client:
        assert client.get("/projects/songs/alternatives").status_code == 403
        assert client.post("/projects/songs/runs/1/adopt").status_code == 403


def test_an_anonymous_visitor_hears_how_to_sign_in(anonymous: TestClient) -> None:
    for path in ("/projects/songs/alternatives", "/projects/songs/runs/1"):
        response = anonymous.get(path, headers={"Accept": "text/html"})
        assert (response.status_code, "How to sign in" in response.text) == (401, True)
