"""Single items: read, changed, set aside and taken back, deleted; what runs, questions and lists make of that."""

from collections.abc import Iterator

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.labeling.queue import draw
from tercet.models import Item, Project, Role, Run, Triplet
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import add_member, make_token
from tests.intake.conftest import PROJECT, npy
from tests.intake.support import import_files
from tests.runs.support import answer_truly, compute, make_songs, request

ITEMS = f"{PROJECT}/items"


@pytest.fixture
def songs(database: Database, storage: Storage) -> int:
    """A project of 30 items in three clouds, with answers."""
    project = make_songs(database, storage, n=30)
    answer_truly(database, project, 8)
    return project


@pytest.fixture
def analyst(app: FastAPI, database: Database, songs: int) -> Iterator[TestClient]:
    with database.transaction() as session:
        token = make_token(session, add_member(session, session.get_one(Project, songs), Role.ANALYST))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


def stored_result(database: Database, storage: Storage) -> results.Result:
    with database.reading() as session:
        run = session.scalars(sa.select(Run).where(Run.status == "done").order_by(Run.number.desc())).first()
    return results.load(storage, run.result)


@pytest.mark.heavy(but="sqlite")
def test_what_is_set_aside_is_in_no_fit_no_question_and_no_count(
    analyst: TestClient, database: Database, storage: Storage, settings: Settings, songs: int
) -> None:
    request(database, songs)
    assert compute(database, settings) == "done"
    before = stored_result(database, storage)
    assert (before.labels > 0).all()
    patched = analyst.patch(f"{ITEMS}/item-4", json={"set_aside": True})
    assert patched.status_code == 200, patched.text
    assert patched.json()["set_aside_at"] is not None
    clusters = analyst.get(f"{PROJECT}/runs/latest/clusters").json()["clusters"]
    assert sum(cluster["size"] for cluster in clusters) == 29, "at once, without waiting for a run"
    assert compute(database, settings) == "done"

    result = stored_result(database, storage)
    assert result.labels[4] == -1
    assert len(result.labels) == 30
    in_use = np.arange(30) != 4
    assert (result.labels[in_use] == before.labels[in_use]).mean() > 0.9, "numbers of clusters stay"
    listed = analyst.get(ITEMS).json()["items"]
    assert "item-4" not in [item["key"] for item in listed]
    exported = analyst.get(f"{PROJECT}/runs/latest/items").json()["items"]
    assert len(exported) == 29
    assert [item["key"] for item in analyst.get(ITEMS, params={"set_aside": True}).json()["items"]] == ["item-4"]
    with database.reading() as session:
        [aside] = session.scalars(sa.select(Item.id).where(Item.set_aside_at.is_not(None)))
        queued = session.scalars(sa.select(Triplet).where(Triplet.priority.is_not(None))).all()
        drawn = draw(session, songs, "relative", 500)
    assert queued
    assert not any(aside in (t.anchor_id, t.left_id, t.right_id) for t in queued)
    assert not any(aside in triplet for triplet in drawn)

    assert analyst.patch(f"{ITEMS}/item-4", json={"set_aside": False}).json()["set_aside_at"] is None
    assert compute(database, settings) == "done"
    assert (stored_result(database, storage).labels > 0).all()


def test_an_item_with_answers_is_set_aside_and_one_without_is_deleted(
    analyst: TestClient, database: Database, storage: Storage, settings: Settings, songs: int
) -> None:
    with database.transaction() as session:
        anchor = session.get_one(Item, session.scalars(sa.select(Triplet.anchor_id).limit(1)).one()).key
        corners = sa.union(*(sa.select(column) for column in (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)))
        asked = set(session.scalars(corners))
        unasked = [key for key, number in session.execute(sa.select(Item.key, Item.id)) if number not in asked]
        assert unasked, "some item was never asked about"
    assert analyst.delete(f"{ITEMS}/{anchor}").json() == {"key": anchor, "set_aside": True}
    assert analyst.get(f"{ITEMS}/{anchor}").json()["set_aside_at"] is not None
    assert analyst.delete(f"{ITEMS}/{unasked[0]}").json() == {"key": unasked[0], "set_aside": False}
    assert analyst.get(f"{ITEMS}/{unasked[0]}").status_code == 404
    assert analyst.delete(f"{ITEMS}/{unasked[0]}").status_code == 404
    assert compute(database, settings) == "done"
    exported = analyst.get(f"{PROJECT}/runs/latest/items").json()["items"]
    assert len(exported) == 28
    assert not any("\x7f" in item["item"] for item in exported)
    # The key is free for another item, which gets a place of its own.
    again = analyst.post(ITEMS, json={"items": [{"key": unasked[0]}]})
    assert again.status_code == 409, "the project has features"
    features = analyst.put(f"{PROJECT}/features", params={"filename": "X.npy"}, content=npy(np.eye(29, 4)))
    assert features.status_code == 200, features.text
    assert features.json()["n_items"] == 30, "a row of zeros stands for the deleted one"


def test_changes_of_one_item(client: TestClient, database: Database, settings: Settings) -> None:
    import_files(client, database, settings, {"items.csv": b"key,text,bag,site\na,one,r1,x\nb,two,r1,y\n"})
    changed = client.patch(f"{ITEMS}/a", json={"text": "uno", "bag": "r2", "metadata": {"site": None, "year": 1999}})
    assert changed.status_code == 200, changed.text
    assert client.get(f"{ITEMS}/a").json() == changed.json()
    assert (changed.json()["text"], changed.json()["bag"], changed.json()["metadata"]) == ("uno", "r2", {"year": 1999})
    for wrong in ({"text": None}, {"colour": 1}, {"bag": ""}, {"metadata": {"a": "\x00"}}):
        assert client.patch(f"{ITEMS}/a", json=wrong).status_code == 422, wrong
    assert client.patch(f"{ITEMS}/nowhere", json={"text": "x"}).status_code == 404
