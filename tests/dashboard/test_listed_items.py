"""Items listed by what they are and where they lie, over REST on both databases."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import Bag, Item, Role, now
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_member, make_project, signed_in

ITEMS = "/api/v1/projects/songs/items"
CELLS = [{"site": "A1", "weight": 3}, {"site": "A1", "weight": 3.5}, {"site": "B", "loud": True}, {}]


@pytest.fixture
def client(app: FastAPI, database: Database, storage: Storage) -> Iterator[TestClient]:
    """An analyst of eight items: two bags with labels, columns of metadata, a run; the last item is set aside."""
    with database.transaction() as session:
        project = make_project(session, n_items=8)
        bags = [Bag(project_id=project.id, key="dawn", labels=["wren", "a % song"])]
        bags.append(Bag(project_id=project.id, key="dusk", labels=["owl", "wren"]))
        session.add_all(bags)
        session.flush()
        for item in session.scalars(select(Item)):
            item.details = CELLS[item.position % 4]
            item.bag_id = bags[item.position // 3].id if item.position < 6 else None
            item.set_aside_at = now() if item.position == 7 else None
        add_result(session, storage, project, 1, [1, 2, 1, 2, 3, 3, 1, 1])
        analyst = add_member(session, project, Role.ANALYST)
    with signed_in(app, analyst) as opened:
        yield opened


def listed(client: TestClient, **conditions: object) -> list[int]:
    """Positions of the items that meet the conditions, read two at a time."""
    positions: list[int] = []
    after: int | None = -1
    while after is not None:
        page = client.get(ITEMS, params={**conditions, "after": after, "limit": 2})
        assert page.status_code == 200, page.text
        positions += [item["position"] for item in page.json()["items"]]
        after = page.json()["next"]
    return positions


def test_conditions_choose_and_all_of_them_hold(client: TestClient) -> None:
    assert listed(client) == [0, 1, 2, 3, 4, 5, 6]
    assert listed(client, set_aside=True) == [7]
    assert listed(client, key=["item-4", "item-1", "none"]) == [1, 4]
    assert listed(client, bag="dusk") == [3, 4, 5]
    assert listed(client, label="wren") == [0, 1, 2, 3, 4, 5]
    assert listed(client, label="a % song") == [0, 1, 2]
    assert listed(client, label="wre") == []
    assert listed(client, metadata="site=A1") == [0, 1, 4, 5]
    assert listed(client, metadata="weight=3") == [0, 4]
    assert listed(client, metadata="weight=3.5") == [1, 5]
    assert listed(client, metadata="loud=true") == [2, 6]
    assert listed(client, metadata=["site=A1", "weight=3"]) == [0, 4]
    assert listed(client, cluster=1) == [0, 2, 6]
    assert listed(client, cluster=1, set_aside=True) == [7]
    assert listed(client, cluster=3, bag="dusk", metadata="site=A1") == [4, 5]


@pytest.mark.parametrize(
    ("query", "field"),
    [("cluster=4", "cluster"), ("cluster=0", "cluster"), ("metadata=site", "metadata"), ("colour=1", "colour")],
)
def test_conditions_that_are_wrong_are_named(client: TestClient, query: str, field: str) -> None:
    refused = client.get(f"{ITEMS}?{query}")
    assert refused.status_code == 422
    assert [error["field"].split(".")[-1] for error in refused.json()["errors"]] == [field]
