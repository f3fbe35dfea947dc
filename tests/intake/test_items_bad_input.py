"""Bad tables, files and features over HTTP: each is named by file, row and field, and changes nothing."""

import io
import json
import pickle
import time
import zipfile
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.errors import Invalid
from tercet.intake.tables import read_header
from tests.factories import row_counts
from tests.intake.conftest import PROJECT, image, npy, npz, post_table, wav

# One kind of database will do: all of this is refused before any is asked.
pytestmark = pytest.mark.only_on("sqlite")

HEADER = "key,text,media\n"
GOOD = npy(np.ones((3, 2)))
TORN = image()[:60]


def refused(answer: Any, status: int, **expected: Any) -> dict[str, Any]:
    """Check that a problem was reported as expected; give its first error."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    error: dict[str, Any] = answer.json()["errors"][0]
    assert {name: error.get(name) for name in expected} == expected, error
    return error


def add_three(client: TestClient) -> None:
    """Start with the items a, b and c."""
    assert client.post(f"{PROJECT}/items", json={"items": [{"key": k} for k in "abc"]}).status_code == 201


@pytest.mark.parametrize(
    ("table", "row", "field", "says"),
    [
        (HEADER + "a,,\nb,,\na,,\n", 3, "key", "given twice; first in row 1"),
        (HEADER + "a,x\n", 1, "row", "2 cells where the header names 3 columns"),
        (HEADER + "a,,gone.png\n", 1, "media", "'gone.png' was not sent"),
        (HEADER + 'a,"x\n', None, "csv", "not proper CSV"),
        (HEADER + "a\x07b,,\n", 1, "key", "U+0007"),
        (HEADER + "a,x\0y,\n", None, "encoding", "zero bytes"),
        (HEADER + f"{'k' * 201},,\n", 1, "key", "201 characters"),
        ("", None, "header", "it is empty"),
        ("key,text\n", None, "files", "nothing to import"),
        ("key,key\na,b\n", None, "header", "there twice"),
        ("key,bag,bag_labels\na,x,p\nb,x,q\n", 2, "bag_labels", "other labels in an earlier row: p"),
        ("key,bag_labels\na,p\n", 1, "bag_labels", "need a bag"),
    ],
)
def test_bad_tables(
    client: TestClient, database: Database, table: str | bytes, row: int | None, field: str, says: str
) -> None:
    before = row_counts(database)
    error = refused(post_table(client, table), 422, field=field, row=row)
    assert says in error["detail"]
    assert field == "files" or error["file"] == "items.csv"
    assert row_counts(database) == before


def test_a_header_of_many_columns_is_read_in_proportion_to_them() -> None:
    """Each column compared with each other took minutes of processor time for a small file."""
    columns = [f"column {number}" for number in range(40_000)]
    began = time.process_time()
    assert read_header(iter([(0, ["key", *columns])]), "items.csv", ["key"])[1:] == columns
    with pytest.raises(Invalid, match="'column 7' is there twice"):
        read_header(iter([(0, [*columns, "column 7"])]), "items.csv", [])
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("item", "row", "field"),
    [
        ({}, 2, "key"),
        ({"key": 7}, 2, "key"),
        ({"key": "x", "colour": 1}, 2, "colour"),
        ({"key": "a"}, 2, "key"),
        ({"key": " x"}, 2, "key"),
        ({"key": "x", "bag": ""}, 2, "bag"),
        ({"key": "x", "metadata": {"n": float("nan")}}, 2, "metadata"),
        ({"key": "x", "metadata": {"n": ["\0"]}}, 2, "metadata"),
    ],
)
def test_bad_json_rows(client: TestClient, database: Database, item: dict[str, Any], row: int, field: str) -> None:
    before = row_counts(database)
    body = json.dumps({"items": [{"key": "a"}, item]})
    answer = client.post(f"{PROJECT}/items", content=body, headers={"Content-Type": "application/json"})
    refused(answer, 422, row=row, field=field)
    assert row_counts(database) == before


@pytest.mark.parametrize("body", [b"", b"{", b'{"items": []}', b"[1]", b'{"items": [{"key": "\xff"}]}'])
def test_bad_json_bodies(client: TestClient, database: Database, body: bytes) -> None:
    before = row_counts(database)
    answer = client.post(f"{PROJECT}/items", content=body, headers={"Content-Type": "application/json"})
    refused(answer, 422)
    assert row_counts(database) == before


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("notes.png", b"just text", "is not a picture that can be read"),
        ("drawing.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', "it is SVG"),
        ("page.jpg", b"<!doctype html><script>1</script>", "it is HTML"),
        ("torn.png", TORN, "not an image that can be read"),
        ("torn.jpg", b"\xff\xd8\xff" + b"\0" * 50, "not an image that can be read"),
        ("torn.wav", wav()[:30], "header is damaged"),
        ("empty.wav", b"", "it is empty"),
        (".hidden.png", image(), "hidden"),
    ],
)
def test_files_that_are_no_media(client: TestClient, database: Database, name: str, content: bytes, says: str) -> None:
    before = row_counts(database)
    files = [("media", ("good.png", image())), ("media", (name, content))]
    error = refused(client.post(f"{PROJECT}/items", files=files), 422, file=name, field="media")
    assert says in error["detail"]
    assert row_counts(database) == before


def test_a_picture_that_unpacks_to_too_much_is_refused(client: TestClient, database: Database) -> None:
    bomb = image((9_000, 9_000), mode="1")
    error = refused(client.post(f"{PROJECT}/items", files=[("media", ("b.png", bomb))]), 422, file="b.png")
    assert "9000 x 9000 pixels" in error["detail"]


def test_files_that_nothing_names(client: TestClient, database: Database) -> None:
    answer = post_table(client, "key\na\n", media=("stray.png", image()))
    assert "no column has the names of the sounds and pictures" in refused(answer, 422, file="items.csv")["detail"]
    files = [("table", ("t.csv", b"key,file\na,a.png\n")), ("media", ("a.png", image())), ("media", ("b.png", image()))]
    assert "no row of 't.csv' names it" in refused(client.post(f"{PROJECT}/items", files=files), 422)["detail"]
    twice = [("media", ("x/a.png", image())), ("media", ("y/a.png", image()))]
    assert "two files with this name" in refused(client.post(f"{PROJECT}/items", files=twice), 422)["detail"]
    tables = [("table", ("a.csv", b"key\na\n")), ("table", ("b.csv", b"key\nb\n"))]
    assert "one file is expected" in refused(client.post(f"{PROJECT}/items", files=tables), 422, file="b.csv")["detail"]
    field = client.post(f"{PROJECT}/items", files=[("tabel", ("a.csv", b"key\n"))])
    refused(field, 422, field="tabel")
    assert row_counts(database)["item"] == 0


def zip_with(name: str, content: bytes, packing: int = zipfile.ZIP_STORED, *, damaged: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as packed:
        packed.writestr(name, content)
    written = bytearray(out.getvalue())
    if damaged:  # from the first byte behind the name on, where the packed content begins
        begin = 30 + len(name)
        written[begin : begin + 20] = b"\x05" * 20
    return bytes(written)


LYING_HEADER = npy(np.ones((2, 2))).replace(b"(2, 2), }" + b" " * 12, b"(2222222222, 2), }   ")


@pytest.mark.parametrize(
    ("filename", "content", "row", "field", "says"),
    [
        ("X.npy", npy([[1, 2], [3, np.nan], [5, 6]]), 2, "column 2", "nan is not a finite"),
        ("X.npy", npy([[1, 2], [3, 4], [-np.inf, 6]]), 3, "column 1", "-inf"),
        ("X.npy", npy(np.ones((4, 2))), None, "rows", "4 rows of features for 3 items"),
        ("X.npy", npy(np.ones(3)), None, "features", "shape (3,)"),
        ("X.npy", npy(np.ones((3, 0))), None, "features", "shape (3, 0)"),
        ("X.npy", npy([["1"], ["2"], ["3"]]), None, "features", "not numbers"),
        ("X.npy", npy(np.ones((3, 2), complex)), None, "features", "not numbers"),
        ("X.npy", npy(np.array([[{}], [1], [2]], object), allow_pickle=True), None, "features", "pickle"),
        ("X.npy", pickle.dumps([[1.0]] * 3), None, "features", "pickles are never read"),
        ("X", pickle.dumps([[1.0]] * 3), None, "features", "pickles are never read"),
        ("X.npy", b"", None, "features", "begins with nothing"),
        ("X.npy", GOOD[:-5], None, "features", "cannot be read"),
        ("X.npy", LYING_HEADER, None, "features", "cannot be read"),
        ("X.npy", b"\x93NUMPY\x01\0\x06\0   '''", None, "features", "as a NumPy file: EOF in multi-line string"),
        ("X.npz", npz(Y=np.ones((3, 2))), None, "features", "there is: Y"),
        ("X.npz", npz(X=np.ones((3, 2)), keys=["a", "b"]), None, "keys", "2 keys for 3 rows"),
        ("X.npz", npz(X=np.ones((3, 2)), keys=["a", "b", "z"]), 3, "key", "no item 'z'"),
        ("X.npz", npz(X=np.ones((3, 2)), keys=["a", "b", "b"]), 2, "key", "given 2 times"),
        ("X.npz", npz(X=np.array([[{}], [1], [2]], object)), None, "features", "pickle"),
        ("X.npz", zip_with("X.npy", LYING_HEADER), None, "features", "cannot be read"),
        ("X.npz", zip_with("X.npy", b"words"), None, "features", "holds no array"),
        ("X.npz", npz(X=np.ones((3, 2)))[:-40], None, "features", "cannot be read"),
        ("X.npz", zip_with("X.npy", GOOD, zipfile.ZIP_DEFLATED, damaged=True), None, "features", "cannot be read"),
        ("X.npz", zip_with("X.npy", GOOD, zipfile.ZIP_LZMA, damaged=True), None, "features", "cannot be read"),
        ("X.csv", b"key,p\na,1\nb,2\n", None, "key", "'c' has no features"),
        ("X.csv", b"p,q\n1,2\n3,\n5,6\n", 2, "q", "is empty"),
        ("X.csv", b"p,q\n1,2\n3,x\n5,6\n", 2, "q", "'x' is not a number"),
        ("X.csv", b"p,q\n1,2\n3,nan\n5,6\n", 2, "q", "not a finite number"),
        ("X.csv", b"p,q\n1,2\n3\n5,6\n", 2, "row", "1 cells"),
        ("X.csv", b"1,2\n3,4\n5,6\n7,8\n", None, "header", "holds numbers"),
        ("X.csv", b"p,q\n", None, "features", "shape (0, 2)"),
        ("X.csv", b"caf\xe9,q\n1,2\n", None, "encoding", "0xE9"),
    ],
)
def test_bad_features(
    client: TestClient, database: Database, filename: str, content: bytes, row: int | None, field: str, says: str
) -> None:
    add_three(client)
    before = row_counts(database)
    answer = client.put(f"{PROJECT}/features", params={"filename": filename}, content=content)
    error = refused(answer, 422, row=row, field=field)
    assert says in error["detail"], error
    assert row_counts(database) == before
    assert client.get(f"{PROJECT}/features").status_code == 404


def test_bad_features_beside_good_items_store_neither(client: TestClient, database: Database) -> None:
    before = row_counts(database)
    answer = post_table(client, "key\na\nb\n", features=("X.npy", npy([[1.0], [np.nan]])))
    refused(answer, 422, file="X.npy", row=2)
    assert row_counts(database) == before


def test_other_content_types_are_refused(client: TestClient) -> None:
    answer = client.post(f"{PROJECT}/items", content=b"key\na\n", headers={"Content-Type": "text/csv"})
    assert answer.status_code == 415
    torn = {"Content-Type": "multipart/form-data"}
    assert client.post(f"{PROJECT}/items", content=b"x", headers=torn).status_code == 400
    assert client.post(f"{PROJECT}/items", files=[("x", b"")]).status_code == 422
