"""Features over HTTP: every format, by key and by order, versions, and items that come later."""

import io

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import Event, FeatureSet, Run
from tercet.storage import Storage
from tests.factories import row_counts
from tests.intake.conftest import PROJECT, npy, npz, post_table

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.fixture
def three(client: TestClient) -> TestClient:
    """A client of a project with the items a, b, c."""
    assert client.post(f"{PROJECT}/items", json={"items": [{"key": k} for k in "abc"]}).status_code == 201
    return client


def stored(database: Database, storage: Storage) -> tuple[FeatureSet, np.ndarray]:
    with database.reading() as session:
        newest = session.scalars(sa.select(FeatureSet).order_by(FeatureSet.version.desc())).first()
    assert newest is not None
    return newest, np.load(io.BytesIO(storage.get(newest.blob)))


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("X.npy", npy(X)),
        ("X.npy", npy(X.astype(np.int16))),
        ("X.npy", npy(np.asfortranarray(X.astype(np.float32)))),
        ("X.npz", npz(X=X, y=[1, 2, 3])),
        ("X.npz", npz(features=X[::-1], keys=["c", "b", "a"])),
        ("X.csv", b"p,q\n1,2\n3,4\n5,6\n"),
        ("X.csv", b"key,p,q\nb,3,4\na,1,2\nc,5,6\n"),
        ("X.csv", "\ufeffkey,p,q\r\nb,3,4\r\na,1,2\r\nc,5,6\r\n".encode()),
    ],
)
def test_every_format_gives_rows_in_item_order(
    three: TestClient, database: Database, storage: Storage, filename: str, content: bytes
) -> None:
    answer = three.put(f"{PROJECT}/features", params={"filename": filename, "name": "two"}, content=content)
    assert answer.status_code == 200, answer.text
    row, values = stored(database, storage)
    assert (answer.json()["version"], row.name, row.n, row.d) == (1, "two", 3, 2)
    np.testing.assert_array_equal(values, X)
    assert values.dtype.kind == "f"
    if filename == "X.csv":
        assert row.feature_names == ["p", "q"]


def test_each_upload_is_a_version_and_queues_one_run(three: TestClient, database: Database) -> None:
    for version in (1, 2):
        assert three.put(f"{PROJECT}/features", content=npy(X * version)).json()["version"] == version
    assert three.get(f"{PROJECT}/features").json()["version"] == 2
    with database.reading() as session:
        assert [(run.status, run.reason) for run in session.scalars(sa.select(Run))] == [("queued", "features")]
        assert [e.kind for e in session.scalars(sa.select(Event)) if e.kind == "project"] == ["project"] * 3


def test_more_clusters_than_items_keep_the_features_but_queue_no_run(three: TestClient, database: Database) -> None:
    with database.transaction() as session:
        session.execute(sa.text("UPDATE project SET n_clusters = 8"))
    assert three.put(f"{PROJECT}/features", content=npy(X)).status_code == 200
    with database.reading() as session:
        assert session.scalars(sa.select(Run)).all() == []
    refused = three.post(f"{PROJECT}/runs", json={})
    assert refused.status_code == 422
    assert "8 clusters" in refused.json()["errors"][0]["detail"]


def test_later_items_bring_their_features(three: TestClient, database: Database, storage: Storage) -> None:
    three.put(f"{PROJECT}/features", content=npy(X))
    before = row_counts(database)
    without = three.post(f"{PROJECT}/items", json={"items": [{"key": "d"}]})
    assert without.status_code == 409
    assert "uses uploaded features" in without.json()["detail"]
    for values in ([[1.0]], [[1.0, 2.0, 3.0]]):
        refused = post_table(three, "key\nd\n", features=("Y.npy", npy(values)))
        assert refused.status_code == 422
        assert "for each new item, but the existing items have 2" in refused.json()["detail"]
    assert row_counts(database) == before
    only_new = post_table(three, "key\nd\ne\n", features=("Y.csv", b"key,p,q\ne,9,10\nd,7,8\n"))
    assert only_new.status_code == 201, only_new.text
    row, values = stored(database, storage)
    assert row.version == 2
    np.testing.assert_array_equal(values, np.arange(1.0, 11.0).reshape(5, 2))
    all_of_them = post_table(three, "key\nf\n", features=("Z.npy", npy(np.zeros((6, 3)))))
    assert all_of_them.status_code == 201, all_of_them.text
    assert stored(database, storage)[1].shape == (6, 3)


def test_a_project_without_features_cannot_run(three: TestClient, database: Database) -> None:
    before = row_counts(database)
    answer = three.post(f"{PROJECT}/runs", json={})
    assert answer.status_code == 409, answer.text
    assert "no features" in answer.json()["detail"]
    assert row_counts(database) == before
