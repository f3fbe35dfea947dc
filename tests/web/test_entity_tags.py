"""A change with If-Match is made only if nobody else has made one in between."""

import threading
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import Role
from tests.factories import add_member, make_project, signed_in

PROJECT, ITEM = "/api/v1/projects/songs", "/api/v1/projects/songs/items/item-1"
CHANGES = [(PROJECT, {"name": "Songs of the forest"}), (ITEM, {"metadata": {"site": "hill"}})]


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with database.transaction() as session:
        owner = add_member(session, make_project(session, "songs", n_items=6), Role.OWNER)
    with signed_in(app, owner) as client:
        yield client


@pytest.mark.parametrize(("path", "change"), CHANGES)
def test_the_second_of_two_changes_is_refused(client: TestClient, path: str, change: dict[str, object]) -> None:
    read = client.get(path)
    tag = {"If-Match": read.headers["ETag"]}
    first = client.patch(path, json=change, headers=tag)
    assert first.status_code == 200, first.text
    after = client.get(path)
    assert first.headers["ETag"] == after.headers["ETag"] != read.headers["ETag"]
    second = client.patch(path, json=change, headers=tag)
    assert second.status_code == 412
    assert after.headers["ETag"] in second.json()["detail"]
    assert client.get(path).json() == after.json()
    for anything in (f'"old", {after.headers["ETag"]}', "*"):
        assert client.patch(path, json=change, headers={"If-Match": anything}).status_code == 200
    assert client.patch(path, json=change).status_code == 200


def test_of_changes_at_the_same_moment_one_is_made(client: TestClient) -> None:
    tag = {"If-Match": client.get(PROJECT).headers["ETag"]}
    together = threading.Barrier(6)
    statuses: list[int] = []

    def rename(number: int) -> None:
        together.wait()
        statuses.append(client.patch(PROJECT, json={"name": f"Name {number}"}, headers=tag).status_code)

    people = [threading.Thread(target=rename, args=(number,)) for number in range(6)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(statuses) == [200, 412, 412, 412, 412, 412]
