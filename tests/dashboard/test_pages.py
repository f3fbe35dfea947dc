"""The analyst's pages over HTTP: what they say in each state, their forms, and that no text becomes markup."""

import re

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event, select

from tercet.database import Database
from tercet.models import ClusterNote, Item, Project, Role, Run, User
from tercet.runs import results
from tercet.storage import Storage
from tests.dashboard.results import add_answers, add_result
from tests.factories import add_features, add_member, make_project, signed_in

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")

HOSTILE = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>"


def read(app: FastAPI, user: User, path: str) -> str:
    with signed_in(app, user) as client:
        response = client.get(path)
        assert response.status_code == 200, response.text
        return response.text


@pytest.fixture
def owner(database: Database, storage: Storage) -> User:
    """The owner of a project of nine items in three clusters."""
    with database.transaction() as session:
        project = make_project(session, n_items=9)
        add_features(session, storage, project, np.eye(9))
        add_result(session, storage, project, 1, [1, 1, 1, 1, 2, 2, 2, 2, 2], items_moved=4)
        return add_member(session, project, Role.OWNER)


def test_home_lists_my_projects_only(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        make_project(session, "secret")
    page = read(app, owner, "/")
    assert "9 items" in page
    assert "run 1 finished" in page
    assert 'href="/projects/songs"' in page
    assert "Secret" not in page


def test_home_offers_a_labeler_no_dashboard(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        labeler = add_member(session, make_project(session), Role.LABELER)
    page = read(app, labeler, "/")
    assert 'href="/projects/songs/label"' in page
    assert 'href="/projects/songs"' not in page


def test_home_without_projects_says_how_to_make_one(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        user = User(name="Ada", email="ada@example.org")
        session.add(user)
    page = read(app, user, "/")
    assert "tercet import" in page
    assert "/api/v1/projects" in page


def test_clusters_with_their_items(app: FastAPI, owner: User) -> None:
    page = read(app, owner, "/projects/songs")
    sizes = re.findall(r'data-list="(\d)">(\d+ items?)<', page)
    assert sizes == [("1", "4 items"), ("2", "5 items")]
    assert "no items" in page  # cluster 3
    assert "4 of 9 items moved" in page
    assert page.count('class="cluster"') == 3


@pytest.mark.parametrize(
    ("items", "features", "sentence"),
    [(0, False, "First, add items"), (5, False, "Next, label or make features"), (5, True, "No run yet")],
)
def test_an_empty_state_says_what_to_do(
    app: FastAPI, database: Database, storage: Storage, items: int, features: bool, sentence: str
) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=items)
        if features:
            add_features(session, storage, project, np.eye(items))
        analyst = add_member(session, project, Role.ANALYST)
    page = read(app, analyst, "/projects/songs")
    assert sentence in page
    assert ("Nobody has answered yet" in page) == bool(items)


def test_what_to_look_at_before_people_label_is_folded_once_they_have(
    app: FastAPI, database: Database, owner: User
) -> None:
    with database.transaction() as session:
        for item in session.scalars(select(Item)):
            item.media_type, item.media, item.content_hash, item.media_seconds = "audio/wav", "x", "same", 1.0
    page = read(app, owner, "/projects/songs")
    assert "<h2>Before people label</h2>" in page
    with database.transaction() as session:
        add_answers(session, session.scalars(select(Project)).one(), owner, [("yes", 1000, 0, False)])
    page = read(app, owner, "/projects/songs")
    assert "Before people label" not in page
    assert "<summary>1 finding about the items: what may mislead labelers</summary>" in page


def test_hostile_names_stay_text(app: FastAPI, database: Database, storage: Storage) -> None:
    with database.transaction() as session:
        project = make_project(session, n_items=4)
        project.name = HOSTILE
        for item in session.scalars(select(Item)):
            item.key = f"{HOSTILE} {item.position}"
            item.text = HOSTILE
        run = add_result(session, storage, project, 1, [1, 1, 2, 2])
        session.add(ClusterNote(project_id=project.id, run_id=run.id, cluster=1, name=HOSTILE, note=HOSTILE))
        session.add(
            Run(project_id=project.id, number=2, algorithm="dcrc", status="failed", due_at=run.due_at, error=HOSTILE)
        )
        owner = add_member(session, project, Role.OWNER, HOSTILE)
        add_answers(session, project, owner, [("yes", 1000, 0, False)])
    for path in ("/", "/projects/songs"):
        page = read(app, owner, path)
        assert "&lt;script&gt;" in page
        assert "<script>" not in page
        assert "<img src=x" not in page
        assert "\"'><img" not in page


def test_few_statements_however_many_clusters(app: FastAPI, owner: User) -> None:
    statements: list[str] = []
    with signed_in(app, owner) as client:
        engine = app.state.database.engine
        event.listen(engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
        client.get("/")
        home = len([statement for statement in statements if statement.startswith("SELECT")])
        client.get("/projects/songs")
    selects = [statement for statement in statements if statement.startswith("SELECT")]
    assert home <= 5, selects
    assert len(selects) - home <= 23, selects


def test_a_run_tells_how_many_answers_it_used(app: FastAPI, database: Database, storage: Storage, owner: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        session.scalars(select(Run)).one().answers_to = 1_234
        run = add_result(session, storage, project, 2, [1, 1, 1, 1, 2, 2, 2, 2, 2], n_answers=4_320)
        run.answers_from, run.answers_to = 4_311, 4_321  # of which one was withdrawn
    page = read(app, owner, "/projects/songs")
    assert re.search(r">4,320\s*<span class=\"muted\">\+10<", page)
    assert re.search(r">1,234\s*<", page), "what is known of a run without that figure"


def test_start_a_run_with_a_parameter(app: FastAPI, database: Database, owner: User) -> None:
    with signed_in(app, owner) as client:
        form = {"n_clusters": "2", "algorithm": "dcrc", "dcrc.epsilon": "0.1", "dcrc.balance": ""}
        response = client.post("/projects/songs/runs", data=form, follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/projects/songs#runs")
    with database.reading() as session:
        run = session.scalars(select(Run).where(Run.status == "queued")).one()
        assert (run.reason, run.parameters) == ("request", {"epsilon": 0.1, "n_clusters": 2})


def test_a_run_with_wrong_parameters_is_refused_in_words(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        response = client.post(
            "/projects/songs/runs", data={"n_clusters": "10"}, headers={"Accept": "application/json"}
        )
    assert response.status_code == 422
    assert "only 9 items" in response.json()["errors"][0]["detail"]


def test_another_number_of_clusters_is_used_from_now_on(app: FastAPI, database: Database, owner: User) -> None:
    with signed_in(app, owner) as client:
        response = client.post("/projects/songs/resolution", data={"n_clusters": "5"}, follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (303, "/projects/songs#resolution")
        refused = client.post("/projects/songs/resolution", data={"n_clusters": "10"})
        assert (refused.status_code, "only 9 items" in refused.text) == (422, True)
    with database.reading() as session:
        run = session.scalars(select(Run).where(Run.status == "queued")).one()
        assert (session.scalars(select(Project.n_clusters)).one(), run.reason) == (5, "request")


def test_sizes_at_every_resolution(app: FastAPI, database: Database, storage: Storage, owner: User) -> None:
    assert 'id="resolution-slider"' not in read(app, owner, "/projects/songs")
    with database.transaction() as session:
        run = session.scalars(select(Run)).one()
        rows = np.array([[1, 1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 3, 3, 3, 2, 2, 2, 2]])
        results.save_resolutions(storage, run.result, rows)
        run.metrics = {**run.metrics, "most_clusters": 3, "suggested_clusters": 2}
    page = read(app, owner, "/projects/songs")
    assert re.findall(r'class="number">(\d)</th><td>([\d, ]+)</td>', page) == [("2", "5, 4"), ("3", "2, 4, 3")]
    assert re.findall(r"<option[^>]*>(\d [^<]+)</option>", page)[:2] == ["2 (suggested)", "3 (this run’s)"]


def test_cancel_a_run_that_waits(app: FastAPI, database: Database, owner: User) -> None:
    with signed_in(app, owner) as client:
        client.post("/projects/songs/runs")
        assert "Cancel" in client.get("/projects/songs").text
        response = client.post("/projects/songs/runs/2/cancel", follow_redirects=False)
        assert response.status_code == 303
        assert client.post("/projects/songs/runs/2/cancel").status_code == 409
    with database.reading() as session:
        assert session.scalars(select(Run.status).where(Run.number == 2)).one() == "cancelled"


def test_name_a_cluster(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        form = {"run": "1", "name": " Hermit thrush ", "note": "two songs"}
        page = client.post("/projects/songs/clusters/2/name", data=form).text
        assert 'value="Hermit thrush"' in page
        assert 'value="two songs"' in page
        assert client.post("/projects/songs/clusters/4/name", data=form).status_code == 404


def test_who_may_see_and_change(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        labeler = add_member(session, project, Role.LABELER)
        stranger = add_member(session, make_project(session, "other"), Role.OWNER)
    calls = [("GET", ""), ("POST", "/runs"), ("POST", "/runs/1/cancel"), ("POST", "/clusters/1/name")]
    for user, status in ((labeler, 403), (stranger, 404)):
        with signed_in(app, user) as client:
            for method, path in calls:
                got = client.request(method, f"/projects/songs{path}", data={"run": "1"} if method == "POST" else None)
                assert got.status_code == status, (user.name, method, path)


def test_an_anonymous_visitor_hears_how_to_sign_in(anonymous: TestClient) -> None:
    for path in ("/", "/projects/songs"):
        response = anonymous.get(path, headers={"Accept": "text/html"})
        assert response.status_code == 401
        assert "How to sign in" in response.text


def test_the_error_page_shows_hostile_text_as_text(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        response = client.get("/projects/%3Cscript%3Ealert(1)", headers={"Accept": "text/html"})
    assert response.status_code == 404
    assert "&lt;script&gt;alert(1)" in response.text
    assert "<script>" not in response.text


def test_the_share_predicted_is_of_random_questions_once_there_are_ten(
    app: FastAPI, database: Database, storage: Storage, owner: User
) -> None:
    figures = {"random_accuracy": 0.75, "random_accuracy_interval": [0.5, 0.9], "random_expected": 0.8}
    prequential = {"prequential_accuracy": 0.25, "prequential_answers": 30}
    for number, drawn, share in ((2, 9, "25"), (3, 12, "75")):
        with database.transaction() as session:
            project = session.scalars(select(Project)).one()
            add_result(session, storage, project, number, [1] * 9, **figures, **prequential, random_answers=drawn)
        page = read(app, owner, "/projects/songs")
        assert re.search(rf"<strong>{share}.{{0,6}}%</strong> of answers predicted", page)
        assert (f"of {drawn} at random" in page) == (drawn == 12)
