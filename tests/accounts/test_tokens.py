"""API tokens: made once in the browser, limited by scope, role and time, and noted when used."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.accounts import service
from tercet.accounts.access import hash_token
from tercet.accounts.usage import Uses
from tercet.database import Database
from tercet.errors import Invalid
from tercet.models import ApiToken, Membership, Project, Role, Scope, User, now
from tests.factories import add_member, make_project, make_token, make_user, signed_in

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def owner(database: Database) -> User:
    with database.transaction() as session:
        return add_member(session, make_project(session), Role.OWNER)


def token_row(database: Database) -> ApiToken:
    with database.reading() as session:
        return session.scalars(select(ApiToken)).one()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_from_the_account_page_to_a_request_and_its_end(
    app: FastAPI, database: Database, owner: User, anonymous: TestClient
) -> None:
    with signed_in(app, owner) as client:
        response = client.post("/account/tokens", data={"name": "my script", "scope": "read", "days": "30"})
        token = re.findall(r"tercet_[\w-]{43}", response.text)[0]
        assert response.status_code == 201
        assert response.headers["Cache-Control"] == "no-store"
        again = client.get("/account").text
        assert token not in again
        assert "my script" in again
        assert anonymous.get("/api/v1/projects/songs", headers=bearer(token)).status_code == 200
        row = token_row(database)
        assert row.token_hash == hash_token(token)
        assert row.expires_at is not None
        assert timedelta(days=29) < row.expires_at - now() < timedelta(days=31)
        assert client.post(f"/account/tokens/{row.id}/revoke", follow_redirects=False).status_code == 303
        assert "my script" not in client.get("/account").text
    assert anonymous.get("/api/v1/projects/songs", headers=bearer(token)).status_code == 401


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"name": "", "scope": "read"}, "name"),
        ({"name": "   ", "scope": "read"}, "name"),
        ({"name": "a\nb", "scope": "read"}, "name"),
        ({"name": "x" * 201, "scope": "read"}, "name"),
        ({"name": "a", "scope": "all"}, "scope"),
        ({"name": "a", "scope": "read", "days": "0"}, "days"),
        ({"name": "a", "scope": "read", "days": "-1"}, "days"),
        ({"name": "a", "scope": "read", "days": "99999999999"}, "days"),
        ({"name": "a", "scope": "read", "days": "soon"}, "days"),
    ],
)
def test_a_wrong_form_makes_no_token(
    app: FastAPI, database: Database, owner: User, form: dict[str, str], field: str
) -> None:
    with signed_in(app, owner) as client:
        answer = client.post("/account/tokens", data=form)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    with database.reading() as session:
        assert session.scalars(select(ApiToken)).all() == []


def test_a_token_makes_and_revokes_no_tokens(database: Database, owner: User, anonymous: TestClient) -> None:
    with database.transaction() as session:
        token = make_token(session, owner, Scope.OWN)
    form = {"name": "another", "scope": "own"}
    assert anonymous.post("/account/tokens", data=form, headers=bearer(token)).status_code == 403
    assert anonymous.get("/account", headers=bearer(token)).status_code == 403
    row = token_row(database)
    assert anonymous.post(f"/account/tokens/{row.id}/revoke", headers=bearer(token)).status_code == 403
    assert token_row(database).revoked_at is None


def test_nobody_revokes_another_ones_token(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        make_token(session, owner)
        somebody_else = make_user(session)
    with signed_in(app, somebody_else) as client:
        assert client.post(f"/account/tokens/{token_row(database).id}/revoke").status_code == 404
    assert token_row(database).revoked_at is None


@pytest.mark.parametrize("change", [{"revoked_at": LONG_AGO}, {"expires_at": LONG_AGO}])
def test_a_token_that_ended(
    database: Database, owner: User, anonymous: TestClient, change: dict[str, datetime]
) -> None:
    with database.transaction() as session:
        token = make_token(session, owner)
        session.execute(update(ApiToken).values(**change))
    answer = anonymous.get("/api/v1/projects/songs", headers=bearer(token))
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "revoked or has expired" in answer.json()["detail"]


def test_a_role_limits_what_a_token_may(database: Database, anonymous: TestClient) -> None:
    with database.transaction() as session:
        labeler = add_member(session, make_project(session), Role.LABELER)
        token = make_token(session, labeler, Scope.OWN)
    assert anonymous.delete("/api/v1/projects/songs", headers=bearer(token)).status_code == 403
    with database.reading() as session:
        assert session.scalars(select(Project.key)).all() == ["songs"]


@pytest.mark.parametrize(
    ("scope", "reads", "labels", "writes"),
    [
        (Scope.READ, 200, 403, 403),
        (Scope.LABEL, 403, 200, 403),
        (Scope.WRITE, 200, 200, 200),
        (Scope.OWN, 200, 200, 200),
    ],
)
def test_a_scope_limits_what_a_token_may(
    database: Database, owner: User, anonymous: TestClient, scope: Scope, reads: int, labels: int, writes: int
) -> None:
    with database.transaction() as session:
        headers = bearer(make_token(session, owner, scope))
    project = "/api/v1/projects/songs"
    assert anonymous.get(f"{project}/runs", headers=headers).status_code == reads
    assert anonymous.get(f"{project}/triplets/next", headers=headers).status_code == labels
    assert anonymous.patch(project, json={"name": "Songs"}, headers=headers).status_code == writes


def test_labelers_of_a_link_have_no_tokens(app: FastAPI, database: Database, anonymous: TestClient) -> None:
    with database.transaction() as session:
        link = service.make_share_link(session, make_project(session))
        labeler = service.join(session, link, service.Visitor(None, "a secret"), participant="Ada").user
    with signed_in(app, labeler) as client:
        assert client.get("/api/v1/projects/songs").status_code == 200
        assert "labeling link" in client.get("/account").text
        refused = client.post("/account/tokens", data={"name": "mine", "scope": "own"})
    assert (refused.status_code, "account with your address" in refused.text) == (403, True)
    with database.transaction() as session:
        older = make_token(session, labeler)
    assert anonymous.get("/api/v1/projects/songs", headers=bearer(older)).status_code == 401


def test_use_is_noted_at_most_every_five_minutes(database: Database, owner: User, anonymous: TestClient) -> None:
    with database.transaction() as session:
        token = make_token(session, owner)
    anonymous.get("/api/v1/projects/songs", headers=bearer(token))
    first = token_row(database).last_used_at
    assert first is not None
    assert now() - first < timedelta(minutes=1)
    anonymous.get("/api/v1/projects/songs", headers=bearer(token))
    assert token_row(database).last_used_at == first
    # Another process noted it a moment ago: this one need not write.
    other_process = Uses(database)
    assert other_process.is_due(hash_token(token))
    other_process.note_token(hash_token(token))
    assert token_row(database).last_used_at == first
    assert not other_process.is_due(hash_token(token))
    with database.transaction() as session:
        session.execute(update(ApiToken).values(last_used_at=LONG_AGO))
    Uses(database).note_token(hash_token(token))
    assert token_row(database).last_used_at > first


def test_a_wrong_token_is_noted_nowhere(database: Database, anonymous: TestClient, app: FastAPI) -> None:
    assert anonymous.get("/api/v1/projects/songs", headers=bearer("wrong")).status_code == 401
    app.state.uses.note_token(hash_token("wrong"))
    assert app.state.uses.is_due(hash_token("wrong"))


def test_an_address_belongs_to_one_user(database: Database) -> None:
    with database.transaction() as session:
        service.make_user(session, "Ada", email=" Ada@Example.org ")
        assert session.scalars(select(User.email)).all() == ["ada@example.org"]
        for bad in ("ada", "@example.org", "ada@", "a b@example.org", "a\n@example.org"):
            with pytest.raises(Invalid):
                service.make_user(session, "Bad", email=bad)
        assert session.scalars(select(Membership)).all() == []


def test_a_token_for_one_project_reaches_no_other(
    app: FastAPI, database: Database, owner: User, anonymous: TestClient
) -> None:
    with database.transaction() as session:
        session.add(Membership(project_id=make_project(session, "other").id, user_id=owner.id, role=Role.OWNER))
        session.get_one(User, owner.id).is_admin = True
    with signed_in(app, owner) as client:
        made = client.post("/account/tokens", data={"name": "recorder", "scope": "own", "project": "songs"})
        token = re.findall(r"tercet_[\w-]{43}", made.text)[0]
        assert "for songs alone" in client.get("/account").text
        assert client.post("/account/tokens", data={"name": "x", "scope": "own", "project": "no"}).status_code == 404
        headers = bearer(token)
        assert anonymous.get("/api/v1/projects/songs/members", headers=headers).status_code == 200
        listed = anonymous.get("/api/v1/projects", headers=headers).json()["projects"]
        assert [project["key"] for project in listed] == ["songs"]
        assert "other" not in anonymous.get("/", headers=headers).text
        for method, path, status in (
            ("GET", "/api/v1/projects/other", 404),
            ("GET", "/api/v1/projects/other/triplets/next", 404),
            ("POST", "/api/v1/projects/other/answers", 404),
            ("POST", "/api/v1/projects", 403),
            ("GET", "/api/v1/audit", 403),
        ):
            assert anonymous.request(method, path, headers=headers, json={"name": "x"}).status_code == status, path
        [row] = client.get("/api/v1/projects/songs/tokens").json()["tokens"]
        assert (row["name"], row["user"], row["scope"]) == ("recorder", owner.name, "own")
        assert client.get("/api/v1/projects/other/tokens").json() == {"tokens": []}
        assert client.delete(f"/api/v1/projects/other/tokens/{row['id']}").status_code == 404
        assert "recorder" in client.get("/projects/songs/settings").text
        assert client.post(f"/projects/songs/settings/tokens/{row['id']}/revoke").status_code == 200
        assert client.get("/api/v1/projects/songs/tokens").json() == {"tokens": []}
    assert anonymous.get("/api/v1/projects/songs", headers=headers).status_code == 401
