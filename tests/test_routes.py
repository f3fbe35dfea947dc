"""Every route, asked by everybody, against one written table: who may, and who hears what instead.

A route that is not in the table fails `test_every_route_is_in_the_table`. What is refused changes nothing.
"""

import io
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from starlette.routing import Mount

from tercet.accounts import service
from tercet.database import Database
from tercet.intake import imports
from tercet.models import ApiToken, Base, ImportSource, Role, Scope, User
from tercet.runs.schedule import request_run
from tercet.storage import Storage
from tests.factories import add_features, add_member, make_project, make_token, make_user, session_cookie
from tests.loops import run

# One kind of database is enough: permissions are decided before anything that differs.
pytestmark = pytest.mark.only_on("sqlite")


class Who(Enum):
    """Whom a route is for: everybody, a user, one in a browser, one with an account too, a member with an action."""

    ANYBODY = "anybody"
    USER = "user"
    PERSON = "person"
    HOLDER = "holder"
    ACCOUNT = "account"
    ADMIN = "admin"
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
SUGGESTION = {"kind": "merge", "clusters": [1, 2], "dismissed": True}
FORM = {"id": ANSWER_ID, "triplet": TRIPLET, "answer": "yes"}
CONSTRAINT = {"triplet": TRIPLET, "answer": "yes", "labeler": "Cy"}
API = "/api/v1/projects"
ONE = f"{API}/{{project}}"
IMPORT = ONE + "/imports/{number}"
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
    Row("GET", "/help", Who.ANYBODY),
    Row("GET", "/help/guides/{name}", Who.ANYBODY, {404}),
    Row("GET", "/help/numbers", Who.ANYBODY),
    Row("GET", "/help/systems", Who.ANYBODY),
    Row("GET", "/help/estimators", Who.ANYBODY),
    Row("GET", "/help/client", Who.ANYBODY),
    Row("GET", "/help/estimators/{name}", Who.ANYBODY, {404}),
    Row("GET", "/help/architecture", Who.ANYBODY),
    Row("GET", "/help/design", Who.ANYBODY),
    Row("GET", "/healthz", Who.ANYBODY),
    Row("GET", "/readyz", Who.ANYBODY),
    Row("GET", "/metrics", Who.ANYBODY),
    Row("GET", "/sign-in/{token}", Who.ANYBODY, {404}),
    Row("POST", "/sign-in/{token}", Who.ANYBODY, {404}),
    Row("GET", "/sign-in", Who.ANYBODY),
    Row("GET", "/sign-in/openid", Who.ANYBODY, {404}),
    Row("GET", "/sign-in/openid/callback", Who.ANYBODY, {404}),
    Row("POST", "/sign-in", Who.ANYBODY, {401, 429}, {"data": {"email": "ada@example.org", "password": "wrong"}}),
    Row("POST", "/account/password", Who.HOLDER, {303}, {"data": {"password": "four words of no kind"}}),
    Row("POST", "/sign-out", Who.ANYBODY, {303}),
    Row("GET", "/join/{token}", Who.ANYBODY, {200}),
    Row("GET", "/invitation/{token}", Who.ANYBODY, {404}),
    Row("POST", "/invitation/{token}", Who.ANYBODY, {404}, {"data": {"name": ""}}),
    Row("POST", "/join/{token}", Who.ANYBODY, {303}, {"data": {"name": ""}}),
    Row("GET", "/", Who.USER),
    Row("GET", "/account", Who.PERSON),
    Row("POST", "/account/tokens", Who.HOLDER, {201}, {"data": {"name": "mine", "scope": "read"}}),
    Row("POST", "/account/tokens/{token_id}/revoke", Who.PERSON, {404}),
    Row("POST", "/account/sessions/{session_id}/end", Who.PERSON, {404}),
    Row("POST", "/account/sessions/end", Who.PERSON, {303}),
    Row("GET", "/api/v1/audit", Who.ADMIN),
    Row("GET", "/api/v1/backup", Who.ADMIN),
    Row("GET", "/api/v1/users", Who.ADMIN),
    Row("POST", "/api/v1/users", Who.ADMIN, {201, 409}, {"json": {"email": "di@example.org"}}),
    Row("PATCH", "/api/v1/users/{member}", Who.ADMIN, {404}, {"json": {"disabled": True}}),
    Row("GET", "/users", Who.ADMIN),
    Row("POST", "/users", Who.ADMIN, {201, 409}, {"data": {"email": "fay@example.org"}}),
    Row("POST", "/users/{member}/link", Who.ADMIN, {404}),
    Row("POST", "/users/{member}/disable", Who.ADMIN, {404}),
    Row("POST", "/users/{member}/enable", Who.ADMIN, {404}),
    Row("POST", "/users/{member}/sign-out", Who.ADMIN, {404}),
    Row("POST", "/users/{member}/delete", Who.ADMIN, {404}),
    Row("GET", "/api/v1/system", Who.ADMIN),
    Row("GET", "/system", Who.ADMIN),
    Row("GET", ONE + "/audit", Who.OWN),
    Row("GET", PAGE + "/audit", Who.OWN),
    Row("GET", API, Who.USER),
    Row("POST", API, Who.ACCOUNT, {201}, {"json": {"name": "Another"}}),
    Row("GET", ONE, Who.LOOK),
    Row("PATCH", ONE, Who.WRITE, {200}, {"json": {"guidelines": "Listen."}}),
    Row("DELETE", ONE, Who.OWN, {200, 404}),
    Row("GET", ONE + "/members", Who.READ),
    Row("PATCH", ONE + "/members/{member}", Who.OWN, {404}, {"json": {"role": "analyst"}}),
    Row("GET", ONE + "/invitations", Who.OWN),
    Row("POST", ONE + "/invitations", Who.OWN, {201}, {"json": {"email": "bo@example.org", "role": "analyst"}}),
    Row("DELETE", ONE + "/invitations/{invitation}", Who.OWN, {404}),
    Row("DELETE", ONE + "/members/{member}", Who.OWN, {404}),
    Row("GET", ONE + "/share-links", Who.READ),
    Row("GET", ONE + "/tokens", Who.OWN),
    Row("POST", ONE + "/tokens", Who.OWN, {201}, {"json": {"name": "recorder", "scope": "label"}}),
    Row("DELETE", ONE + "/tokens/{token_id}", Who.OWN, {404}),
    Row("GET", ONE + "/webhooks", Who.OWN),
    Row("POST", ONE + "/webhooks", Who.OWN, {201, 409}, {"json": {"url": "https://a.example", "runs": True}}),
    Row("DELETE", ONE + "/webhooks/{webhook}", Who.OWN, {404}),
    Row("POST", ONE + "/webhooks/{webhook}/test", Who.OWN, {404}),
    Row("GET", ONE + "/webhooks/{webhook}/deliveries", Who.OWN, {404}),
    Row("POST", ONE + "/share-links", Who.OWN, {201}, {"json": {"days": 3}}),
    Row("POST", ONE + "/share-links/{link}/renew", Who.OWN, {404}),
    Row("DELETE", ONE + "/share-links/{link}", Who.OWN, {404}),
    Row("POST", ONE + "/share-links/{link}/set-aside", Who.WRITE, {404}, {"json": {"reason": "a robot"}}),
    Row("DELETE", ONE + "/share-links/{link}/set-aside", Who.WRITE, {404}),
    Row("GET", ONE + "/items", Who.READ),
    Row("POST", ONE + "/items", Who.WRITE, {409}, {"json": {"items": [{"key": "new"}]}}),
    Row("GET", ONE + "/items/{key:path}", Who.READ),
    Row("PATCH", ONE + "/items/{key:path}", Who.WRITE, {200}, {"json": {"text": "a song"}}),
    Row("DELETE", ONE + "/items/{key:path}", Who.WRITE, {200, 404}),
    Row("POST", ONE + "/imports", Who.WRITE, {201}, {"json": {}}),
    Row("GET", ONE + "/imports", Who.READ),
    Row("GET", IMPORT, Who.READ),
    Row("GET", IMPORT + "/files", Who.READ),
    Row("PUT", IMPORT + "/files/{path:path}", Who.WRITE, {200, 409}, {"params": {"size": "3"}, "content": b"abc"}),
    Row("DELETE", IMPORT + "/files/{path:path}", Who.WRITE, {404}),
    Row("GET", IMPORT + "/segments", Who.READ, {404}, {"params": {"path": "a.wav"}}),
    Row("GET", IMPORT + "/spectrogram", Who.READ, {404}, {"params": {"path": "a.wav"}}),
    Row("POST", IMPORT + "/check", Who.WRITE, {422}, {"json": {}}),
    Row("GET", IMPORT + "/preview", Who.READ),
    Row("GET", IMPORT + "/preview/{position}/picture", Who.READ, {404}),
    Row("POST", IMPORT + "/start", Who.WRITE, {409}),
    Row("POST", IMPORT + "/undo", Who.WRITE, {409}),
    Row("POST", IMPORT + "/cancel", Who.WRITE, {200, 409}),
    Row("POST", ONE + "/undelete", Who.OWN, {409}),
    Row("GET", ONE + "/picture-trial", Who.READ, {404}, {"params": {"key": "song"}}),
    Row("GET", ONE + "/feature-recipe", Who.READ),
    Row("PUT", ONE + "/feature-recipe", Who.WRITE, {202}, {"json": {"groups": None}}),
    Row("GET", ONE + "/features", Who.READ),
    Row("PUT", ONE + "/features", Who.WRITE, {200}, {"content": npy()}),
    Row("GET", ONE + "/media/{kind}/{key:path}", Who.LOOK, {404}),
    Row("GET", ONE + "/constraints", Who.READ),
    Row("POST", ONE + "/constraints", Who.WRITE, {201}, {"json": [CONSTRAINT]}),
    Row("GET", ONE + "/triplets/next", Who.LABEL),
    Row("POST", ONE + "/triplets/ahead", Who.LABEL, {201}),
    Row("POST", ONE + "/practice", Who.LABEL, {201}),
    Row("POST", ONE + "/answers", Who.LABEL, {201, 409}, {"json": FORM}),
    Row("DELETE", ONE + "/answers/{answer}", Who.LABEL, {404}),
    Row("GET", ONE + "/answers", Who.READ),
    Row("POST", ONE + "/answers/{answer}/set-aside", Who.WRITE, {404}, {"json": {"reason": "a slip"}}),
    Row("DELETE", ONE + "/answers/{answer}/set-aside", Who.WRITE, {404}),
    Row("GET", ONE + "/answers/{answer}/right", Who.LABEL, {404}),
    Row("PUT", ONE + "/answers/{answer}/right", Who.WRITE, {404}),
    Row("DELETE", ONE + "/answers/{answer}/right", Who.WRITE, {404}),
    Row("GET", ONE + "/labelers", Who.READ),
    Row("POST", ONE + "/unseen-answers/set-aside", Who.WRITE, {409}),
    Row("DELETE", ONE + "/unseen-answers/set-aside", Who.WRITE, {409}),
    Row("GET", ONE + "/labelers/{labeler}/data", Who.OWN, {404}),
    Row("DELETE", ONE + "/labelers/{labeler}", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/labelers/{labeler}/erase", Who.OWN, {404}, {"data": {"answers": "keep"}}),
    Row("POST", ONE + "/labelers/{labeler}/set-aside", Who.WRITE, {404}, {"json": {}}),
    Row("DELETE", ONE + "/labelers/{labeler}/set-aside", Who.WRITE, {404}),
    Row("DELETE", ONE + "/labelers/{labeler}/withdrawn", Who.WRITE, {404}),
    Row("POST", ONE + "/skips", Who.LABEL, {201}, {"json": {"triplet": TRIPLET}}),
    Row("POST", ONE + "/flags", Who.LABEL, {201}, {"json": {"item": "item-0"}}),
    Row("DELETE", ONE + "/flags/{item:path}", Who.LABEL, {404}),
    Row("PUT", ONE + "/answers/{answer}/comment", Who.LABEL, {404}, {"json": {"comment": "two birds"}}),
    Row("GET", ONE + "/flagged-items", Who.READ),
    Row("PUT", ONE + "/flagged-items/{item:path}", Who.WRITE, {204, 404}, {"json": {"state": "dismissed"}}),
    Row("GET", ONE + "/suggestions", Who.READ),
    Row("PUT", ONE + "/suggestions", Who.WRITE, {200}, {"json": SUGGESTION}),
    Row("GET", ONE + "/focus", Who.READ),
    Row("PUT", ONE + "/focus", Who.WRITE, {200}, {"json": {"about": "everything"}}),
    Row("GET", "/api/v1/algorithms", Who.USER),
    Row("GET", ONE + "/runs", Who.READ),
    Row("POST", ONE + "/runs", Who.WRITE, {202}, {"json": {}}),
    Row("GET", ONE + "/runs/{run}", Who.READ),
    Row("POST", ONE + "/runs/{run}/cancel", Who.WRITE, {202, 409}),
    Row("GET", ONE + "/runs/{run}/clusters", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/between/{first}/{second}", Who.READ, {409}),
    Row("PUT", ONE + "/runs/{run}/clusters/{cluster}", Who.WRITE, {409}, {"json": {"name": "thrush", "note": ""}}),
    Row("GET", ONE + "/runs/{run}/items", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/map", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/resolutions", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/selections", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/clips", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/posterior", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/model", Who.READ, {409}),
    Row("GET", ONE + "/runs/{run}/report", Who.READ, {409}),
    Row("POST", ONE + "/runs/{run}/predict", Who.READ, {409}, {"json": {"features": [[1, 2]]}}),
    Row("GET", ONE + "/predictions/{number}", Who.READ, {404}),
    Row("GET", ONE + "/predictions/{number}/items", Who.READ, {404}),
    Row("DELETE", ONE + "/predictions/{number}", Who.READ, {404}),
    Row("GET", ONE + "/features/{version}", Who.READ, {404}),
    Row("GET", ONE + "/archive", Who.READ),
    Row("POST", API + "/restore", Who.ACCOUNT, {422}, {"params": {"key": "new"}, "content": b"no archive"}),
    Row("GET", "/restore", Who.ACCOUNT),
    Row("POST", "/restore", Who.ACCOUNT, {422}, {"data": {"key": "new"}, "files": {"archive": b"no archive"}}),
    Row("GET", PAGE + "/export", Who.READ),
    Row("POST", ONE + "/comparisons", Who.WRITE, {202, 409}, {"json": {}}),
    Row("GET", ONE + "/comparisons/latest", Who.READ, {200, 404}),
    Row("POST", ONE + "/runs/{run}/another", Who.WRITE, {409}, {"json": {}}),
    Row("POST", ONE + "/runs/{run}/adopt", Who.WRITE, {409}),
    Row("PATCH", ONE + "/runs/{run}", Who.WRITE, {200}, {"json": {"name": "by song"}}),
    Row("GET", ONE + "/runs/{run}/contingency", Who.READ, {409}, {"params": {"with": "1"}}),
    Row("GET", ONE + "/edits", Who.READ),
    Row("POST", ONE + "/edits", Who.WRITE, {409}, {"json": {"kind": "keep", "items": ["item-0"]}}),
    Row("DELETE", ONE + "/edits/{edit}", Who.WRITE, {404}),
    Row("GET", ONE + "/tags", Who.READ),
    Row("POST", ONE + "/tags", Who.WRITE, {200}, {"json": {"tag": "check", "add": ["item-0"]}}),
    Row("GET", ONE + "/effect-of-my-answers", Who.LABEL),
    Row("GET", ONE + "/runs/{run}/changes", Who.READ, {409}),
    Row("GET", ONE + "/alternatives", Who.READ),
    Row("GET", ONE + "/events", Who.READ, endless=True),
    Row("GET", ONE + "/summary", Who.READ),
    Row("GET", ONE + "/positions", Who.READ, {200}, {"params": {"at": "0,3"}}),
    Row("GET", ONE + "/columns", Who.READ),
    Row("GET", ONE + "/columns/values", Who.READ, {200}, {"params": {"by": "labelers"}}),
    Row("GET", ONE + "/search", Who.READ, {200}, {"params": {"text": "item"}}),
    Row("GET", ONE + "/similar", Who.READ, {200}, {"params": {"at": "1"}}),
    Row("GET", PAGE, Who.READ),
    Row("GET", PAGE + "/label", Who.LABEL),
    Row("GET", PAGE + "/label/manifest", Who.LABEL),
    Row("GET", "/label-worker.js", Who.ANYBODY),
    Row("POST", "/language", Who.ANYBODY, {303}, {"data": {"language": "de"}}),
    Row("POST", PAGE + "/label", Who.LABEL, {303, 409}, {"data": FORM}),
    Row("POST", PAGE + "/label/skip", Who.LABEL, {303}, {"data": {"triplet": TRIPLET}}),
    Row("POST", PAGE + "/label/undo", Who.LABEL, {404}, {"data": {"id": str(uuid.uuid4())}}),
    Row("GET", PAGE + "/alternatives", Who.READ),
    Row("GET", PAGE + "/runs", Who.READ),
    Row("GET", PAGE + "/changes", Who.READ, {404}),
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
    Row("POST", PAGE + "/suggestions", Who.WRITE, {303}, {"data": {**SUGGESTION, "clusters": "1, 2"}}),
    Row("POST", PAGE + "/focus", Who.WRITE, {303}, {"data": {"about": "everything"}}),
    Row("POST", PAGE + "/runs/{run}/cancel", Who.WRITE, {303, 409}),
    Row("POST", PAGE + "/clusters/{cluster}/name", Who.WRITE, {409}, {"data": {"run": "1", "name": "thrush"}}),
    Row("GET", PAGE + "/answers", Who.READ),
    Row("POST", PAGE + "/answers/{answer}/set-aside", Who.WRITE, {404}, {"data": {"reason": "a slip"}}),
    Row("POST", PAGE + "/answers/{answer}/put-back", Who.WRITE, {404}),
    Row("POST", PAGE + "/answers/{answer}/right", Who.WRITE, {404}),
    Row("POST", PAGE + "/answers/{answer}/not-known", Who.WRITE, {404}),
    Row("POST", PAGE + "/unseen-answers/set-aside", Who.WRITE, {409}),
    Row("POST", PAGE + "/unseen-answers/put-back", Who.WRITE, {409}),
    Row("POST", PAGE + "/labelers/{labeler}/set-aside", Who.WRITE, {404}, {"data": {"reason": "a robot"}}),
    Row("POST", PAGE + "/labelers/{labeler}/put-back", Who.WRITE, {404}),
    Row("POST", PAGE + "/labelers/{labeler}/put-withdrawn-back", Who.WRITE, {404}),
    Row("POST", PAGE + "/share-links/{link}/set-aside", Who.WRITE, {404}, {"data": {"reason": "a robot"}}),
    Row("POST", PAGE + "/share-links/{link}/put-back", Who.WRITE, {404}),
    Row("POST", PAGE + "/flagged-items", Who.WRITE, {422}, {"data": {"item": "none", "state": "open"}}),
    Row("POST", PAGE + "/edits/{edit}/take-back", Who.WRITE, {404}),
    Row("GET", "/projects/new", Who.ACCOUNT),
    Row("POST", "/projects/new", Who.ACCOUNT, {303}, {"data": {"name": "Another"}}),
    Row("GET", PAGE + "/imports", Who.READ),
    Row("POST", PAGE + "/imports", Who.WRITE, {303}),
    Row("GET", PAGE + "/imports/{number}", Who.READ),
    Row("POST", PAGE + "/imports/{number}/check", Who.WRITE, {303, 409, 422}),
    Row("POST", PAGE + "/imports/{number}/files/remove", Who.WRITE, {404}, {"data": {"path": "a.wav"}}),
    Row("POST", PAGE + "/imports/{number}/start", Who.WRITE, {303, 409}),
    Row("POST", PAGE + "/imports/{number}/undo", Who.WRITE, {303, 409}),
    Row("POST", PAGE + "/imports/{number}/link", Who.OWN),
    Row("POST", PAGE + "/imports/{number}/cancel", Who.WRITE, {303, 409}),
    Row("POST", PAGE + "/features/make", Who.WRITE, {303}),
    Row("POST", PAGE + "/features", Who.WRITE, {303}, {"files": {"array": ("X.npy", npy())}}),
    Row("POST", PAGE + "/pictures", Who.WRITE, {303}, {"data": {"preset": "songbird"}}),
    Row("POST", PAGE + "/undelete", Who.OWN, {409}),
    Row("GET", PAGE + "/settings", Who.READ),
    Row("POST", PAGE + "/settings", Who.WRITE, {303}, {"data": {"guidelines": "Listen."}}),
    Row("POST", PAGE + "/settings/share-links", Who.OWN, {201}),
    Row("POST", PAGE + "/settings/share-links/{link}/renew", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/share-links/{link}/revoke", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/copy", Who.WRITE, {303}, {"data": {"name": "Copied"}}),
    Row(
        "POST",
        PAGE + "/settings/invitations",
        Who.OWN,
        {201},
        {"data": {"email": "bo@example.org", "role": "analyst"}},
    ),
    Row("POST", PAGE + "/settings/invitations/{invitation}/revoke", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/members/{member}", Who.OWN, {404}, {"data": {"role": "analyst"}}),
    Row("POST", PAGE + "/settings/members/{member}/remove", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/tokens/{token_id}/revoke", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/webhooks", Who.OWN, {201, 409}, {"data": {"url": "https://a.example", "runs": "on"}}),
    Row("POST", PAGE + "/settings/webhooks/{webhook}/test", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/webhooks/{webhook}/remove", Who.OWN, {404}),
    Row("POST", PAGE + "/settings/delete", Who.OWN, {303, 404}, {"data": {"confirm": "songs"}}),
]


def routes_of(app: FastAPI) -> set[tuple[str, str]]:
    routes = set()
    for route in iter_route_contexts(app.routes):
        if not isinstance(route.original_route, Mount):
            routes |= {(method, route.path) for method in route.methods or set() if method != "HEAD"}
    return routes


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
        users["visitor"] = service.join(session, elsewhere, service.Visitor(None, "a secret")).user
        tokens = {f"token {scope}": make_token(session, users["owner"], scope) for scope in Scope}
        request_run(session, project, reason="request")
        imports.make(session, project, users["owner"], {}, ImportSource.REST)
        values = {
            "project": "songs",
            "token": service.make_share_link(session, project),
            "run": "1",
            "cluster": "1",
            "first": "1",
            "second": "2",
            "version": "9",
        }
    headers = {"anonymous": {}} | {name: cookie_header(app, user) for name, user in users.items()}
    headers |= {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    values |= {
        "member": "999",
        "token_id": "999",
        "webhook": "999",
        "link": "999",
        "invitation": "999",
        "session_id": "999",
        "answer": str(uuid.uuid4()),
        "labeler": "999",
        "edit": "999",
        "kind": "media",
        "name": "no-such-estimator",
        "key": "item-0",
        "item": "item-0",
        "number": "1",
        "path": "sub/a.csv",
        "position": "0",
        "first": "1",
        "second": "2",
    }
    with TestClient(app) as client:
        yield World(client, database, headers, values)


def cookie_header(app: FastAPI, user: User) -> dict[str, str]:
    return {"Cookie": f"tercet={session_cookie(app.state.database, user)}", "Sec-Fetch-Site": "same-origin"}


def may(who: Who, visitor: str) -> bool:
    match who:
        case Who.ANYBODY:
            return True
        case Who.USER:
            return visitor != "anonymous"
        case Who.PERSON:
            return visitor in SIGNED_IN
        case Who.HOLDER:
            return visitor in SIGNED_IN - {"labeler", "visitor"}
        case Who.ADMIN:
            return visitor == "admin"
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
        existing = world.ask(row, "stranger")
        there, world.values["project"] = world.values["project"], "no-such-project"
        unknown = world.ask(row, "stranger")
        world.values["project"] = there
        assert unknown == (existing[0], existing[1].replace("'songs'", "'no-such-project'")), row


def test_tokens_of_people_who_left(world: World, database: Database) -> None:
    """A token is worth no more than its user is now."""
    with database.transaction() as session:
        owner = session.get_one(User, session.scalars(select(ApiToken.user_id).distinct()).one())
        session.delete(owner)
    row = next(row for row in TABLE if row.path == ONE)
    for visitor in ("owner", *TOKENS):
        assert world.ask(row, visitor)[0] == 401


async def send_unread(app: FastAPI, row: Row, path: str, headers: dict[str, str]) -> int:
    """Send a request with a body of a terabyte of which nothing may be read; return the status of the answer."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("some of the body was read")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    sent = {
        **headers,
        "Host": "testserver",
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Content-Length": str(2**40),
    }
    scope = {
        "type": "http",
        "method": row.method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        "server": ("testserver", 80),
        # One address may not ask so often.
        "client": (f"192.0.2.{TABLE.index(row) % 250 + 1}", 1234),
        "scheme": "http",
        "http_version": "1.1",
    }
    await app(scope, receive, send)
    return statuses[0]


def test_whoever_may_not_has_nothing_read(app: FastAPI, world: World) -> None:
    for row in TABLE:
        if row.method == "GET":
            continue
        path = row.path.replace(":path", "").format(**world.values)
        for visitor in [*VISITORS, *TOKENS]:
            status = run(send_unread(app, row, path, world.headers[visitor]))
            assert status == (413 if may(row.who, visitor) else refusal(row.who, visitor)), f"{row}, {visitor}"


HUGE = ["100000000000000000000", str(2**64), str(2**63), "-1"]


def numbered_requests(app: FastAPI, row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the row's path with each of its parameters but the project huge, then its query with each of its own."""
    for name in re.findall(r"{(\w+)", row.path):
        if name != "project":
            yield re.sub(rf"{{{name}[^}}]*}}", "{number}", row.path), row.send
    described = app.openapi()["paths"].get(row.path.replace(":path", ""), {}).get(row.method.lower(), {})
    names = [parameter["name"] for parameter in described.get("parameters", []) if parameter["in"] == "query"]
    # Pages are not described; what they do not know they leave alone.
    for name in names or (["after", "with", "labeler", "cluster", "run"] if row.method == "GET" else []):
        yield row.path, {**row.send, "params": {**row.send.get("params", {}), name: "{number}"}}


@pytest.mark.heavy
def test_no_number_in_an_address_is_too_large(app: FastAPI, world: World) -> None:
    rows = [row for row in TABLE if not row.endless and row.who is not Who.ANYBODY]
    asked = 0
    for row in rows:
        for path, send in numbered_requests(app, row):
            for number in HUGE:
                world.values["number"] = number
                params = {name: value.format(number=number) for name, value in send.get("params", {}).items()}
                status, text = world.ask(replace(row, path=path, send={**send, "params": params}), "owner")
                assert status < 500, f"{row.method} {path} {params} with {number}: {text}"
                asked += 1
    assert asked > 300


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", ONE + "/runs", {"algorithm": "cmbc", "parameters": {"known_runs": [10**20]}}),
        ("POST", ONE + "/runs", {"parameters": {"n_clusters": 10**20}}),
        ("POST", ONE + "/runs", {"parameters": {"random_state": 10**20}}),
        ("PATCH", ONE, {"algorithm": "cmbc", "parameters": {"known_runs": [10**20]}}),
        ("PATCH", ONE, {"n_clusters": 10**20}),
        ("PATCH", ONE, {"redundancy": 10**20}),
        ("POST", API, {"name": "Other", "rerun_answers": 10**20}),
        ("POST", ONE + "/runs/1/another", {"known_runs": [10**20]}),
        ("POST", ONE + "/runs/1/another", {"n_clusters": 10**20}),
        ("POST", ONE + "/answers", {**FORM, "response_ms": 10**20}),
    ],
)
def test_no_number_in_a_body_is_too_large(world: World, method: str, path: str, body: dict[str, Any]) -> None:
    status, text = world.ask(Row(method, path, Who.OWN, send={"json": body}), "owner")
    assert status == 422, text
