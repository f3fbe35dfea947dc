"""Who may send a body is remembered for a minute, and that grants nothing; `tests/test_routes.py` has every route."""

import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts import admission
from tercet.accounts.access import Caller, authorize
from tercet.database import Database
from tercet.models import Membership, Project, Role, User
from tests.factories import add_member, make_project, signed_in

URL = "/api/v1/projects/songs/answers"


@pytest.fixture
def labeler(database: Database) -> User:
    with database.transaction() as session:
        return add_member(session, make_project(session, n_items=3), Role.LABELER)


def answer() -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "triplet": ["item-0", "item-1", "item-2"], "answer": "yes"}


def test_who_left_the_project_stores_nothing_more(app: FastAPI, database: Database, labeler: User) -> None:
    with signed_in(app, labeler) as client:
        assert client.post(URL, json=answer()).status_code == 201
        with database.transaction() as session:
            session.execute(sa.delete(Membership))
        assert client.post(URL, json=answer()).status_code == 404


def test_labelers_are_looked_up_once_a_minute(app: FastAPI, labeler: User, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[Caller] = []

    def authorize_noted(session: Any, caller: Caller, *about: Any) -> Any:
        looked_up.append(caller)
        return authorize(session, caller, *about)

    monkeypatch.setattr(admission, "authorize", authorize_noted)
    with signed_in(app, labeler) as client:
        for _ in range(3):
            assert client.post(URL, json=answer()).status_code == 201
        assert len(looked_up) == 1
        monkeypatch.setattr(admission, "MOST_ADMITTED", 1)
        assert client.post("/api/v1/projects/songs/skips", json={"triplet": answer()["triplet"]}).status_code == 201
        assert client.post(URL, json=answer()).status_code == 201
        assert len(looked_up) == 3, "one is forgotten for another"


def test_who_was_refused_is_looked_up_again(app: FastAPI, database: Database, labeler: User) -> None:
    with database.transaction() as session:
        make_project(session, "others", n_items=3)
    with signed_in(app, labeler) as client:
        others = "/api/v1/projects/others/answers"
        assert client.post(others, json=answer()).status_code == 404
        with database.transaction() as session:
            project = session.scalars(sa.select(Project).where(Project.key == "others")).one()
            session.add(Membership(project_id=project.id, user_id=labeler.id, role=Role.LABELER))
        assert client.post(others, json=answer()).status_code == 201


def test_a_body_without_its_size_is_a_body(anonymous: TestClient) -> None:
    def pieces() -> Any:
        yield b"{"

    for content in (pieces(), b"{"):
        assert anonymous.post(URL, content=content).status_code == 401
