"""HEAD, methods that an address does not take, and requests of other sites' pages."""

import threading
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.main import create_app
from tercet.models import Role, User
from tercet.settings import Settings
from tests.factories import add_member, make_project, make_token, signed_in

# One kind of database is enough here: nothing of this depends on it.
pytestmark = pytest.mark.only_on("sqlite")

SITE = "https://lab.example.org"


@pytest.fixture
def owner(database: Database) -> User:
    with database.transaction() as session:
        return add_member(session, make_project(session, "songs"), Role.OWNER)


@pytest.fixture
def client(app: FastAPI, owner: User) -> Iterator[TestClient]:
    with signed_in(app, owner) as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/projects/songs", "/api/v1/projects/songs", "/static/web/style.css", "/nowhere"]
)
def test_head_answers_as_get_without_the_body(client: TestClient, path: str) -> None:
    got, head = client.get(path), client.head(path)
    assert head.content == b""
    assert head.status_code == got.status_code
    of_one_request = {"x-request-id": "", "server-timing": ""}
    assert {**head.headers, **of_one_request} == {**got.headers, **of_one_request}


def test_head_of_a_stream_ends(client: TestClient) -> None:
    asked = threading.Thread(target=client.head, args=("/api/v1/projects/songs/events",), daemon=True)
    asked.start()
    asked.join(timeout=10)
    assert not asked.is_alive()


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/api/v1/projects", "GET, HEAD, POST"),
        ("POST", "/api/v1/projects/songs/items/1", "DELETE, GET, HEAD, PATCH"),
        ("HEAD", "/api/v1/projects/songs/triplets/ahead", "POST"),
        ("PUT", "/", "GET, HEAD"),
    ],
)
def test_all_methods_of_an_address_are_named(client: TestClient, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
    if method != "HEAD":
        assert answer.json()["detail"] == f"{method} is not possible at this address. Possible are {allowed}."


def test_pages_of_other_sites_are_let_in_by_the_setting_alone(
    settings: Settings, database: Database, owner: User
) -> None:
    with database.transaction() as session:
        token = make_token(session, owner)
    headers = {"Origin": SITE, "Authorization": f"Bearer {token}"}
    asked = {"Origin": SITE, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}
    path = "/api/v1/projects/songs"
    with TestClient(create_app(settings)) as strict:
        assert "Access-Control-Allow-Origin" not in strict.get(path, headers=headers).headers
    with TestClient(create_app(settings.model_copy(update={"cors_origins": f"https://a.example, {SITE}"}))) as open_to:
        answer = open_to.get(path, headers=headers)
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, SITE)
        assert "Access-Control-Allow-Credentials" not in answer.headers
        permission = open_to.options(path, headers=asked).headers
        assert permission["Access-Control-Allow-Origin"] == SITE
        assert "PUT" in permission["Access-Control-Allow-Methods"]
        stranger = open_to.get(path, headers={**headers, "Origin": "https://b.example"})
        assert "Access-Control-Allow-Origin" not in stranger.headers
