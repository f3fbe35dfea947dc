"""Every route, asked by everybody, against one written table: who may, and who hears what instead.

A route that is not in the table fails `test_every_route_is_in_the_table`. What is refused changes nothing.
"""

import io
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from starlette.routing import Mount

from app.accounts import service
from app.clustering.schedule import request_run
from app.database import Database
from app.models import ApiToken, Base, Role, Scope, User
from app.storage import Storage
from tests.factories import add_features, add_member, make_project, make_token, make_user, session_cookie


class Who(Enum):
    """Whom a route is for: everybody, whoever is signed in (in a browser), or a member with an action."""

    ANYBODY = "anybody"
    USER = "user"
    PERSON = "person"
    ACCOUNT = "account"
    LOOK = "look"
    LABEL = "label"
    READ = "read"
    WRITE = "write"
    OWN = "own"


MEMBERS = {
    Who.LOOK: {"labeler", "analyst", "owner", "admin", "token read", "token label", "token write", "token own"},
    Who.LABEL: {"labeler", "analyst", "owner", "admin", "token label", "token write", "token own"},
    Who.READ: {"analyst", "owner", "admin", "token read", "token write", "token own"},
    Who.WRITE: {"analyst", "owner", "admin", "token write", "token own"},
    Who.OWN: {"owner", "admin", "token own"},
}
VISITORS = ["anonymous", "stranger", "visitor", "labeler", "analyst", "owner", "admin"]
TOKENS = [f"token {scope}" for scope in Scope]
SIGNED_IN = set(VISITORS) - {"anonymous"}

TRIPLET = ["item-0", "item-1", "item-2"]
ANSWER_ID = "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001"
FORM = {"id": ANSWER_ID, "triplet": TRIPLET, "answer": "yes"}
CONSTRAINT = {"triplet": TRIPLET, "answer": "yes", "labeler": "Cy"}
API = "/api/v1/projects"
ONE = f"{API}/{{project}}"
PAGE = "/projects/{project}"


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(8.0).reshape(4, 2))
    return buffer.getvalue()


@dataclass(frozen=True)
class Row:
    """One route: whom it is for, what to send, and which statuses those hear who may."""

    method: str
    path: str
    who: Who
    ok: set[int] = field(default_factory=lambda: {200})
    send: dict[str, Any] = field(default_factory=dict)
    # An answer that never ends cannot be read by the test client; tests of events read it from a real server.
    endless: bool = False


TABLE = [
    Row("GET", "/openapi.json", Who.ANYBODY),
    Row("GET", "/api/docs", Who.ANYBODY),
    Row("GET", "/help/systems", Who.ANYBODY),
    Row("GET", "/healthz", Who.ANYBODY),
    Row("GET", "/readyz", Who.ANYBODY),
    Row("GET", "/metrics", Who.ANYBODY),
    Row("GET", "/sign-in/{token}", Who.ANYBODY, {404}),
    Row("POST", "/sign-in/{token}", Who.ANYBODY, {404}),
    Row("POST", "/sign-out", Who.ANYBODY, {303}),
    Row("GET", "/join/{token}", Who.ANYBODY, {200}),
    Row("POST", "/join/{token}", Who.ANYBODY, {303}, {"data": {"name": ""}}),
    Row("GET", "/", Who.USER),
    Row("GET", "/account", Who.PERSON),
    Row("POST", "/account/tokens", Who.PERSON, {201}, {"data": {"name": "mine", "scope": "read"}}),
    Row("POST", "/account/tokens/{token_id}/revoke", Who.PERSON, {404}),
    Row("GET", API, Who.USER),
    Row("POST", API, Who.ACCOUNT, {201}, {"json": {"name": "Another"}}),
    Row("GET", ONE, Who.LOOK),
    Row("PATCH", ONE, Who.WRITE, {200}, {"json": {"guidelines": "Listen."}}),
    Row("DELETE", ONE, Who.OWN, {200, 404}),
    Row("GET", ONE + "/members", Who.READ),
    Row("POST", ONE + "/members", Who.OWN, {201}, {"json": {"email": "bo@example.org", "role": "analyst"}}),
    Row("DELETE", ONE + "/members/{member}", Who.OWN, {404}),
    Row("GET", ONE + "/items", Who.READ),
    Row("POST", ONE + "/items", Who.WRITE, {409}, {"json": {"items": [{"key": "new"}]}}),
    Row("GET", ONE + "/features", Who.READ),
    Row("PUT", ONE + "/features", Who.WRITE, {200}, {"content": npy()}),
    Row("GET", ONE + "/media/{kind}/{key:path}", Who.LOOK, {404}),
    Row("GET", ONE + "/constraints", Who.READ),
    Row("POST", ONE + "/constraints", Who.WRITE, {201}, {"json": [CONSTRAINT]}),
    Row("GET", ONE + "/triplets/next", Who.LABEL),
    Row("POST", ONE + "/answers", Who.LABEL, {201, 409}, {"json": FORM}),
    Row("DELETE", ONE + "/answers/{answer}", Who.LABEL, {404}),
    Row("GET", ONE + "/answers", Who.READ),
    Row("POST", ONE + "/answers/{answer}/set-aside", Who.WRITE, {404}, {"json": {"reason": "a slip"}}),
    Row("DELETE", ONE + "/answers/{answer}/set-aside", Who.WRITE, {404}),
    Row("GET", ONE + "/labelers", Who.READ),
    Row("POST", ONE + "/labelers/{labeler}/set-aside", Who.WRITE, {404}, {"json": {}}),
    Row("DELETE", ONE + "/labelers/{labeler}/set-aside", Who.WRITE, {404}),
    Row("POST", ONE + "/skips", Who.LABEL, {201}, {"json": {"triplet": TRIPLET}}),
    Row("GET", "/api/v1/algorithms", Who.USER),
    Row("GET", ONE + "/runs", Who.READ),
    Row("POST", ONE + "/runs", Who.WRITE, {202}, {"json": {}}),
    Row("GET", ONE + "/runs/{run}", Who.READ),
    Row("POST", ONE + "/runs/{run}/cancel", Who.WRITE, {202, 409}),
    Row("GET", ONE + "/runs/{run}/clusters", Who.READ, {409}),
    Row("PUT", ONE + "/runs/{run}/clusters/{cluster}", Who.WRITE, {409}, {"json": {"name": "thrush", "note": ""}}),
    Row("GET", ONE + "/runs/{run}/items", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/map", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/resolutions", Who.READ, {409}),
    Row("POST", ONE + "/comparisons", Who.WRITE, {202, 409}, {"json": {}}),
    Row("GET", ONE + "/comparisons/latest", Who.READ, {200, 404}),
    Row("POST", ONE + "/runs/{run}/another", Who.WRITE, {409}, {"json": {}}),
    Row("POST", ONE + "/runs/{run}/adopt", Who.WRITE, {409}),
    Row("PATCH", ONE + "/runs/{run}", Who.WRITE, {200}, {"json": {"name": "by song"}}),
    Row("GET", ONE + "/runs/{run}/contingency", Who.READ, {409}, {"params": {"with": "1"}}),
    Row("GET", ONE + "/views", Who.READ),
    Row("GET", ONE + "/events", Who.READ, endless=True),
    Row("GET", ONE + "/summary", Who.READ),
    Row("GET", ONE + "/positions", Who.READ, {200}, {"params": {"at": "0,3"}}),
    Row("GET", PAGE, Who.READ),
    Row("GET", PAGE + "/label", Who.LABEL),
    Row("POST", PAGE + "/label", Who.LABEL, {303, 409}, {"data": FORM}),
    Row("POST", PAGE + "/label/skip", Who.LABEL, {303}, {"data": {"triplet": TRIPLET}}),
    Row("POST", PAGE + "/label/undo", Who.LABEL, {404}, {"data": {"id": str(uuid.uuid4())}}),
    Row("GET", PAGE + "/views", Who.READ),
    Row("GET", PAGE + "/runs/{run}", Who.READ),
    Row("POST", PAGE + "/runs/{run}/another", Who.WRITE, {409}),
    Row("POST", PAGE + "/runs/{run}/name", Who.WRITE, {303}, {"data": {"name": "by song"}}),
    Row("POST", PAGE + "/runs/{run}/adopt", Who.WRITE, {409}),
    Row("POST", PAGE + "/runs", Who.WRITE, {303}),
    Row("GET", PAGE + "/compare", Who.READ),
    Row("POST", PAGE + "/compare", Who.WRITE, {303, 409}, {"data": {"systems": ["dcrc", "kmeans"]}}),
    Row("POST", PAGE + "/compare/{run}/cancel", Who.WRITE, {303, 409}),
    Row("POST", PAGE + "/compare/use", Who.WRITE, {303}, {"data": {"system": "sklr"}}),
    Row("POST", PAGE + "/resolution", Who.WRITE, {303}, {"data": {"n_clusters": "2"}}),
    Row("POST", PAGE + "/runs/{run}/cancel", Who.WRITE, {303, 409}),
    Row("POST", PAGE + "/clusters/{cluster}/name", Who.WRITE, {409}, {"data": {"run": "1", "name": "thrush"}}),
    Row("GET", PAGE + "/answers", Who.READ),
    Row("POST", PAGE + "/answers/{answer}/set-aside", Who.WRITE, {404}, {"data": {"reason": "a slip"}}),
    Row("POST", PAGE + "/answers/{answer}/put-back", Who.WRITE, {404}),
    Row("POST", PAGE + "/labelers/{labeler}/set-aside", Who.WRITE, {404}, {"data": {"reason": "a robot"}}),
    Row("POST", PAGE + "/labelers/{labeler}/put-back", Who.WRITE, {404}),
    Row("GET", PAGE + "/settings", Who.READ),
    Row("POST", PAGE + "/settings", Who.WRITE, {303}, {"data": {"guidelines": "Listen."}}),
    Row("POST", PAGE + "/settings/share-links", Who.OWN, {201}),
    Row("POST", PAGE + "/settings/share-links/{link}/revoke", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/members", Who.OWN, {303}, {"data": {"email": "bo@example.org", "role": "analyst"}}),
    Row("POST", PAGE + "/settings/members/{member}/remove", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/delete", Who.OWN, {303, 404}, {"data": {"confirm": "songs"}}),
]


def routes_of(app: FastAPI) -> set[tuple[str, str]]:
    found = set()
    for route in iter_route_contexts(app.routes):
        if not isinstance(route.original_route, Mount):
            found |= {(method, route.path) for method in route.methods or set() if method != "HEAD"}
    return found


@pytest.fixture
def database_url(sqlite_database_url: str) -> str:
    """One kind of database is enough: permissions are decided before anything that differs."""
    return sqlite_database_url


@dataclass
class World:
    """A project, and the headers by which each visitor is known."""

    client: TestClient
    database: Database
    headers: dict[str, dict[str, str]]
    values: dict[str, str]

    def ask(self, row: Row, visitor: str) -> tuple[int, str]:
        self.client.cookies.clear()
        path = row.path.replace(":path", "").format(**self.values)
        headers = {**self.headers[visitor], "Accept": "application/json"}
        answer = self.client.request(row.method, path, headers=headers, follow_redirects=False, **row.send)
        return answer.status_code, answer.text

    def row_counts(self) -> dict[str, int | None]:
        with self.database.reading() as session:
            tables = Base.metadata.tables.values()
            return {table.name: session.scalar(select(func.count()).select_from(table)) for table in tables}


@pytest.fixture
def world(app: FastAPI, database: Database, storage: Storage) -> Iterator[World]:
    with database.transaction() as session:
        project = make_project(session, n_items=4, n_clusters=2)
        add_features(session, storage, project, np.eye(4))
        users = {str(role): add_member(session, project, role) for role in Role}
        users |= {"stranger": make_user(session), "admin": make_user(session, is_admin=True)}
        users["labeler"].email = None
        elsewhere = service.make_share_link(session, make_project(session, "elsewhere"))
        users["visitor"] = service.join(session, elsewhere).user
        tokens = {f"token {scope}": make_token(session, users["owner"], scope) for scope in Scope}
        request_run(session, project, reason="request")
        values = {"project": "songs", "token": service.make_share_link(session, project), "run": "1", "cluster": "1"}
    headers = {"anonymous": {}} | {name: cookie_header(app, user) for name, user in users.items()}
    headers |= {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    values |= {
        "member": "999",
        "token_id": "999",
        "link": "999",
        "answer": str(uuid.uuid4()),
        "labeler": "999",
        "kind": "media",
        "key": "item-0",
    }
    with TestClient(app) as client:
        yield World(client, database, headers, values)


def cookie_header(app: FastAPI, user: User) -> dict[str, str]:
    return {"Cookie": f"tercet={session_cookie(app, user)}", "Sec-Fetch-Site": "same-origin"}


def may(who: Who, visitor: str) -> bool:
    match who:
        case Who.ANYBODY:
            return True
        case Who.USER:
            return visitor != "anonymous"
        case Who.PERSON:
            return visitor in SIGNED_IN
        case Who.ACCOUNT:
            return visitor in (SIGNED_IN - {"labeler", "visitor"}) | {"token write", "token own"}
        case _:
            return visitor in MEMBERS[who]


def refusal(who: Who, visitor: str) -> int:
    """What somebody hears who may not: a stranger to the project, that there is none."""
    if visitor == "anonymous":
        return 401
    return 404 if visitor in ("stranger", "visitor") and who in MEMBERS else 403


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    rows = [(row.method, row.path) for row in TABLE]
    assert len(rows) == len(set(rows)), "a route stands twice"
    assert set(rows) == routes_of(app)


def hold(world: World, row: Row) -> None:
    """Ask as everybody: whoever may not is told so, and changes nothing."""
    everybody = [*VISITORS, *TOKENS]
    before = world.row_counts()
    for visitor in everybody:
        if not may(row.who, visitor):
            status, text = world.ask(row, visitor)
            assert status == refusal(row.who, visitor), f"{row}, {visitor}: {text}"
            if status == 404:
                assert "There is no project 'songs' that you belong to." in text
    assert world.row_counts() == before, f"{row}: something was refused and yet stored"
    for visitor in everybody:
        if may(row.who, visitor) and not row.endless:
            status, text = world.ask(row, visitor)
            assert status in row.ok, f"{row}, {visitor}: {text}"


def test_who_may_look(world: World) -> None:
    for row in TABLE:
        if row.method == "GET":
            hold(world, row)


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.method != "GET"], ids=lambda row: f"{row.method} {row.path}"
)
def test_who_may_change(world: World, row: Row) -> None:
    hold(world, row)


def test_a_project_that_is_not_there_reads_like_one_of_others(world: World) -> None:
    rows = [row for row in TABLE if row.who in MEMBERS]
    for row in rows:
        known = world.ask(row, "stranger")
        there, world.values["project"] = world.values["project"], "no-such-project"
        unknown = world.ask(row, "stranger")
        world.values["project"] = there
        assert unknown == (known[0], known[1].replace("'songs'", "'no-such-project'")), row


def test_tokens_of_people_who_left(world: World, database: Database) -> None:
    """A token is worth no more than its user is now."""
    with database.transaction() as session:
        owner = session.get_one(User, session.scalars(select(ApiToken.user_id).distinct()).one())
        session.delete(owner)
    row = next(row for row in TABLE if row.path == ONE)
    for visitor in ("owner", *TOKENS):
        assert world.ask(row, visitor)[0] == 401
