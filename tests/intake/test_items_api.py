"""Items and media over HTTP: what goes in comes out, on both databases."""

import io

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from PIL import Image

from tercet.database import Database
from tercet.models import Bag, Event, Run
from tercet.storage import Storage
from tests.factories import row_counts
from tests.intake.conftest import PROJECT, image, npy, post_table, wav


def test_json_rows_come_back_page_by_page(client: TestClient, database: Database) -> None:
    rows = [
        {"key": "a/ä 1", "text": "first", "bag": "rec", "bag_labels": ["thrush", "wren"], "metadata": {"site": 3}},
        {"key": "b", "bag": "rec"},
        {"key": "c"},
    ]
    answer = client.post(f"{PROJECT}/items", json={"items": rows})
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"added": 3, "features": None}
    first = client.get(f"{PROJECT}/items?limit=2").json()
    assert [(i["key"], i["position"], i["bag"]) for i in first["items"]] == [("a/ä 1", 0, "rec"), ("b", 1, "rec")]
    assert first["items"][0]["metadata"] == {"site": 3}
    assert first["items"][0]["media_url"] is None
    second = client.get(f"{PROJECT}/items", params={"after": first["next"], "limit": 2}).json()
    assert ([i["key"] for i in second["items"]], second["next"]) == (["c"], None)
    more = client.post(f"{PROJECT}/items", json={"items": [{"key": "d", "bag": "rec"}]})
    assert more.status_code == 201
    with database.reading() as session:
        assert session.scalars(sa.select(Bag.labels)).all() == [["thrush", "wren"]]
        assert [e.kind for e in session.scalars(sa.select(Event))] == ["project", "project"]


def test_a_table_with_images_and_features(client: TestClient, database: Database, storage: Storage) -> None:
    table = "\ufeffkey,text,media,bag,bag_labels,colour\nred,A red one,1.png,x,p; q,warm\nblue,,,x,,\nlast,,,,,cold\n"
    answer = client.post(
        f"{PROJECT}/items",
        files=[
            ("table", ("items.csv", table.encode())),
            ("media", ("folder/1.png", image((2_000, 500), mode="RGBA"))),
            ("media", ("blue.jpg", image(kind="JPEG"))),
            ("features", ("X.npy", npy(np.arange(6.0).reshape(3, 2)))),
        ],
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["added"] == 3
    assert (answer.json()["features"]["n_items"], answer.json()["features"]["n_features"]) == (3, 2)
    red, blue, last = client.get(f"{PROJECT}/items").json()["items"]
    assert (red["metadata"], last["metadata"], blue["metadata"]) == ({"colour": "warm"}, {"colour": "cold"}, {})
    assert blue["picture_url"] == f"{PROJECT}/media/picture/blue"
    assert last["picture_url"] is None
    picture = client.get(red["picture_url"])
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/webp")
    assert Image.open(io.BytesIO(picture.content)).size == (1_024, 256)
    assert client.get(blue["picture_url"]).headers["content-type"] == "image/jpeg"
    small = client.get(red["thumbnail_url"])
    assert max(Image.open(io.BytesIO(small.content)).size) == 128
    with database.reading() as session:
        run = session.scalars(sa.select(Run)).one()
        assert (run.status, run.reason) == ("queued", "features")


@pytest.mark.parametrize(
    "table",
    [
        b"key;place\nred;caf\xc3\xa9\nblue;\n",
        "key,place\nred,caf\xe9\nblue,\n".encode("latin-1"),
        "key\tplace\r\nred\tcafé\r\nblue\t\r\n".encode("utf-16"),
        "place,name\ncafé,red\n,blue\n".encode(),
    ],
)
def test_tables_are_read_as_imports_read_them(client: TestClient, table: bytes) -> None:
    assert post_table(client, table).json() == {"added": 2, "features": None}
    red, blue = client.get(f"{PROJECT}/items").json()["items"]
    assert (red["key"], red["metadata"], blue["key"], blue["metadata"]) == ("red", {"place": "café"}, "blue", {})


def test_a_table_of_numbers_is_one_of_items_where_it_comes_as_the_table(client: TestClient) -> None:
    client.post(f"{PROJECT}/items", json={"items": [{"key": "a"}]})
    assert post_table(client, "key,age,length\nb,3,1.5\nc,4,2.5\n").json()["added"] == 2
    assert client.get(f"{PROJECT}/items").json()["items"][1]["metadata"] == {"age": "3", "length": "1.5"}


def test_what_was_added_is_listed_with_the_imports_and_can_be_undone(client: TestClient) -> None:
    client.post(f"{PROJECT}/items", json={"items": [{"key": "a"}]})
    client.post(f"{PROJECT}/items", files=[("media", ("b.png", image()))])
    second, first = client.get(f"{PROJECT}/imports").json()["imports"]
    assert [(row["number"], row["source"], row["report"]["added"]) for row in (first, second)] == [
        (1, "rest", 1),
        (2, "rest", 1),
    ]
    assert first["by"] is not None
    assert client.post(f"{PROJECT}/imports/2/undo").status_code == 200
    assert [item["key"] for item in client.get(f"{PROJECT}/items").json()["items"]] == ["a"]


def test_transparent_images_are_put_on_white(client: TestClient) -> None:
    picture = Image.new("RGBA", (40, 20), (0, 0, 0, 0))
    picture.paste((200, 0, 0, 255), (0, 0, 20, 20))
    out = io.BytesIO()
    picture.save(out, "PNG")
    assert client.post(f"{PROJECT}/items", files=[("media", ("half.png", out.getvalue()))]).status_code == 201
    [item] = client.get(f"{PROJECT}/items").json()["items"]
    for url in (item["picture_url"], item["thumbnail_url"]):
        stored = Image.open(io.BytesIO(client.get(url).content))
        assert stored.mode == "RGB"
        np.testing.assert_allclose(stored.getpixel((5, 10)), (200, 0, 0), atol=12)
        np.testing.assert_allclose(stored.getpixel((35, 10)), (255, 255, 255), atol=12)


def test_sounds_become_items_with_spectrograms(client: TestClient) -> None:
    long, short = wav(0.4), wav(0.2)
    answer = client.post(f"{PROJECT}/items", files=[("media", ("song-2.wav", short)), ("media", ("song-1.wav", long))])
    assert answer.status_code == 201, answer.text
    first, second = client.get(f"{PROJECT}/items").json()["items"]
    assert (first["key"], second["key"], first["media_type"]) == ("song-1", "song-2", "audio/wav")
    played = client.get(second["media_url"])
    assert (played.content, played.headers["content-type"]) == (short, "audio/wav")
    part = client.get(second["media_url"], headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, short[4:8])
    drawn = client.get(second["picture_url"])
    assert drawn.headers["content-type"] == "image/png"
    assert drawn.headers["x-content-type-options"] == "nosniff"
    unchanged = client.get(second["picture_url"], headers={"If-None-Match": drawn.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    ink = np.asarray(Image.open(io.BytesIO(drawn.content)).convert("L"), dtype=float)
    wide = np.asarray(Image.open(io.BytesIO(client.get(first["picture_url"]).content)).convert("L"), dtype=float)
    assert np.ptp(wide[:, 10:]) > 50, "the tone cannot be seen"
    # Both share one time scale: the short sound fills half of the width.
    assert (np.ptp(ink[20:-20, 40:], axis=0) > 50).sum() < 0.6 * (np.ptp(wide[20:-20, 40:], axis=0) > 50).sum()


def test_an_item_key_may_hold_any_printable_character(client: TestClient) -> None:
    key = 'x/../y ?#%"<b>é'
    response = post_table(client, f'key,media\n"{key.replace(chr(34), chr(34) * 2)}",p.png\n', media=("p.png", image()))
    assert response.status_code == 201, response.text
    item = client.get(f"{PROJECT}/items").json()["items"][0]
    assert item["key"] == key
    assert client.get(item["picture_url"]).status_code == 200


def test_no_media_is_a_plain_404(client: TestClient) -> None:
    client.post(f"{PROJECT}/items", json={"items": [{"key": "a"}]})
    for path in ("picture/a", "media/nobody", "media/..%2F..%2Fsecret.key"):
        answer = client.get(f"{PROJECT}/media/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json"), path
    assert client.get(f"{PROJECT}/media/original/a").status_code == 422


@pytest.mark.parametrize(
    ("mode", "kind"), [("L", "PNG"), ("P", "GIF"), ("CMYK", "JPEG"), ("I;16", "PNG"), ("1", "PNG")]
)
def test_every_kind_of_picture_is_shown(client: TestClient, mode: str, kind: str) -> None:
    response = client.post(f"{PROJECT}/items", files=[("media", ("p.bin", image(mode=mode, kind=kind)))])
    assert response.status_code == 201, response.text
    picture = client.get(f"{PROJECT}/media/picture/p")
    assert Image.open(io.BytesIO(picture.content)).size == (40, 30)


def test_rotation_is_applied_and_position_forgotten(client: TestClient) -> None:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "taken at home"
    Image.new("RGB", (40, 30)).save(out, "JPEG", exif=exif)
    client.post(f"{PROJECT}/items", files=[("media", ("p.jpg", out.getvalue()))])
    served = client.get(f"{PROJECT}/media/media/p").content
    assert Image.open(io.BytesIO(served)).size == (30, 40)
    assert b"taken at home" not in served


def test_a_stored_key_is_a_conflict(client: TestClient, database: Database) -> None:
    client.post(f"{PROJECT}/items", json={"items": [{"key": key} for key in "abc"]})
    before = row_counts(database)
    answer = client.post(f"{PROJECT}/items", json={"items": [{"key": "d"}, {"key": "b"}]})
    assert answer.status_code == 409, answer.text
    [error] = answer.json()["errors"]
    assert (error["row"], error["field"]) == (2, "key")
    assert row_counts(database) == before
