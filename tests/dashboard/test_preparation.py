"""What the project page says before people label: of all items as they are now, however many imports they came in."""

from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from tercet.dashboard.preparation import preparation
from tercet.database import Database
from tercet.models import Import, ImportSource, ImportStatus, Item, Project, now
from tercet.storage import Storage
from tests.factories import add_features, make_project


def add_import(database: Database, number: int, **report: Any) -> None:
    with database.transaction() as session:
        project = session.scalars(select(Project)).one()
        row = Import(project_id=project.id, number=number, source=ImportSource.REST, options={})
        row.status, row.report = ImportStatus.DONE, report
        session.add(row)


def change(database: Database, key: str, **values: Any) -> None:
    with database.transaction() as session:
        item = session.scalars(select(Item).where(Item.key == key)).one()
        for name, value in values.items():
            setattr(item, name, value)


def findings(database: Database, storage: Storage) -> dict[str, tuple[str, ...]]:
    """The kinds of what was found, each with the keys of its items."""
    with database.reading() as session:
        project = session.scalars(select(Project)).one()
        return {finding.kind: finding.keys for finding in preparation(session, storage, project).findings}


@pytest.fixture
def songs(database: Database) -> Database:
    """A project of twelve recordings that differ."""
    with database.transaction() as session:
        project = make_project(session, n_items=12)
        for item in session.scalars(select(Item).where(Item.project_id == project.id)):
            item.media_type, item.media, item.content_hash, item.media_seconds = "audio/wav", "x", item.key, 1.0
    return database


def silent(*keys: str) -> dict[str, Any]:
    return {"kind": "silent", "keys": list(keys), "sentence": "", "what_to_do": ""}


def test_nothing_is_said_of_good_items(songs: Database, storage: Storage) -> None:
    assert findings(songs, storage) == {}


def test_copies_that_came_in_different_imports_go_when_one_is_set_aside(songs: Database, storage: Storage) -> None:
    change(songs, "item-7", content_hash="item-2")
    assert findings(songs, storage) == {"duplicates": ("item-2", "item-7")}
    change(songs, "item-7", set_aside_at=now())
    assert findings(songs, storage) == {}


def test_silent_recordings_are_listed_until_better_ones_replace_them(songs: Database, storage: Storage) -> None:
    add_import(songs, 1, findings=[silent("item-1", "item-4", "gone")])
    add_import(songs, 2, findings=[silent("item-5")])
    assert findings(songs, storage) == {"silent": ("item-1", "item-4", "item-5")}
    add_import(songs, 3, findings=[], replaced=["item-4", "item-5"])
    assert findings(songs, storage) == {"silent": ("item-1",)}


def test_rates_are_counted_over_all_imports(songs: Database, storage: Storage) -> None:
    add_import(songs, 1, rates=[[22_050, 8]])
    assert findings(songs, storage) == {}
    add_import(songs, 2, rates=[[48_000, 4]])
    assert list(findings(songs, storage)) == ["rates"]


def test_features_that_are_the_same_for_all_items_in_use(songs: Database, storage: Storage) -> None:
    features = np.random.default_rng(0).normal(size=(12, 3))
    features[:, 1] = 0.5
    features[3, 1] = 0.0  # of an item that is set aside
    with songs.transaction() as session:
        add_features(session, storage, session.scalars(select(Project)).one(), features)
    assert findings(songs, storage) == {}
    change(songs, "item-3", set_aside_at=now())
    assert list(findings(songs, storage)) == ["constant_features"]


def test_few_items_for_a_cluster(songs: Database, storage: Storage) -> None:
    with songs.transaction() as session:
        session.scalars(select(Project)).one().n_clusters = 5
    assert list(findings(songs, storage)) == ["clusters"]
