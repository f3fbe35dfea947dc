"""What people send wrong most often, over HTTP, in one table: what it is told, and that nothing at all changes.

The tests of each domain go deeper; here every row, every stored file and every column is compared.
"""

import io
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import ApiToken, Base, Membership, Role
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import add_features, add_member, make_project, make_token

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")

SONGS, BARE = "/api/v1/projects/songs", "/api/v1/projects/bare"
GIVEN, WITHDRAWN = "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a001", "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a002"
FRESH = "0d5f5c0e-6a53-4e57-9b1e-7a3cb6f1a003"
ASKED = ["item-0", "item-1", "item-2"]


@dataclass(frozen=True)
class Bad:
    """A bad request, the status it gets, and where the fault is said to be."""

    method: str
    address: str
    status: int
    says: str
    at: dict[str, Any] = field(default_factory=dict)
    send: dict[str, Any] = field(default_factory=dict)


def answer(**changed: Any) -> dict[str, Any]:
    return {"json": {"id": FRESH, "triplet": ASKED, "answer": "yes", **changed}}


def lines(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"content": "\n".join(map(json.dumps, rows)), "headers": {"Content-Type": "application/x-ndjson"}}


def array(values: Any, **options: Any) -> dict[str, Any]:
    out = io.BytesIO()
    np.save(out, values, **options)
    return {"params": {"filename": "X.npy"}, "content": out.getvalue()}


def table(content: bytes) -> dict[str, Any]:
    return {"files": [("table", ("items.csv", content))]}


GOOD_ROW = {"triplet": ASKED, "answer": "no"}
WITH_NAN = np.where(np.eye(6) > 0, np.nan, 1.0)
BAD = {
    "an unknown item in an answer": Bad(
        "POST", f"{SONGS}/answers", 422, "no item 'item-9'", {"field": "triplet", "row": 1},
        answer(triplet=["item-0", "item-1", "item-9"]),
    ),
    "an unknown item in a skip": Bad(
        "POST", f"{SONGS}/skips", 422, "no item 'item-9'", {"field": "triplet"},
        {"json": {"triplet": ["item-0", "item-1", "item-9"]}},
    ),
    "an unknown item in constraints": Bad(
        "POST", f"{SONGS}/constraints", 422, "no item 'item-9'", {"field": "triplet", "row": 2},
        lines(GOOD_ROW, {"triplet": ["item-0", "item-1", "item-9"], "answer": "yes"}),
    ),
    "an item twice in an answer": Bad(
        "POST", f"{SONGS}/answers", 422, "named twice", {"field": "triplet", "row": 1},
        answer(triplet=["item-0", "item-1", "item-0"]),
    ),
    "an item twice in constraints": Bad(
        "POST", f"{SONGS}/constraints", 422, "named twice", {"field": "triplet", "row": 2},
        lines(GOOD_ROW, {"triplet": ["item-0", "item-1", "item-1"], "answer": "yes"}),
    ),
    "an answer that is none": Bad(
        "POST", f"{SONGS}/answers", 422, "expected one of yes, no, dnk", {"field": "answer", "row": 1},
        answer(answer="maybe"),
    ),
    "a constraint without an answer": Bad(
        "POST", f"{SONGS}/constraints", 422, "expected one of yes, no, dnk", {"field": "answer", "row": 2},
        lines(GOOD_ROW, {"triplet": ASKED, "answer": "1"}),
    ),
    "features with NaN": Bad(
        "PUT", f"{SONGS}/features", 422, "nan is not a finite", {"file": "X.npy", "row": 1, "field": "column 1"},
        array(WITH_NAN),
    ),
    "features of other items": Bad(
        "PUT", f"{SONGS}/features", 422, "5 rows of features for 6 items", {"file": "X.npy", "field": "rows"},
        array(np.ones((5, 2))),
    ),
    "a pickled array": Bad(
        "PUT", f"{SONGS}/features", 422, "pickle", {"file": "X.npy", "field": "features"},
        array(np.array([[{}]] * 6, object), allow_pickle=True),
    ),
    "a pickle": Bad(
        "PUT", f"{SONGS}/features", 422, "pickles are never read", {"file": "X.npy", "field": "features"},
        {"params": {"filename": "X.npy"}, "content": pickle.dumps([[1.0]] * 6)},
    ),
    "a key twice in a table": Bad(
        "POST", f"{SONGS}/items", 422, "given twice", {"file": "items.csv", "row": 2, "field": "key"},
        table(b"key\nnew\nnew\n"),
    ),
    "a key twice in JSON": Bad(
        "POST", f"{SONGS}/items", 422, "given twice", {"row": 2, "field": "key"},
        {"json": {"items": [{"key": "new"}, {"key": "new"}]}},
    ),
    "a key that is stored": Bad(
        "POST", f"{SONGS}/items", 409, "item-1", {"row": 2, "field": "key"},
        {"json": {"items": [{"key": "new"}, {"key": "item-1"}]}},
    ),
    "a table that is no text": Bad(
        "POST", f"{SONGS}/items", 422, "is not a text",
        {"file": "items.csv", "field": "encoding"}, table(b"key\ncaf\0\n"),
    ),
    "constraints in Latin-1": Bad(
        "POST", f"{SONGS}/constraints", 422, "0xE9", {"field": "encoding"},
        {"content": b"anchor,left,right,answer\ncaf\xe9,b,c,yes\n", "headers": {"Content-Type": "text/csv"}},
    ),
    "an image that is none": Bad(
        "POST", f"{BARE}/items", 422, "is not a picture that can be read", {"file": "new.png", "field": "media"},
        {"files": [("media", ("new.png", b"GIF of a bird"))]},
    ),
    "an id with another answer": Bad("POST", f"{SONGS}/answers", 409, GIVEN, {}, answer(id=GIVEN, answer="no")),
    "an id with another answer, in bulk": Bad(
        "POST", f"{SONGS}/constraints", 409, "taken by another answer", {"row": 2, "field": "id"},
        lines(GOOD_ROW, {**GOOD_ROW, "id": GIVEN}),
    ),
    "withdrawn again": Bad("DELETE", f"{SONGS}/answers/{WITHDRAWN}", 409, "withdrawn already"),
    "a withdrawn answer set aside": Bad(
        "POST", f"{SONGS}/answers/{WITHDRAWN}/set-aside", 409, "was withdrawn by its labeler", {}, {"json": {}}
    ),
    "an answer put back that is used": Bad("DELETE", f"{SONGS}/answers/{GIVEN}/set-aside", 409, "neither set aside"),
    "a reason that cannot be stored": Bad(
        "POST", f"{SONGS}/answers/{GIVEN}/set-aside", 422, "U+0000", {"field": "reason"}, {"json": {"reason": "\0"}}
    ),
    "answers of nobody set aside": Bad(
        "POST", f"{SONGS}/labelers/999999/set-aside", 404, "Nobody with the number 999999", {}, {"json": {}}
    ),
    "answers that the question cannot have": Bad(
        "GET", f"{SONGS}/answers?answer=1", 422, "expected one of yes, no, dnk", {"field": "answer"}
    ),
    "more clusters than items": Bad(
        "PATCH", SONGS, 422, "7 clusters", {"field": "n_clusters"}, {"json": {"n_clusters": 7, "name": "Other"}}
    ),
    "a run with more clusters than items": Bad(
        "POST", f"{SONGS}/runs", 422, "7 clusters", {"field": "n_clusters"},
        {"json": {"parameters": {"n_clusters": 7}}},
    ),
    "a run without features": Bad("POST", f"{BARE}/runs", 409, "label first, or upload features", {}, {"json": {}}),
}  # fmt: skip


@pytest.fixture
def client(app: FastAPI, database: Database, storage: Storage) -> Iterator[TestClient]:
    """An analyst's program, after one answer that counts and one that was withdrawn."""
    with database.transaction() as session:
        project, bare = make_project(session, n_items=6), make_project(session, "bare", n_items=6)
        add_features(session, storage, project, np.eye(6))
        analyst = add_member(session, project, Role.ANALYST)
        session.add(Membership(project_id=bare.id, user_id=analyst.id, role=Role.ANALYST))
        token = make_token(session, analyst)
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        for number in (GIVEN, WITHDRAWN):
            assert opened.post(f"{SONGS}/answers", **answer(id=number)).status_code == 201
        assert opened.delete(f"{SONGS}/answers/{WITHDRAWN}").status_code == 200
        yield opened


def everything(database: Database, settings: Settings) -> dict[str, list[Any]]:
    """Every row of every table, and every stored file."""
    # When a token was last used is written whatever is asked with it.
    tables = [table for table in Base.metadata.sorted_tables if table is not ApiToken.__table__]
    with database.reading() as session:
        rows = {table.name: sorted(map(repr, session.execute(sa.select(table)).all())) for table in tables}
    files = [path for path in Path(settings.resolved_storage_url()).rglob("*") if path.is_file()]
    return {**rows, "files": sorted(files)}


@pytest.mark.parametrize("name", BAD)
def test_it_is_told_where_the_fault_is_and_changes_nothing(
    client: TestClient, database: Database, settings: Settings, name: str
) -> None:
    bad = BAD[name]
    before = everything(database, settings)
    assert before["files"], "the features are among them"
    refused = client.request(bad.method, bad.address, **bad.send)
    assert refused.status_code == bad.status, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    [error] = problem["errors"][:1] or [{}]
    assert bad.says in problem["detail"] + error.get("detail", "")
    assert {where: error.get(where) for where in bad.at} == bad.at
    assert everything(database, settings) == before
