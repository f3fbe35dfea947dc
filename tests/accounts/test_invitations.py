"""Invitations: who can accept one, as whom, with which role, and what an owner learns of others by making one."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts import service
from tercet.database import Database
from tercet.models import Invitation, Membership, Project, Role, User, now
from tests.factories import add_member, make_project, signed_in

API = "/api/v1/projects/songs/invitations"
HTML = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def owner(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with database.transaction() as session:
        user = add_member(session, make_project(session), Role.OWNER)
    with signed_in(app, user) as client:
        yield client


def invite(owner: TestClient, email: str = "bo@example.org", role: Role = Role.ANALYST) -> str:
    """Make an invitation; return the path of its link."""
    made = owner.post(API, json={"email": email, "role": role})
    assert made.status_code == 201, made.text
    return str(made.json()["url"]).removeprefix("http://testserver")


def role_of(database: Database, email: str) -> str | None:
    with database.reading() as session:
        return session.scalar(sa.select(Membership.role).join(User).where(User.email == email))


def test_somebody_new_joins_with_a_new_account(app: FastAPI, owner: TestClient, database: Database) -> None:
    link = invite(owner, "Bo@example.org")
    with TestClient(app, headers=HTML) as browser:
        page = browser.get(link)
        assert (page.status_code, "As analyst you may" in page.text) == (200, True)
        assert role_of(database, "bo@example.org") is None, "looking at the page changes nothing"
        joined = browser.post(link, data={"name": "Bo"})
        assert (joined.status_code, joined.url.path) == (200, "/projects/songs")
        assert browser.get("/account").status_code == 200
        again = browser.post(link)
        assert (again.status_code, "does not work any more" in again.text) == (404, True)
    assert role_of(database, "bo@example.org") == Role.ANALYST
    assert owner.get(API).json() == {"invitations": []}


def test_somebody_with_an_account_joins_as_themselves(app: FastAPI, owner: TestClient, database: Database) -> None:
    with database.transaction() as session:
        bo = service.make_user(session, "Bo", email="bo@example.org")
    link = invite(owner, role=Role.LABELER)
    with TestClient(app, headers=HTML) as stranger:
        refused = stranger.post(link, data={"name": "Bo"})
        assert (refused.status_code, "Sign in first" in refused.text) == (409, True)
        assert stranger.get("/account").status_code == 401, "a link lets nobody in as somebody else"
    with signed_in(app, bo) as browser:
        browser.headers.update(HTML)
        assert "Join as Bo" in browser.get(link).text
        assert browser.post(link, follow_redirects=False).headers["location"] == "/projects/songs/label"
    assert role_of(database, "bo@example.org") == Role.LABELER


def test_an_invitation_says_nothing_of_who_has_an_account(owner: TestClient, database: Database) -> None:
    with database.transaction() as session:
        service.make_user(session, "Known", email="known@example.org")
    answers = [owner.post(API, json={"email": f"{who}@example.org", "role": "labeler"}) for who in ("known", "new")]
    first, second = ({**answer.json(), "status": answer.status_code} for answer in answers)
    assert set(first) == set(second)
    assert [first[name] for name in ("role", "status")] == [second[name] for name in ("role", "status")]
    assert len(owner.get("/api/v1/projects/songs/members").json()["members"]) == 1


@pytest.mark.parametrize("end", ["revoked", "expired", "invited again", "project deleted"])
def test_links_end(app: FastAPI, owner: TestClient, database: Database, end: str) -> None:
    link = invite(owner)
    if end == "revoked":
        assert owner.delete(f"{API}/{owner.get(API).json()['invitations'][0]['id']}").status_code == 200
    elif end == "invited again":
        newest = invite(owner, role=Role.OWNER)
        assert [row["role"] for row in owner.get(API).json()["invitations"]] == ["owner"]
        assert owner.get(newest).status_code == 200
    else:
        with database.transaction() as session:
            session.execute(sa.update(Invitation).values(expires_at=now() - timedelta(seconds=1)))
            if end == "project deleted":
                session.execute(sa.update(Invitation).values(expires_at=now() + timedelta(days=1)))
                session.execute(sa.update(Project).values(deleted_at=now()))
    with TestClient(app, headers=HTML) as browser:
        assert browser.get(link).status_code == 404
        assert browser.post(link, data={"name": "Bo"}).status_code == 404
    with database.reading() as session:
        assert session.scalars(sa.select(User.email)).all().count("bo@example.org") == 0


def test_members_keep_a_role_that_may_do_more(app: FastAPI, owner: TestClient, database: Database) -> None:
    link = invite(owner, role=Role.ANALYST)
    with database.reading() as session:
        user = session.scalars(sa.select(User)).one()
    with signed_in(app, user) as browser:
        assert browser.post(link, follow_redirects=False).headers["location"] == "/projects/songs"
    with database.reading() as session:
        assert session.scalars(sa.select(Membership.role)).all() == [Role.OWNER]
