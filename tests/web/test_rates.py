"""Who asks too often hears when to come again; everybody else is served meanwhile."""

import socket
import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.accounts import service
from tercet.database import Database
from tercet.errors import TooOften
from tercet.main import create_app
from tercet.models import Role, User
from tercet.settings import Settings
from tercet.web import rates
from tests.factories import add_member, make_project, make_token, signed_in

pytestmark = pytest.mark.only_on("sqlite")
FEW = 3


def statuses(client: TestClient, path: str, count: int = 5, **sent: object) -> list[int]:
    return [client.get(path, **sent).status_code for _ in range(count)]  # type: ignore[arg-type]


def test_an_address_that_asks_without_end(app: FastAPI, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "PER_ADDRESS", FEW)
    with database.transaction() as session:
        labeler = add_member(session, make_project(session), Role.LABELER)
    with TestClient(app) as stranger:
        assert statuses(stranger, "/help") == [200, 200, 200, 429, 429]
        refused = stranger.get("/help")
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.headers["content-type"] == "application/problem+json"
        page = stranger.get("/", headers={"Accept": "text/html"})
        assert (page.status_code, "Retry-After" in page.headers) == (429, True)
        assert stranger.get("/healthz").status_code == 200, "watching is free"
        assert stranger.get("/static/web/style.css").status_code == 200
    with signed_in(app, labeler) as client:
        assert client.get("/api/v1/projects/songs").status_code == 200, "who is signed in is counted apart"
    with TestClient(app, client=("10.0.0.9", 5000)) as another_address:
        assert another_address.get("/help").status_code == 200


def test_invented_credentials_are_counted_by_their_address(
    app: FastAPI, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "PER_ADDRESS", FEW)
    with database.transaction() as session:
        token = make_token(session, add_member(session, make_project(session), Role.OWNER))
    with TestClient(app) as client:
        owner = {"headers": {"Authorization": f"Bearer {token}"}}
        assert statuses(client, "/api/v1/projects", **owner) == [200] * 5, "known from the first success on"
        invented = [{"headers": {header: f"tercet={n}"}} for n, header in enumerate(["Cookie", "Authorization"] * 3)]
        assert [client.get("/help", **sent).status_code for sent in invented] == [200] * 2 + [429] * 4
        assert client.get("/api/v1/projects", **owner).status_code == 200


def test_credentials_are_proven_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = rates.Rates()
    counted.prove("somebody")
    assert counted.is_proven("somebody")
    monkeypatch.setattr(rates.time, "monotonic", lambda: 1e12)
    assert not counted.is_proven("somebody")
    monkeypatch.setattr(rates, "MOST_PROVEN", 1)
    counted.prove("another")
    assert not counted.is_proven("somebody")
    assert counted.is_proven("another")


def test_a_clock_that_is_set_back_shuts_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, moment, since_start = rates.Rates(), time.time(), time.monotonic()
    counted.count(FEW, "somebody", cost=3)
    with pytest.raises(TooOften):
        counted.count(FEW, "somebody")
    monkeypatch.setattr(time, "time", lambda: moment - 3600)
    monkeypatch.setattr(time, "monotonic", lambda: since_start + 61)
    counted.count(FEW, "somebody")


def test_minutes_that_are_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, since_start = rates.Rates(), time.monotonic()
    monkeypatch.setattr(rates, "MOST_COUNTED", 2)
    counted.count(FEW, "first")
    counted.count(FEW, "second")
    monkeypatch.setattr(time, "monotonic", lambda: since_start + 61)
    counted.count(FEW, "third")
    assert list(counted._counts) == ["third"]


def test_a_network_of_one_customer_is_one_address(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "PER_ADDRESS", FEW)
    for number in range(5):
        with TestClient(app, client=(f"2001:db8::{number}", 5000)) as client:
            assert client.get("/help").status_code == (200 if number < 3 else 429)


def test_a_link_that_is_opened_without_end(app: FastAPI, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "PER_LINK", FEW)
    with database.transaction() as session:
        links = [service.make_share_link(session, make_project(session, key)) for key in ("songs", "calls")]
    for number in range(5):
        with TestClient(app, client=(f"10.0.0.{number}", 5000)) as visitor:
            assert visitor.get(f"/join/{links[0]}").status_code == (200 if number < 3 else 429)
            assert visitor.get(f"/join/{links[1]}").status_code == (200 if number < 3 else 429)


def test_a_token_that_asks_without_end(app: FastAPI, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "PER_CALLER", FEW)
    with database.transaction() as session:
        owner = add_member(session, make_project(session), Role.OWNER)
        tokens = [make_token(session, owner) for _ in range(2)]
    with TestClient(app) as client:
        for token in tokens:
            sent = {"headers": {"Authorization": f"Bearer {token}"}}
            assert statuses(client, "/api/v1/projects", **sent) == [200, 200, 200, 429, 429]


def test_hosts(settings: Settings) -> None:
    app = create_app(settings.model_copy(update={"public_url": "https://Tercet.example.org/x"}))
    own = ["testserver", "localhost:8000", "songs.localhost", "127.0.0.1:8000", "[::1]:8000", "tercet.example.org"]
    foreign = ["evil.example", "testserver.evil.example", "testserver@evil.example", "evil.example#testserver", "[::1"]
    with TestClient(app) as client:
        for host in [*own, socket.gethostname().upper(), *foreign, ""]:
            status = client.get("/help", headers={"Host": host}).status_code
            assert status == (400 if host in [*foreign, ""] else 200), host


@pytest.fixture
def owner(database: Database) -> User:
    with database.transaction() as session:
        return add_member(session, make_project(session), Role.OWNER)


def test_a_forged_host_makes_no_link(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        answer = client.post("/projects/songs/settings/share-links", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "/join/" not in answer.text


def test_behind_tls_browsers_are_told_to_stay_there(app: FastAPI) -> None:
    with TestClient(app, base_url="https://testserver") as client:
        assert client.get("/healthz").headers["Strict-Transport-Security"] == "max-age=31536000"
    with TestClient(app) as client:
        assert "Strict-Transport-Security" not in client.get("/healthz").headers
