"""The pages of runs over HTTP and the same over REST: flows, moved items, new answers, what is refused, restoring."""

import uuid

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import (
    Answer,
    AuditEntry,
    ClusterNote,
    Decision,
    Item,
    Project,
    Purpose,
    Role,
    Run,
    Triplet,
    User,
    Verdict,
    now,
)
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_member, make_project, signed_in

BEFORE, NOW = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 1, 1]
HOSTILE = "<script>alert('x')</script>"


@pytest.fixture
def owner(database: Database, storage: Storage) -> User:
    """The owner of twelve items and two runs: with the second, item 3 went to cluster 2, items 10 and 11 to 1."""
    with database.transaction() as session:
        project = make_project(session, n_items=12)
        owner = add_member(session, project, Role.OWNER)
        first = add_result(session, storage, project, 1, BEFORE)
        answer(session, project, owner, (0, 3, 10), "yes")
        answer(session, project, owner, (0, 1, 2), "no")
        answer(session, project, owner, (3, 10, 11), "dnk")
        answer(session, project, owner, (0, 1, 11), "no")
        add_result(session, storage, project, 2, NOW, items_moved=3)
        first.parameters = {"n_clusters": 3, "epsilon": 0.1}
        session.add(ClusterNote(project_id=project.id, run_id=first.id, cluster=2, name=HOSTILE))
        return owner


def answer(session, project: Project, labeler: User, places: tuple[int, int, int], value: str) -> None:
    items = dict(session.execute(select(Item.position, Item.id).where(Item.project_id == project.id)).all())
    anchor, left, right = (items[place] for place in places)
    triplet = Triplet(project_id=project.id, anchor_id=anchor, left_id=left, right_id=right, source="client")
    session.add(triplet)
    session.flush()
    project.answer_number += 1
    about = {"number": project.answer_number, "triplet_id": triplet.id, "labeler_id": labeler.id, "value": value}
    session.add(Answer(id=uuid.uuid4(), project_id=project.id, created_at=now(), **about))
    session.flush()


def changes(client: TestClient, run: str = "2", **parameters: str) -> dict:
    response = client.get(f"/api/v1/projects/songs/runs/{run}/changes", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_what_moved_and_which_answers_are_about_it(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        compared = changes(client)
    assert (compared["since"], compared["run"], compared["items"], compared["moved"]) == (1, 2, 12, 3)
    assert compared["matched"] == [[1, 1], [2, 2], [3, 3]]
    moves = {(flow["before"], flow["now"]): flow["items"] for flow in compared["flows"] if flow["moved"]}
    assert moves == {(1, 2): 1, (3, 1): 2}
    assert [(item["key"], item["before"], item["now"]) for item in compared["moved_items"]] == [
        ("item-11", 3, 1),
        ("item-10", 3, 1),
        ("item-3", 1, 2),
    ]
    assert compared["new_answers"] == 4
    numbers = [(answer["number"], answer["moved"]) for answer in compared["answers"]]
    assert numbers == [(3, 3), (1, 2), (4, 1)], (
        "most moved items first; the answer about items that stayed is not there"
    )
    assert {"name": "Clusters", "before": "3", "now": None} in compared["parameters"]


def test_the_order_of_the_two_does_not_matter(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        assert changes(client, "1", since="2") == changes(client) == changes(client, "latest")


def test_answers_that_do_not_count_moved_nothing(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        rows = {row.number: row for row in session.scalars(select(Answer))}
        rows[1].withdrawn_at = now()
        about = {"project_id": project.id, "labeler_id": owner.id, "by_id": owner.id, "answer_number": 3}
        decision = Decision(verdict=Verdict.SET_ASIDE, answers=1, reason="", **about)
        session.add(decision)
        session.flush()
        rows[3].set_aside_id = decision.id
    with signed_in(app, owner) as client:
        compared = changes(client)
    assert (compared["new_answers"], [answer["number"] for answer in compared["answers"]]) == (2, [4])


def test_items_set_aside_are_left_out(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        session.scalars(select(Item).where(Item.key == "item-11")).one().set_aside_at = now()
    with signed_in(app, owner) as client:
        compared = changes(client)
    assert (compared["items"], compared["moved"]) == (11, 2)


def test_what_cannot_be_compared_is_refused(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        project_id = session.scalars(select(Project)).one().id
        session.add(Run(project_id=project_id, number=3, algorithm="dcrc", status="failed", due_at=now()))
    path = "/api/v1/projects/songs/runs"
    with signed_in(app, owner) as client:
        assert client.get(f"{path}/1/changes").status_code == 409, "nothing is before the first run"
        assert client.get(f"{path}/3/changes").status_code == 409, "it has no clusters"
        assert client.get(f"{path}/2/changes?since=2").json()["errors"][0]["field"] == "since"
        assert client.get(f"{path}/2/changes?since=9").status_code == 404
        assert client.get("/projects/songs/changes?run=1").status_code == 409
        assert client.get("/projects/songs/changes?since=two").status_code == 404


@pytest.mark.only_on("sqlite")
def test_pages_say_it_in_words_and_hostile_names_stay_text(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        runs = client.get("/projects/songs/runs")
        page = client.get("/projects/songs/changes")
    assert runs.text.count('class="dot unknown"') == 2, "both runs, of which no share is known yet"
    assert "share foreseen: known after fifty" in runs.text
    assert "Run 2, new answers, 3 items moved" in " ".join(runs.text.split())
    assert "3 of 12 items moved" in page.text
    assert 'id="moved-3-1"' in page.text
    assert "&lt;script&gt;" in page.text
    assert "<script>alert" not in page.text
    assert page.text.count('class="band ') == 5
    assert page.text.count(' moved" d=') == 2


@pytest.mark.only_on("sqlite")
def test_older_runs_are_on_the_next_page(app: FastAPI, database: Database, storage: Storage, owner: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        for number in range(3, 53):
            session.add(Run(project_id=project.id, number=number, algorithm="dcrc", status="cancelled", due_at=now()))
    with signed_in(app, owner) as client:
        newest = client.get("/projects/songs/runs").text
        older = client.get("/projects/songs/runs?after=3").text
    assert 'href="?after=3"' in newest
    assert 'class="timeline"' not in newest, "no run of this page is done"
    assert 'class="timeline"' in older


def test_restoring_an_older_run_and_taking_it_back(app: FastAPI, database: Database, owner: User) -> None:
    api = "/api/v1/projects/songs"
    with signed_in(app, owner) as client:
        restored = client.post(f"{api}/runs/1/adopt").json()
        assert (restored["number"], restored["reason"]) == (3, "adopted")
        compared = changes(client, since="1")
        assert compared["run"] == 2, "the runs themselves stay as they are"
        same = changes(client, "3", since="1")
        assert (same["moved"], same["new_answers"]) == (0, 0), "it knows the answers that run 1 knew"
        assert changes(client, "3", since="2")["new_answers"] == 4
        clusters = client.get(f"{api}/runs/latest/clusters").json()
        assert [cluster["size"] for cluster in clusters["clusters"]] == [4, 4, 4]
        assert clusters["clusters"][1]["name"] == HOSTILE
        assert client.post(f"{api}/runs/2/adopt").json()["number"] == 4
        assert changes(client, "latest", since="2")["moved"] == 0
    with database.reading() as session:
        audit = session.scalars(select(AuditEntry).where(AuditEntry.what == "clusters restored")).all()
    assert [(entry.before, entry.after, entry.by_id) for entry in audit] == [
        ({"run": 2}, {"run": 1}, owner.id),
        ({"run": 3}, {"run": 2}, owner.id),
    ]


def test_an_alternative_is_compared_with_its_like_first(
    app: FastAPI, database: Database, storage: Storage, owner: User
) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        add_result(session, storage, project, 3, BEFORE).purpose = Purpose.ALTERNATIVE
        add_result(session, storage, project, 4, NOW)
        add_result(session, storage, project, 5, NOW).purpose = Purpose.ALTERNATIVE
    with signed_in(app, owner) as client:
        assert [changes(client, run)["since"] for run in ("3", "4", "5")] == [2, 2, 3]
