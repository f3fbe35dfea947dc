"""Administrators see who has an account, add people, and take back what was given, on one page."""

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.accounts import service
from tercet.database import Database
from tercet.models import AuditEntry, Role, User
from tests.factories import add_member, make_project, make_user, signed_in

pytestmark = pytest.mark.only_on("sqlite")
ADA = "ada@example.org"


@pytest.fixture
def admin(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with database.transaction() as session:
        ruth = make_user(session, "Ruth", is_admin=True)
    with signed_in(app, ruth) as client:
        yield client


def number_of(database: Database, email: str) -> int:
    with database.reading() as session:
        return session.scalars(select(User.id).where(User.email == email)).one()


def test_somebody_is_added_and_comes_in_by_the_link(app: FastAPI, database: Database, admin: TestClient) -> None:
    added = admin.post("/users", data={"email": ADA, "name": "Ada"})
    assert (added.status_code, added.headers["Cache-Control"]) == (201, "no-store")
    [link] = re.findall(r"/sign-in/[\w-]{40,}", added.text)
    with TestClient(app, headers={"Sec-Fetch-Site": "same-origin"}) as client:
        assert client.post(link, follow_redirects=False).status_code == 303
        assert ADA in client.get("/account").text
    assert "signed in in 1 browser" in admin.get("/users").text
    again = admin.post("/users", data={"email": ADA})
    assert again.status_code == 409
    assert f"There is a user with the address {ADA} already." in again.text
    wrong = admin.post("/users", data={"email": "no address"})
    assert wrong.status_code == 422
    assert "expected something like ada@example.org" in wrong.text


def test_what_was_given_is_taken_back(app: FastAPI, database: Database, admin: TestClient) -> None:
    admin.post("/users", data={"email": ADA, "name": "Ada"})
    ada = number_of(database, ADA)

    def press(what: str) -> int:
        return admin.post(f"/users/{ada}/{what}", follow_redirects=False).status_code

    with database.reading() as session:
        user = session.get_one(User, ada)
    with signed_in(app, user) as client:
        assert press("sign-out") == 303
        assert client.get("/account").status_code == 401
    with signed_in(app, user) as client:
        assert press("disable") == 303
        assert client.get("/account").status_code == 401
    assert "kept out since" in admin.get("/users").text
    assert press("enable") == 303
    assert "/sign-in/" in admin.post(f"/users/{ada}/link").text
    with database.reading() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.what == "sign-in link made")).one()
        assert (entry.by_name, entry.after["user"]) == ("Ruth", ada)
    assert press("delete") == 303
    assert ADA not in admin.get("/users").text


def test_nobody_locks_themselves_out_and_no_answers_go(database: Database, admin: TestClient) -> None:
    with database.transaction() as session:
        [ruth] = session.scalars(select(User.id))
        owner = add_member(session, make_project(session), Role.OWNER, "Olga")
        labeler = service.make_user(session, "came by a link")
    assert admin.post(f"/users/{ruth}/disable").status_code == 409
    refused = admin.post(f"/users/{owner.id}/delete")
    assert (refused.status_code, "is the only owner of" in refused.text) == (409, True)
    assert admin.post(f"/users/{labeler.id}/link").status_code == 404
