"""Sessions end on the server: a copied cookie is worth nothing after sign-out, idleness or a sign-out everywhere."""

import re
from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from tercet.accounts import service, sessions
from tercet.accounts.access import hash_token
from tercet.accounts.usage import IDLE, LONGEST, Uses
from tercet.database import Database
from tercet.models import BrowserSession, Role, User, now
from tests.factories import add_member, make_project, make_session, make_user, signed_in

HTML = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}


def sign_in(client: TestClient, database: Database, user: User) -> str:
    """Sign in by a link; return the cookie."""
    with database.transaction() as session:
        link = service.make_sign_in_link(session, user)
    client.post(f"/sign-in/{link}", headers=HTML, follow_redirects=False)
    return client.cookies["tercet"]


def works(app: FastAPI, cookie: str) -> bool:
    with TestClient(app, cookies={"tercet": cookie}) as thief:
        return thief.get("/account").status_code == 200


@pytest.fixture
def ada(database: Database) -> User:
    with database.transaction() as session:
        return make_user(session)


def count(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(BrowserSession)) or 0


def test_a_copied_cookie_ends_with_the_sign_out(app: FastAPI, database: Database, ada: User) -> None:
    with TestClient(app) as client:
        copied = sign_in(client, database, ada)
        assert works(app, copied)
        assert client.post("/sign-out", headers=HTML, follow_redirects=False).status_code == 303
        assert "tercet" not in client.cookies
    assert not works(app, copied)
    assert count(database) == 0


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156 Safari/537",
            "Chrome on Linux",
        ),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140 Safari/537.36 Edg/140", "Edge on Windows"),
        ("Phone <1>", "Phone <1>"),
        ("", ""),
    ],
)
def test_browsers_are_named_in_words(user_agent: str, name: str) -> None:
    assert sessions.browser_name(user_agent) == name


def test_signing_in_again_is_another_session(app: FastAPI, database: Database, ada: User) -> None:
    with TestClient(app) as client:
        first = sign_in(client, database, ada)
        second = sign_in(client, database, ada)
    assert first != second
    assert not works(app, first), "nobody can have fixed it before"
    assert works(app, second)


def test_sessions_are_listed_and_ended_one_by_one_or_all(app: FastAPI, database: Database, ada: User) -> None:
    with (
        TestClient(app, headers={"User-Agent": "Phone <1>"}) as phone,
        TestClient(app, headers={"User-Agent": "Desk"}) as desk,
    ):
        sign_in(phone, database, ada)
        sign_in(desk, database, ada)
        page = desk.get("/account", headers=HTML).text
        assert "Phone &lt;1&gt;" in page
        assert re.search(r"Desk <strong>\(this one\)", page)
        with database.reading() as session:
            of_phone = session.scalar(select(BrowserSession.id).where(BrowserSession.browser == "Phone <1>"))
        assert desk.post(f"/account/sessions/{of_phone}/end", headers=HTML, follow_redirects=False).status_code == 303
        assert phone.get("/account").status_code == 401
        assert desk.get("/account").status_code == 200
        sign_in(phone, database, ada)
        assert desk.post("/account/sessions/end", headers=HTML, follow_redirects=False).status_code == 303
        assert (phone.get("/account").status_code, desk.get("/account").status_code) == (401, 401)


def test_nobody_ends_the_session_of_another(app: FastAPI, database: Database, ada: User) -> None:
    with database.transaction() as session:
        make_session(session, ada.id)
        eve = make_user(session, "Eve")
        number = session.scalars(select(BrowserSession.id)).one()
    with signed_in(app, eve) as client:
        assert client.post(f"/account/sessions/{number}/end").status_code == 404
    assert count(database) == 2


def test_a_session_ends_without_use_and_at_the_latest_after_a_month(
    app: FastAPI, database: Database, ada: User
) -> None:
    with database.transaction() as session:
        cookie = make_session(session, ada.id)

    def let_pass(seen: timedelta, created: timedelta) -> BrowserSession:
        with database.transaction() as session:
            times = {"seen_at": now() - seen, "created_at": now() - created}
            session.execute(update(BrowserSession).values(**times))
        Uses(database).note_session(hash_token(cookie))
        with database.reading() as session:
            return session.scalars(select(BrowserSession)).one()

    used = let_pass(timedelta(days=6), timedelta(days=6))
    assert abs(used.expires_at - now() - IDLE) < timedelta(minutes=1)
    used = let_pass(timedelta(days=1), timedelta(days=28))
    assert abs(used.expires_at - used.created_at - LONGEST) < timedelta(minutes=1), "use does not keep it for ever"
    unused = used.expires_at
    assert let_pass(timedelta(minutes=1), timedelta(days=28)).expires_at == unused, "not written at every request"
    with database.transaction() as session:
        session.execute(update(BrowserSession).values(expires_at=now()))
    assert not works(app, cookie)
    Uses(database).note_session("unknown")


def test_sessions_that_are_over_are_forgotten(database: Database, ada: User) -> None:
    with database.transaction() as session:
        make_session(session, ada.id)
        session.execute(update(BrowserSession).values(expires_at=now()))
        make_session(session, ada.id)
    sessions.forget_ended(database)
    with database.reading() as session:
        assert session.scalars(select(BrowserSession.expires_at)).one() > now()


def test_a_session_that_ended_stores_no_answer(app: FastAPI, database: Database) -> None:
    with database.transaction() as session:
        labeler = add_member(session, make_project(session, n_items=3), Role.LABELER)
    answer = {"id": "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001", "triplet": ["item-0", "item-1", "item-2"], "answer": "yes"}
    with signed_in(app, labeler) as client:
        assert client.get("/api/v1/projects/songs/triplets/next").status_code == 200
        with database.transaction() as session:
            session.execute(update(BrowserSession).values(expires_at=now()))
        for _ in range(2):
            assert client.get("/api/v1/projects/songs/triplets/next").status_code == 401
            assert client.post("/api/v1/projects/songs/answers", json=answer).status_code == 401


def test_who_is_disabled_is_out_at_once(app: FastAPI, database: Database, ada: User) -> None:
    with database.transaction() as session:
        cookie, link = make_session(session, ada.id), service.make_sign_in_link(session, ada)
        token = service.make_api_token(session, ada, "script", service.Scope.READ)
    assert works(app, cookie)
    with database.transaction() as session:
        session.execute(update(User).values(disabled_at=now()))
    assert not works(app, cookie)
    with TestClient(app) as client:
        assert client.post(f"/sign-in/{link}").status_code == 404
        answer = client.get("/api/v1/projects", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, "may not come in" in answer.text) == (401, True)
