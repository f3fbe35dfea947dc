"""Tags over REST: put on items, taken off, listed, filtered by and exported; on both databases."""

import csv
import io
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import Event, Item, Role, now
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_member, make_project, signed_in

API = "/api/v1/projects/songs"


@pytest.fixture
def analyst(app: FastAPI, database: Database, storage: Storage) -> Iterator[TestClient]:
    """An analyst of six items in three clusters."""
    with database.transaction() as session:
        project = make_project(session, n_items=6)
        add_result(session, storage, project, 1, [1, 1, 2, 2, 3, 3])
        ann = add_member(session, project, Role.ANALYST, "Ann")
    with signed_in(app, ann) as client:
        yield client


def tag(client: TestClient, name: str, **changes: list[str]) -> dict[str, object]:
    response = client.post(f"{API}/tags", json={"tag": name, **changes})
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_a_change_says_what_it_changed_so_that_it_can_be_undone(analyst: TestClient, database: Database) -> None:
    assert tag(analyst, "check", add=["item-1"])["added"] == ["item-1"]
    changed = tag(analyst, "check", add=["item-4", "item-1"], remove=["item-2"])
    assert changed == {"tag": "check", "added": ["item-4"], "removed": []}
    tag(analyst, "two birds", add=["item-4"])
    assert analyst.get(f"{API}/items/item-4").json()["tags"] == ["check", "two birds"]
    assert tag(analyst, "check", remove=["item-4"])["removed"] == ["item-4"]
    counts = [{"tag": "check", "items": 1}, {"tag": "two birds", "items": 1}]
    assert analyst.get(f"{API}/tags").json()["tags"] == counts
    with database.transaction() as session:
        assert {"changed": "tags"} in session.scalars(select(Event.payload)).all(), "open pages hear of it"
        session.scalars(select(Item).where(Item.key == "item-1")).one().set_aside_at = now()
    assert analyst.get(f"{API}/tags").json()["tags"] == counts[1:]


def test_tags_are_in_lists_on_the_map_and_in_exports(analyst: TestClient) -> None:
    tag(analyst, "=check", add=["item-1", "item-3"])
    tag(analyst, "Vögel", add=["item-3"])
    assert [item["key"] for item in analyst.get(f"{API}/items?tag==check").json()["items"]] == ["item-1", "item-3"]
    assert analyst.get(f"{API}/search", params={"tag": "Vögel"}).json()["positions"] == [3]
    assert analyst.get(f"{API}/positions?at=3,0").json()["items"][0]["tags"] == ["=check", "Vögel"]
    rows = analyst.get(f"{API}/runs/1/items").json()["items"]
    assert [row["tags"] for row in rows] == [[], ["=check"], [], ["=check", "Vögel"], [], []]
    table = csv.DictReader(io.StringIO(analyst.get(f"{API}/runs/1/items?format=csv").text))
    assert [row["tags"] for row in table] == ["", "'=check", "", "'=check; Vögel", "", ""]


def test_what_is_wrong_changes_nothing(analyst: TestClient) -> None:
    for body, field in (
        ({"tag": "", "add": ["item-1"]}, "tag"),
        ({"tag": "x" * 41, "add": ["item-1"]}, "tag"),
        ({"tag": "a; b", "add": ["item-1"]}, "tag"),
        ({"tag": "check", "add": ["item-1", "nothing"]}, "add"),
        ({"tag": "check", "add": ["item-1"], "remove": ["item-1"]}, "remove"),
    ):
        response = analyst.post(f"{API}/tags", json=body)
        assert response.status_code == 422
        assert response.json()["errors"][0]["field"] == field, body
    assert analyst.get(f"{API}/tags").json()["tags"] == []


def test_a_deleted_item_has_no_tags(analyst: TestClient) -> None:
    tag(analyst, "check", add=["item-5"])
    assert analyst.delete(f"{API}/items/item-5").status_code == 200
    assert analyst.get(f"{API}/tags").json()["tags"] == []
    assert analyst.get(f"{API}/search?tag=check").json()["positions"] == []
