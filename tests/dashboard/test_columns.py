"""What items can be coloured by, searched by and alike by, over REST on both databases."""

import uuid

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from tercet.database import Database
from tercet.models import Answer, Bag, Item, Project, Role, Triplet, User, now
from tercet.storage import Storage
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project, signed_in

API = "/api/v1/projects/songs"


@pytest.fixture
def owner(database: Database, storage: Storage) -> User:
    """The owner of ten items: a site and a weight each, the first four from bags, two labelers asked about 0, 1, 2."""
    with database.transaction() as session:
        project = make_project(session, n_items=10)
        bags = [Bag(project_id=project.id, key=key) for key in ("North", "South")]
        session.add_all(bags)
        session.flush()
        items = list(session.scalars(select(Item).order_by(Item.position)))
        for item in items:
            item.details = {"site": f"site {item.position % 2}", "weight": f"{item.position}.5"}
            item.bag_id = bags[item.position % 2].id if item.position < 4 else None
        items[9].details = {"odd_%": "Ünï"}
        features = np.column_stack([np.arange(10) ** 1.5, 1000.0 * (np.arange(10) % 2)])
        add_features(session, storage, project, features)
        owner = add_member(session, project, Role.OWNER)
        other = add_member(session, project, Role.LABELER)
        triplet = Triplet(
            project_id=project.id, anchor_id=items[0].id, left_id=items[1].id, right_id=items[2].id, source="client"
        )
        session.add(triplet)
        session.flush()
        about = {"project_id": project.id, "triplet_id": triplet.id, "value": "yes", "created_at": now()}
        for number, labeler in enumerate((owner, other, other), 1):
            withdrawn = now() if number == 3 else None
            ids = {"id": uuid.uuid4(), "number": number, "labeler_id": labeler.id, "withdrawn_at": withdrawn}
            session.add(Answer(**about, **ids))
        return owner


def read(client: TestClient, path: str, **parameters: object) -> dict:
    response = client.get(f"{API}/{path}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_every_offered_column_has_a_value_for_each_item(app: FastAPI, owner: User) -> None:
    with signed_in(app, owner) as client:
        offered = [column["by"] for column in read(client, "columns")["columns"]]
        assert offered == ["bag", "labelers", "column:odd_%", "column:site", "column:weight", "feature:0", "feature:1"]
        columns = {by: read(client, "columns/values", by=by) for by in offered}
    assert {len(column["values"]) for column in columns.values()} == {10}
    assert columns["bag"]["groups"] == ["North", "South"]
    assert columns["bag"]["values"] == [0, 1, 0, 1, *[None] * 6]
    assert columns["labelers"]["values"] == [2, 2, 2, *[0] * 7]
    assert columns["column:site"]["values"] == [0, 1] * 4 + [0, None]
    weight = columns["column:weight"]
    assert (weight["groups"], weight["values"][8:]) == (None, [8.5, None])
    assert columns["feature:0"]["values"] == (np.arange(10) ** 1.5).tolist()


@pytest.mark.parametrize("by", ["column:none", "feature:2", "feature:x", "bag:x", "", "feature:²"])
def test_an_unknown_column_is_refused(app: FastAPI, owner: User, by: str) -> None:
    with signed_in(app, owner) as client:
        refused = client.get(f"{API}/columns/values", params={"by": by})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "by")


def test_more_groups_than_colours_are_refused(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        for position in range(10, 100):
            details = {"name": f"n{position}"}
            session.add(Item(project_id=project.id, key=f"more-{position}", position=position, details=details))
    with signed_in(app, owner) as client:
        assert "90 different values" in client.get(f"{API}/columns/values?by=column:name").text


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("ITEM-3", [3]),
        ("north", [0, 2]),
        ("site 1", [1, 3, 5, 7]),
        ("%", [9]),
        ("_%", [9]),
        ("Ünï", [9]),
        ("nothing", []),
    ],
)
def test_search_looks_everywhere_and_takes_signs_as_they_are(
    app: FastAPI, owner: User, text: str, positions: list[int]
) -> None:
    with signed_in(app, owner) as client:
        assert read(client, "search", text=text)["positions"] == positions


def test_a_filter_is_all_of_its_parts_and_the_cards_are_about_what_passes(
    app: FastAPI, database: Database, storage: Storage, owner: User
) -> None:
    with database.transaction() as session:
        items = list(session.scalars(select(Item).order_by(Item.position)))
        for item in items[5:9]:
            item.details = {"site": item.position > 6, "weight": item.position}
        project = session.scalars(select(Project)).one()
        add_result(session, storage, project, 1, [1] * 5 + [2] * 5)
    with signed_in(app, owner) as client:
        assert read(client, "search")["positions"] == list(range(10))
        assert read(client, "search", by="column:site", value="site 1")["positions"] == [1, 3]
        assert read(client, "search", by="column:site", value="True")["positions"] == [7, 8]
        assert read(client, "search", by="column:weight", value="8")["positions"] == [8]
        assert read(client, "search", by="bag", value="South", text="ITEM-3")["positions"] == [3]
        assert client.get(f"{API}/search?by=feature:0&value=1").status_code == 422
        page = client.get("/projects/songs?by=bag&value=South").text
        assert "2 of 10 items" in page
        cards = page[page.index('id="clusters"') :]
        assert cards.count("2 items") == 1
        assert cards.count("no items") == 2
        assert "/projects/songs/answers?by=bag&amp;value=South#list" in page


def test_items_set_aside_are_not_found(app: FastAPI, database: Database, owner: User) -> None:
    with database.transaction() as session:
        session.scalars(select(Item).where(Item.position == 2)).one().set_aside_at = now()
    with signed_in(app, owner) as client:
        assert read(client, "search", text="north")["positions"] == [0]
        assert 2 not in read(client, "similar", at=0)["positions"]


def test_look_alikes_are_nearest_by_scaled_features(app: FastAPI, owner: User) -> None:
    rows = np.column_stack([np.arange(10) ** 1.5, 1000.0 * (np.arange(10) % 2)])
    scaled = rows / rows.std(axis=0)
    expected = np.argsort(((scaled - scaled[4]) ** 2).sum(axis=1), kind="stable")
    with signed_in(app, owner) as client:
        assert read(client, "similar", at=4)["positions"] == expected.tolist()
        assert read(client, "similar", at=4, limit=3)["positions"] == [4, *expected[1:3].tolist()]
        assert client.get(f"{API}/similar?at=10").status_code == 422
