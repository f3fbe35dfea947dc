"""Passwords: set by who is signed in, good for signing in, and of no use to who guesses."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts import service
from tercet.database import Database
from tercet.models import AuditEntry, BrowserSession, User, now
from tests.factories import make_session, make_user, signed_in

PASSWORD = "apricot ladder seventeen fog"
HTML = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def ada(database: Database) -> User:
    with database.transaction() as session:
        return service.make_user(session, "Ada", email="ada@example.org")


@pytest.fixture
def client(app: FastAPI, ada: User) -> Iterator[TestClient]:
    """Ada's browser, in which she has set her password."""
    with signed_in(app, ada) as browser:
        browser.headers.update(HTML)
        assert "You have none" in browser.get("/account").text
        done = browser.post("/account/password", data={"password": PASSWORD})
        assert (done.status_code, "Changed." in done.text) == (200, True)
        yield browser


def sign_in(app: FastAPI, email: str = "ada@example.org", password: str = PASSWORD) -> int:
    with TestClient(app, headers=HTML) as client:
        answer = client.post("/sign-in", data={"email": email, "password": password}, follow_redirects=False)
        return answer.status_code


def test_a_password_signs_in_until_it_is_changed_or_removed(
    app: FastAPI, client: TestClient, database: Database
) -> None:
    with database.reading() as session:
        stored = session.scalars(sa.select(User.password_hash)).one()
    assert stored is not None
    assert stored.startswith("$argon2id$")
    assert sign_in(app, " ADA@example.org") == 303
    changed = {"current": PASSWORD, "password": "another one, long enough"}
    assert client.post("/account/password", data=changed).status_code == 200
    assert (sign_in(app), sign_in(app, password=changed["password"])) == (401, 303)
    assert client.post("/account/password", data={"current": changed["password"]}).status_code == 200
    assert sign_in(app, password=changed["password"]) == 401
    assert sign_in(app, password="") in (401, 422)
    with database.reading() as session:
        deeds = session.scalars(sa.select(AuditEntry.what).order_by(AuditEntry.number)).all()
        written = str(session.scalars(sa.select(AuditEntry.after)).all())
    assert [deed for deed in deeds if "password" in deed] == ["password set", "password set", "password removed"]
    assert PASSWORD not in written


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"current": PASSWORD, "password": "short"}, "password"),
        ({"current": PASSWORD, "password": "it is ada@example.org"}, "password"),
        ({"current": "wrong", "password": "long enough to be one"}, "current"),
        ({"password": "long enough to be one"}, "current"),
    ],
)
def test_mistakes_change_nothing(app: FastAPI, client: TestClient, fields: dict[str, str], field: str) -> None:
    refused = client.post("/account/password", data=fields)
    assert (refused.status_code, f'id="{field}-problem"' in refused.text) == (422, True)
    assert sign_in(app) == 303


def test_other_sessions_end_when_it_is_set(app: FastAPI, client: TestClient, ada: User, database: Database) -> None:
    with database.transaction() as session:
        make_session(session, ada.id)
    client.post("/account/password", data={"current": PASSWORD, "password": "another one, long enough"})
    with database.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(BrowserSession)) == 1
    assert client.get("/account").status_code == 200


@pytest.mark.usefixtures("client")
def test_guessing_ends_soon_and_tells_nothing(app: FastAPI, ada: User, database: Database) -> None:
    with database.transaction() as session:
        make_user(session, "Bo")
    with TestClient(app, headers=HTML) as stranger:
        pages = [
            stranger.post("/sign-in", data={"email": email, "password": "guess"})
            for email in ("ada@example.org", "nobody@example.org")
        ]
        assert [page.status_code for page in pages] == [401, 401]
        assert pages[0].text.replace("ada@", "nobody@") == pages[1].text
        statuses = [
            stranger.post("/sign-in", data={"email": "ada@example.org", "password": "guess"}).status_code
            for _ in range(12)
        ]
        assert statuses[-1] == 429
    with database.transaction() as session:
        session.execute(sa.update(User).where(User.id == ada.id).values(disabled_at=now()))
    app.state.rates = type(app.state.rates)()
    assert sign_in(app) == 401
