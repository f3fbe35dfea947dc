"""Projects over HTTP, on both databases."""

import io
import json
import uuid
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import Answer, Base, Item, Membership, Project, Role, Run, Scope, Triplet, User, now
from tercet.projects.deleting import DELETED_FOR, remove_long_deleted
from tercet.runs import lifecycle
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.job import run_job
from tests.factories import add_features, add_member, make_project, make_token, make_user
from tests.runs.support import place


@pytest.fixture
def ada(database: Database) -> str:
    """Authorization of a user without projects."""
    with database.transaction() as session:
        return f"Bearer {make_token(session, make_user(session))}"


@pytest.fixture
def client(app: FastAPI, ada: str) -> Iterator[TestClient]:
    with TestClient(app, headers={"Authorization": ada}) as opened:
        yield opened


def test_make_read_change_list(client: TestClient) -> None:
    response = client.post("/api/v1/projects", json={"name": "Vögel im Wald!", "n_clusters": 5})
    assert response.status_code == 201, response.text
    assert response.json()["key"] == "vogel-im-wald"
    again = client.post("/api/v1/projects", json={"name": "Vogel im Wald"})
    assert again.json()["key"] == "vogel-im-wald-2"
    changed = client.patch("/api/v1/projects/vogel-im-wald", json={"rerun_answers": 7, "archived": True})
    assert changed.status_code == 200, changed.text
    read = client.get("/api/v1/projects/vogel-im-wald").json()
    assert (read["rerun_answers"], read["n_clusters"]) == (7, 5)
    assert read["archived_at"] is not None
    first = client.get("/api/v1/projects?limit=1").json()
    assert [p["key"] for p in first["projects"]] == ["vogel-im-wald"]
    second = client.get("/api/v1/projects", params={"limit": 1, "after": first["next"]}).json()
    assert ([p["key"] for p in second["projects"]], second["next"]) == (["vogel-im-wald-2"], None)
    assert client.patch("/api/v1/projects/vogel-im-wald", json={"archived": False}).json()["archived_at"] is None


def test_others_see_nothing(client: TestClient, database: Database) -> None:
    with database.transaction() as session:
        make_project(session, "secret")
    assert client.get("/api/v1/projects").json()["projects"] == []
    for method in ("GET", "PATCH", "DELETE"):
        assert client.request(method, "/api/v1/projects/secret", json={}).status_code == 404


def test_a_taken_key_is_refused(client: TestClient) -> None:
    assert client.post("/api/v1/projects", json={"name": "A", "key": "a"}).status_code == 201
    refused = client.post("/api/v1/projects", json={"name": "B", "key": "a"})
    assert refused.status_code == 409
    assert refused.json()["errors"][0]["field"] == "key"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "a", "key": "No spaces"}, "key"),
        ({"name": "a", "question_kind": "pair"}, "question_kind"),
        ({"name": "a", "n_clusters": 0}, "n_clusters"),
        ({"name": "a", "redundancy": 0}, "redundancy"),
        ({"name": "a", "informative_share": 1.5}, "informative_share"),
        ({"name": "a", "colour": "red"}, "colour"),
        ({"name": "a", "algorithm": "magic"}, "algorithm"),
        ({"name": "a", "parameters": {"epsilon": 2}}, "parameters.epsilon"),
        ({"name": "a", "guidelines": "half a pair \ud800"}, "guidelines"),
        ({"name": "a", "redundancy": None}, ""),
    ],
)
def test_wrong_settings_name_the_field(client: TestClient, database: Database, body: dict, field: str) -> None:
    answer = client.post("/api/v1/projects", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert [e["field"] for e in answer.json()["errors"]] == [field or "body"]
    with database.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Project)) == 0


def test_more_clusters_than_items_are_refused(client: TestClient, database: Database) -> None:
    client.post("/api/v1/projects", json={"name": "Few", "n_clusters": 3})
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        session.add_all(Item(project_id=project.id, key=f"i{i}", position=i) for i in range(4))
    refused = client.patch("/api/v1/projects/few", json={"n_clusters": 5})
    assert refused.status_code == 422
    assert "5 clusters" in refused.json()["errors"][0]["detail"]
    assert client.get("/api/v1/projects/few").json()["n_clusters"] == 3


def test_members_come_and_go(client: TestClient, database: Database) -> None:
    client.post("/api/v1/projects", json={"name": "Team"})
    with database.transaction() as session:
        bo = add_member(session, session.scalars(sa.select(Project)).one(), Role.ANALYST, "Bo").id
    same = client.patch(f"/api/v1/projects/team/members/{bo}", json={"role": "labeler"})
    assert (same.json()["id"], same.json()["role"]) == (bo, "labeler")
    listed = client.get("/api/v1/projects/team/members").json()["members"]
    assert [m["role"] for m in listed] == ["owner", "labeler"]
    me = listed[0]["id"]
    assert client.delete(f"/api/v1/projects/team/members/{me}").status_code == 409
    demoted = client.patch(f"/api/v1/projects/team/members/{me}", json={"role": "labeler"})
    assert demoted.status_code == 409
    assert client.delete(f"/api/v1/projects/team/members/{bo}").status_code == 200
    assert client.delete(f"/api/v1/projects/team/members/{bo}").status_code == 404


def test_an_analyst_may_change_but_not_delete(client: TestClient, database: Database) -> None:
    with database.transaction() as session:
        analyst = add_member(session, make_project(session), Role.ANALYST)
        token = make_token(session, analyst)
        narrow = make_token(session, analyst, Scope.READ)
    credentials = {"Authorization": f"Bearer {token}"}
    assert client.patch("/api/v1/projects/songs", json={"redundancy": 2}, headers=credentials).status_code == 200
    assert client.delete("/api/v1/projects/songs", headers=credentials).status_code == 403
    reading = {"Authorization": f"Bearer {narrow}"}
    assert client.patch("/api/v1/projects/songs", json={"redundancy": 3}, headers=reading).status_code == 403
    assert client.post("/api/v1/projects", json={"name": "x"}, headers=reading).status_code == 403


def test_delete_takes_everything_along(client: TestClient, database: Database, storage: Storage) -> None:
    client.post("/api/v1/projects", json={"name": "Old", "n_clusters": 2})
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        user = session.scalars(sa.select(User)).first()
        items = [Item(project_id=project.id, key=f"i{i}", position=i) for i in range(3)]
        session.add_all(items)
        session.flush()
        a, b, c = (item.id for item in items)
        triplet = Triplet(project_id=project.id, anchor_id=a, left_id=b, right_id=c, source="client")
        session.add(triplet)
        session.flush()
        session.add(
            Answer(
                id=uuid.uuid4(),
                project_id=project.id,
                number=1,
                triplet_id=triplet.id,
                labeler_id=user.id,
                value="yes",
            )
        )
        features = add_features(session, storage, project, np.zeros((3, 2)))
        run = Run(project_id=project.id, number=1, algorithm="dcrc", due_at=user.created_at, feature_set_id=features.id)
        session.add(run)
        session.flush()
        picture = storage.put(f"projects/{project.id}/picture/x.webp", b"picture")
        result = storage.put(f"runs/{run.id}/result.npz", b"result")
    assert client.delete("/api/v1/projects/old").status_code == 200
    remove_long_deleted(database, storage)
    assert client.post("/api/v1/projects/old/undelete").status_code == 200, "nothing is removed before 30 days"
    assert client.delete("/api/v1/projects/old").status_code == 200
    with database.transaction() as session:
        session.execute(sa.update(Project).values(deleted_at=now() - DELETED_FOR - timedelta(seconds=1)))
    remove_long_deleted(database, storage)
    with database.reading() as session:
        left = {
            table.name: session.scalar(sa.select(sa.func.count()).select_from(table))
            for table in Base.metadata.sorted_tables
        }
    assert {name for name, count in left.items() if count} == {"user", "api_token", "audit"}
    assert not storage.exists(picture)
    assert not storage.exists(result)
    assert client.get("/api/v1/projects/old").status_code == 404
    with database.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Membership)) == 0


def test_broken_json_says_where_reading_stopped(client: TestClient, database: Database) -> None:
    body = '{"name": "Birds", n_clusters: 5}'
    refused = client.post("/api/v1/projects", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    [fault] = refused.json()["errors"]
    assert fault["field"] == "body"
    assert fault["detail"].startswith(f"is not JSON at character {body.index('n_clusters')}: ")
    with database.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Project)) == 0


@pytest.mark.parametrize("state", ["queued", "claimed", "computing"])
def test_a_project_is_deleted_whatever_its_run_is_doing(
    client: TestClient, database: Database, storage: Storage, settings: Settings, state: str
) -> None:
    client.post("/api/v1/projects", json={"name": "Old", "n_clusters": 2})
    items = {"items": [{"key": f"i{number}"} for number in range(6)]}
    assert client.post("/api/v1/projects/old/items", json=items).status_code == 201
    buffer = io.BytesIO()
    np.save(buffer, np.arange(12.0).reshape(6, 2))
    sent = client.put("/api/v1/projects/old/features", params={"filename": "X.npy"}, content=buffer.getvalue())
    assert sent.status_code == 200, sent.text
    with database.reading() as session:
        run_id = session.scalars(sa.select(Run.id)).one()
    if state != "queued":
        assert lifecycle.claim_next(database, 15) is not None
    taken = lifecycle.begin_task(database, run_id, 15) if state == "computing" else None
    assert client.delete("/api/v1/projects/old").json() == {"deleted": "old"}
    for path in ("", "/runs/1", "/runs/latest/clusters", "/events"):
        assert client.get(f"/api/v1/projects/old{path}").status_code == 404
    assert run_job(place(settings), run_id) == "superseded"
    assert taken is None or not lifecycle.renew(database, run_id, taken.token, 15)
    again = client.post("/api/v1/projects", json={"name": "New", "key": "old"})
    assert (again.status_code, again.json()["errors"][0]["detail"]) == (409, "is taken by a deleted project")
    assert client.get("/api/v1/projects").json()["projects"] == []
    assert client.post("/api/v1/projects/old/undelete").json()["key"] == "old"
    assert client.get("/api/v1/projects/old/runs").json()["runs"][0]["status"] == "cancelled"
    assert client.post("/api/v1/projects/old/undelete").status_code == 409


def test_settings_are_copied(client: TestClient) -> None:
    settings = {"n_clusters": 5, "redundancy": 2, "guidelines": "Listen.", "parameters": {"epsilon": 0.2}}
    assert client.post("/api/v1/projects", json={"name": "First", **settings}).status_code == 201
    copy = client.post("/api/v1/projects", json={"name": "Second", "settings_of": "first", "redundancy": 3})
    assert copy.status_code == 201, copy.text
    assert {name: copy.json()[name] for name in settings} == settings | {"redundancy": 3}
    assert copy.json()["name"] == "Second"
    nowhere = client.post("/api/v1/projects", json={"name": "Third", "settings_of": "nowhere"})
    assert nowhere.status_code == 404
