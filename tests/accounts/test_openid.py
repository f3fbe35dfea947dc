"""Signing in by an OpenID Connect provider, which runs here: what is accepted, and everything that is not."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.testclient import TestClient
from joserfc.jwk import OctKey
from sqlalchemy import select

from tercet.accounts.access import hash_token
from tercet.database import Database
from tercet.demo.server import free_port
from tercet.main import create_app
from tercet.models import AuditEntry, Invitation, User, now
from tercet.settings import Settings
from tercet.web import rates
from tercet.web.outgoing import trusted_authorities
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, FOREIGN_KEY, TestProvider, running_provider
from tests.factories import make_project, make_user, row_counts

pytestmark = pytest.mark.only_on("sqlite")
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def running() -> Iterator[TestProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: TestProvider) -> TestProvider:
    running.reset()
    running.requests.clear()
    return running


@pytest.fixture
def with_provider(settings: Settings, provider: TestProvider) -> Settings:
    client = {"oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET, "oidc_name": "Analytical & Co"}
    return settings.model_copy(update={"oidc_issuer": provider.url, **client})


@pytest.fixture
def visitor(with_provider: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(with_provider), headers=HTML, follow_redirects=False) as client:
        yield client


@pytest.fixture
def ada(database: Database) -> User:
    with database.transaction() as session:
        user = make_user(session)
        user.email = "ada@example.org"
        return user


def go(visitor: TestClient) -> str:
    """Follow the button to the provider; return the address that it sends the browser back to."""
    begun = visitor.get("/sign-in/openid")
    assert begun.status_code == 303, begun.text
    return httpx.get(begun.headers["location"], verify=trusted_authorities()).headers["location"]


def is_refused(visitor: TestClient, back: str, status: int, words: str) -> None:
    answer = visitor.get(back)
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert "Sign in with Analytical &amp; Co" in answer.text, "there is a way to go on"
    assert "tercet" not in visitor.cookies
    assert visitor.get("/account").status_code == 401


def test_signed_in_like_by_any_other_way(visitor: TestClient, database: Database, ada: User) -> None:
    page = visitor.get("/sign-in").text
    assert 'href="/sign-in/openid"' in page
    done = visitor.get(go(visitor))
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert "tercet-attempt" not in visitor.cookies
    account = visitor.get("/account")
    assert "ada@example.org" in account.text
    with database.reading() as session:
        entry = session.scalars(select(AuditEntry).order_by(AuditEntry.number.desc())).first()
        assert entry is not None
        assert (entry.what, entry.after) == ("signed in", {"by": "OpenID Connect"})
        assert session.scalar(select(User.name)) == "Ada", "the provider's name replaces none"
    assert visitor.post("/sign-out", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303
    assert visitor.get("/account").status_code == 401


def test_below_a_path_and_with_the_secret_in_the_form(
    with_provider: Settings, ada: User, provider: TestProvider
) -> None:
    provider.methods = ["client_secret_post"]
    app = create_app(with_provider.model_copy(update={"public_url": "https://example.org/tercet"}))
    with TestClient(app, base_url="https://example.org", headers=HTML, follow_redirects=False) as visitor:
        assert 'href="/tercet/sign-in/openid"' in visitor.get("/tercet/sign-in").text
        begun = visitor.get("/tercet/sign-in/openid")
        assert "; Path=/tercet/sign-in; SameSite=lax; Secure" in begun.headers["set-cookie"]
        back = httpx.get(begun.headers["location"], verify=trusted_authorities()).headers["location"]
        assert back.startswith("https://example.org/tercet/sign-in/openid/callback?")
        assert visitor.get(back).headers["location"] == "/tercet/"
        assert visitor.get("/tercet/account").status_code == 200


def test_another_state_another_browser_and_the_same_code_again(
    visitor: TestClient, with_provider: Settings, ada: User, provider: TestProvider
) -> None:
    back = go(visitor)
    code = parse_qs(urlsplit(back).query)["code"][0]
    with TestClient(create_app(with_provider), headers=HTML, follow_redirects=False) as other:
        is_refused(other, back, 403, "not begun in this browser")
    for state in ("x", "\u00e9", ""):
        visitor.get("/sign-in/openid")
        is_refused(visitor, f"/sign-in/openid/callback?code={code}&state={state}", 403, "not begun in this browser")
    assert "/token" not in provider.requests, "nobody asks for tokens before the state is right"
    back = go(visitor)
    attempt = visitor.cookies["tercet-attempt"]
    assert visitor.get(back).status_code == 303
    visitor.cookies.clear()
    visitor.cookies.set("tercet-attempt", attempt)
    is_refused(visitor, back, 403, "did not confirm who you are")


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"nonce": "x"}, "could not be verified"),
        ({"exp": 1_700_000_000}, "could not be verified"),
        ({"aud": "somebody-else"}, "could not be verified"),
        ({"iss": "https://elsewhere.example.org"}, "could not be verified"),
        ({"azp": "somebody-else"}, "could not be verified"),
        ({"email_verified": False}, "has not verified your address"),
        ({"email_verified": "false"}, "has not verified your address"),
        ({"email": None}, "has not verified your address"),
        ({"email": "nobody at all"}, "is no address"),
        ({"email": "eve@example.org"}, "eve@example.org has no account here"),
    ],
    ids=str,
)
def test_what_the_provider_must_not_say(
    visitor: TestClient, database: Database, ada: User, provider: TestProvider, claims: dict[str, Any], words: str
) -> None:
    before = row_counts(database)
    provider.claims |= claims
    is_refused(visitor, go(visitor), 403, words)
    assert row_counts(database) == before


def test_signatures_of_others(visitor: TestClient, ada: User, provider: TestProvider) -> None:
    provider.key = FOREIGN_KEY
    is_refused(visitor, go(visitor), 403, "could not be verified")
    provider.key, provider.algorithm = OctKey.import_key(CLIENT_SECRET * 2), "HS256"  # type: ignore[assignment]
    is_refused(visitor, go(visitor), 403, "could not be verified")


def test_a_disabled_account(visitor: TestClient, database: Database, ada: User) -> None:
    with database.transaction() as session:
        session.get_one(User, ada.id).disabled_at = now()
    is_refused(visitor, go(visitor), 403, "disabled")


def test_who_is_new_comes_by_invitation_or_where_the_setting_lets_them(
    visitor: TestClient, database: Database, with_provider: Settings, provider: TestProvider
) -> None:
    is_refused(visitor, go(visitor), 403, "ada@example.org has no account here")
    with database.transaction() as session:
        project = make_project(session)
        for email, days in (("ada@example.org", 1), ("bob@example.org", -1)):
            values = {"role": "labeler", "token_hash": hash_token(email), "expires_at": now() + timedelta(days=days)}
            session.add(Invitation(project_id=project.id, email=email, **values))
    assert visitor.get(go(visitor)).status_code == 303
    visitor.cookies.clear()
    provider.claims |= {"email": "bob@example.org", "name": "\u202ebob"}
    is_refused(visitor, go(visitor), 403, "bob@example.org has no account here")
    with TestClient(
        create_app(with_provider.model_copy(update={"oidc_new_accounts": True})), headers=HTML, follow_redirects=False
    ) as open_to_all:
        assert open_to_all.get(go(open_to_all)).status_code == 303
    with database.reading() as session:
        users = session.execute(select(User.name, User.email, User.is_admin).order_by(User.id)).all()
    assert users == [("Ada L.", "ada@example.org", False), ("bob", "bob@example.org", False)]


def test_an_address_that_only_the_userinfo_has(with_provider: Settings, ada: User, provider: TestProvider) -> None:
    del provider.claims["email"], provider.claims["email_verified"]
    provider.userinfo = {"sub": "ada-1", "email": "ada@example.org", "email_verified": True}
    with TestClient(create_app(with_provider), headers=HTML, follow_redirects=False) as visitor:
        assert visitor.get(go(visitor)).status_code == 303
        visitor.cookies.clear()
        provider.userinfo["sub"] = "somebody else"
        is_refused(visitor, go(visitor), 502, "did not answer as it should")


@pytest.mark.parametrize(
    "answer",
    [
        RedirectResponse("https://elsewhere.example.org/token", 307),
        Response("<h1>Busy</h1>", 503),
        JSONResponse(["no object"]),
        JSONResponse({"access_token": "only"}),
    ],
    ids=["redirect", "busy", "list", "no id token"],
)
def test_answers_of_no_provider(visitor: TestClient, ada: User, provider: TestProvider, answer: Response) -> None:
    provider.token_answer = answer
    is_refused(visitor, go(visitor), 502, "did not answer as it should")


def test_no_stranger_closes_the_way_to_the_provider(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "PER_LINK", 2)
    assert [visitor.get("/sign-in/x").status_code for _ in range(3)] == [404, 404, 429]
    assert {visitor.get("/sign-in/openid").status_code for _ in range(3)} == {303}


def test_a_person_who_changes_their_mind(visitor: TestClient, ada: User) -> None:
    state = parse_qs(urlsplit(go(visitor)).query)["state"][0]
    is_refused(visitor, f"/sign-in/openid/callback?error=access_denied&state={state}", 403, "did not sign you in")


def test_a_provider_that_is_away_or_somebody_else(with_provider: Settings, provider: TestProvider) -> None:
    for issuer in (f"http://127.0.0.1:{free_port()}", provider.url.replace("127.0.0.1", "localhost")):
        settings = with_provider.model_copy(update={"oidc_issuer": issuer})
        with TestClient(create_app(settings), headers=HTML, follow_redirects=False) as visitor:
            is_refused(visitor, "/sign-in/openid", 502, "could not be reached")


def test_without_a_provider(anonymous: TestClient) -> None:
    assert "openid" not in anonymous.get("/sign-in").text
    assert anonymous.get("/sign-in/openid", follow_redirects=False).status_code == 404
    assert anonymous.get("/sign-in/openid/callback", follow_redirects=False).status_code == 404
