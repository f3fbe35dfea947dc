"""Imports over REST: sent, checked, looked at, stored, listed, undone, each on both kinds of database."""

import re
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.intake.local import import_here
from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ReadOptions
from tercet.intake.work import NoProgress
from tercet.models import FeatureSet, Import, ImportSource, Item, Project, Run
from tercet.settings import Settings
from tercet.storage import Storage
from tests.factories import row_counts
from tests.intake.conftest import PROJECT, image, npy, wav
from tests.intake.support import IMPORTS, check, do_jobs, import_files, send, start


def tones(count: int) -> dict[str, bytes]:
    """So many sounds in two folders."""
    return {f"site {n % 2}/tone-{n}.wav": wav(hz=500 + 300 * n) for n in range(count)}


def keys(client: TestClient) -> list[str]:
    return [item["key"] for item in client.get(f"{PROJECT}/items").json()["items"]]


def test_from_a_folder_to_the_first_run(
    client: TestClient, database: Database, settings: Settings, storage: Storage
) -> None:
    number = send(client, tones(6))
    preview = check(client, database, settings, number)
    assert [item["key"] for item in preview["items"]] == ["tone-0", "tone-2", "tone-4", "tone-1", "tone-3", "tone-5"]
    assert preview["items"][0]["metadata"] == {"folder": "site 0"}
    assert preview["items"][0]["file"] == "site 0/tone-0.wav"
    picture = client.get(preview["items"][0]["picture_url"])
    assert picture.headers["content-type"] == "image/png"
    assert {file["became"] for file in preview["files"]} == {"sound"}
    assert keys(client) == [], "nothing can be seen before the import is started"

    done = start(client, database, settings, number)
    assert (done["status"], done["job"]["status"]) == ("done", "done")
    assert (done["report"]["added"], done["report"]["changed"]) == (6, 0)
    assert len(keys(client)) == 6
    with database.reading() as session:
        features = session.scalars(sa.select(FeatureSet)).one()
        run = session.scalars(sa.select(Run)).one()
        item = session.scalars(sa.select(Item).limit(1)).one()
    assert (features.n, run.status, run.reason) == (6, "queued", "features")
    assert features.words.startswith("33 measurements of each sound between")
    assert item.media_seconds == pytest.approx(0.2)
    assert not storage.names_in(f"imports/{done['number']}/files"), "the uploaded files are gone"
    media = client.get(f"{PROJECT}/media/media/tone-0")
    assert media.content == tones(1)["site 0/tone-0.wav"]


@pytest.mark.heavy(but="sqlite")
def test_lists_of_a_preview_say_what_they_hold(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]
    parts = schemas["ImportPreview"]["properties"]
    names = {
        name: parts[name]["items"]["$ref"].rpartition("/")[2] for name in ("columns", "files", "faults", "left_out")
    }
    fields = {name: set(schemas[schema]["properties"]) for name, schema in names.items()}
    assert fields == {
        "columns": {"name", "role", "examples", "table"},
        "files": {"path", "became", "detail", "items"},
        "faults": {"field", "detail", "row", "file"},
        "left_out": {"field", "detail", "row", "file"},
    }
    assert "skipped" in schemas[names["files"]]["properties"]["became"]["enum"]


def test_pages_of_the_preview(client: TestClient, database: Database, settings: Settings) -> None:
    number = send(client, tones(5))
    check(client, database, settings, number)
    first = client.get(f"{IMPORTS}/{number}/preview", params={"limit": 3}).json()
    second = client.get(f"{IMPORTS}/{number}/preview", params={"limit": 3, "after": first["next"]}).json()
    assert [item["position"] for page in (first, second) for item in page["items"]] == [0, 1, 2, 3, 4]
    assert second["next"] is None


def test_an_upload_goes_on_where_it_was(client: TestClient, database: Database, settings: Settings) -> None:
    content = wav(seconds=1.0)
    number = send(client, {})
    address, size = f"{IMPORTS}/{number}/files/long%20one.wav", {"size": len(content)}
    assert client.put(address, params=size, content=content[:5_000]).json()["received"] == 5_000
    again = client.put(address, params=size, content=content)
    assert again.status_code == 409
    assert "5000 bytes" in again.json()["detail"]
    unfinished = client.post(f"{IMPORTS}/{number}/check", json={})
    assert (unfinished.status_code, unfinished.json()["errors"][0]["file"]) == (409, "long one.wav")
    [listed] = client.get(f"{IMPORTS}/{number}/files").json()["files"]
    assert listed == {"path": "long one.wav", "received": 5_000, "size": len(content)}
    last = client.put(address, params={**size, "offset": 5_000}, content=content[5_000:])
    assert last.json()["received"] == len(content)
    assert check(client, database, settings, number)["faults"] == []
    start(client, database, settings, number)
    assert client.get(f"{PROJECT}/media/media/long one").content == content


@pytest.mark.heavy(but="sqlite")
@pytest.mark.parametrize(
    "path",
    ["../up.wav", "a/../../up.wav", "%2Fetc/passwd", "C:/x.wav", "a//b.wav", "./a.wav", "a%00b", "a%0Ab", "x" * 300],
)
def test_paths_that_lead_elsewhere(client: TestClient, database: Database, path: str) -> None:
    number = send(client, {})
    before = row_counts(database)
    address = f"http://testserver{IMPORTS}/{number}/files/" + path.replace("..", "%2E%2E").replace("./", "%2E/")
    answer = client.put(address, params={"size": 1}, content=b"x")
    assert answer.status_code == {"a%00b": 400, "a%0Ab": 404}.get(path, 422), answer.text
    assert row_counts(database) == before


@pytest.mark.heavy(but="sqlite")
def test_sizes_are_held(client: TestClient, database: Database, settings: Settings) -> None:
    number = send(client, {"a.wav": b"12345"})
    address = f"{IMPORTS}/{number}/files"
    longer = client.put(f"{address}/b.wav", params={"size": 3}, content=b"1234")
    assert (longer.status_code, longer.json()["errors"][0]["field"]) == (422, "size")
    rival = client.put(f"{address}/a.wav", params={"size": 6, "offset": 5}, content=b"6")
    assert rival.status_code == 409
    large = client.put(f"{address}/c.wav", params={"size": settings.max_upload_mb * 2**20 + 1}, content=b"1")
    assert large.status_code == 413
    many = {"size": settings.max_upload_mb * 2**20}
    statuses = [client.put(f"{address}/{n}.wav", params=many, content=b"1").status_code for n in range(41)]
    assert statuses == [200] * 39 + [413] * 2, "39 x 512 MB and a little fit into 20,000 MB"


@pytest.mark.heavy(but="sqlite")
def test_faults_keep_everything_out_unless_they_are_skipped(
    client: TestClient, database: Database, settings: Settings, storage: Storage
) -> None:
    picture = image((400, 300), "JPEG")
    files = {"good.wav": wav(), "bad.jpg": picture[: len(picture) // 2], "fine.png": image()}
    done = import_files(client, database, settings, files)
    assert done["status"] == "failed"
    assert "bad.jpg" in done["report"]["error"]
    faults = client.get(f"{IMPORTS}/{done['number']}/preview").json()["faults"]
    assert [fault["file"] for fault in faults] == ["bad.jpg"]
    assert keys(client) == []
    assert storage.filesystem.find(f"{storage.root}/projects") == [], "not even a blob is left behind"
    skipped = import_files(client, database, settings, files, skip_bad=True)
    assert (skipped["status"], skipped["report"]["added"], skipped["report"]["left_out_count"]) == ("done", 2, 1)
    left_out = client.get(f"{IMPORTS}/{skipped['number']}/preview").json()["left_out"]
    assert left_out[0]["file"] == "bad.jpg"
    assert keys(client) == ["fine", "good"]


def test_what_is_kept_is_looked_at_and_has_its_features(
    client: TestClient, database: Database, settings: Settings, storage: Storage
) -> None:
    """Findings, and features that came along, are those of the items that are left."""
    quiet = wav(hz=0.0)
    files = {"a.wav": wav(), "b.wav": wav(), "bad.wav": wav()[:20], "quiet.wav": quiet, "X.npy": npy(np.eye(4))}
    files["items.csv"] = b"key,file\na,a.wav\nb,b.wav\nbad,bad.wav\nquiet,quiet.wav\n"
    number = send(client, files, skip_bad=True)
    preview = check(client, database, settings, number)
    assert preview["faults"][0]["file"] == "bad.wav"
    kinds = {finding["kind"] for finding in client.get(f"{IMPORTS}/{number}").json()["report"]["findings"]}
    assert {"silent", "duplicates"} <= kinds
    done = start(client, database, settings, number)
    assert (done["status"], keys(client)) == ("done", ["a", "b", "quiet"])


def test_an_import_by_the_command_line_is_listed_and_undone(
    client: TestClient, database: Database, storage: Storage, tmp_path: Path
) -> None:
    for name, content in tones(3).items():
        (tmp_path / Path(name).name).write_bytes(content)
    client.post(f"{PROJECT}/items", json={"items": [{"key": "first"}]})
    import_here(database, storage, "songs", gather([tmp_path]), ReadOptions(), NoProgress())
    assert keys(client) == ["first", "tone-0", "tone-1", "tone-2"]
    newest = client.get(IMPORTS).json()["imports"][0]
    assert (newest["source"], newest["status"], newest["report"]["added"]) == ("command", "done", 3)
    assert client.post(f"{IMPORTS}/{newest['number']}/undo").status_code == 200
    assert keys(client) == ["first"]


def test_features_say_which_items_could_not_be_measured(
    client: TestClient, database: Database, settings: Settings
) -> None:
    import_files(client, database, settings, tones(3) | {"quiet.wav": wav(hz=0.0)})
    with database.reading() as session:
        words = session.scalars(sa.select(FeatureSet.words)).one()
    assert "; 1 item could not be measured fully ('quiet'; the first one: the recording has only silence" in words


@pytest.mark.heavy(but="sqlite")
def test_again_adds_and_updates_by_key(client: TestClient, database: Database, settings: Settings) -> None:
    table = b"key,text,bag,site\na,one,r1,x\nb,two,r1,x\nc,three,r2,y\n"
    import_files(client, database, settings, {"items.csv": table})
    again = import_files(client, database, settings, {"items.csv": b"key,text,colour\nb,2,red\nd,four,blue\n"})
    assert (again["report"]["added"], again["report"]["changed"]) == (1, 1)
    items = {item["key"]: item for item in client.get(f"{PROJECT}/items").json()["items"]}
    assert list(items) == ["a", "b", "c", "d"]
    assert items["b"]["text"] == "2"
    assert items["b"]["bag"] == "r1"
    assert items["b"]["metadata"] == {"site": "x", "colour": "red"}
    same = import_files(client, database, settings, {"items.csv": b"key,text\nb,2\n"})
    assert (same["report"]["added"], same["report"]["changed"]) == (0, 0)
    with database.reading() as session:
        assert session.scalars(sa.select(FeatureSet.n).order_by(FeatureSet.version)).all() == [3, 4, 4]


@pytest.mark.heavy(but="sqlite")
def test_undo_takes_back_what_was_added_and_changed(
    client: TestClient, database: Database, settings: Settings, storage: Storage
) -> None:
    import_files(client, database, settings, {"items.csv": b"key,text\na,one\nb,two\nc,three\n"})
    second = import_files(
        client, database, settings, {"items.csv": b"key,text,media\nb,2,\nd,four,d.png\n", "d.png": image()}
    )
    assert keys(client) == ["a", "b", "c", "d"]
    undone = client.post(f"{IMPORTS}/{second['number']}/undo")
    assert (undone.status_code, undone.json()["status"]) == (200, "undone")
    items = {item["key"]: item for item in client.get(f"{PROJECT}/items").json()["items"]}
    assert list(items) == ["a", "b", "c"]
    assert items["b"]["text"] == "two"
    assert client.post(f"{IMPORTS}/{second['number']}/undo").status_code == 409
    blobs = [name for name in storage.names_in("projects/1/media") if storage.names_in(f"projects/1/media/{name}")]
    assert blobs == []
    again = import_files(client, database, settings, {"items.csv": b"key,text\nd,four\n"})
    assert again["report"]["added"] == 1
    assert keys(client) == ["a", "b", "c", "d"]


def test_cancel_leaves_nothing(client: TestClient, database: Database, settings: Settings, storage: Storage) -> None:
    number = send(client, tones(3))
    client.post(f"{IMPORTS}/{number}/check", json={})
    cancelled = client.post(f"{IMPORTS}/{number}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    assert cancelled.json()["job"]["status"] == "cancelled"
    assert do_jobs(database, settings) == []
    assert not storage.exists("imports/1")
    assert client.post(f"{IMPORTS}/{number}/start").status_code == 409
    with database.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Item)) == 0
        assert session.scalars(sa.select(Import.status)).one() == "cancelled"


@pytest.mark.heavy(but="sqlite")
def test_what_was_left_out_stays_listed(client: TestClient, database: Database, settings: Settings) -> None:
    table = "key,media\n" + "".join(f"{name},{name}.wav\n" for name in ("a", "b", *(f"gone-{n}" for n in range(150))))
    files = {"items.csv": table.encode(), "a.wav": wav(), "b.wav": wav(hz=700), "c.wav": wav(hz=900)}
    number = send(client, files, skip_bad=True)
    check(client, database, settings, number)
    address = f"/projects/songs/imports/{number}"
    assert "150 things are wrong" in client.get(address).text
    assert client.get(f"{IMPORTS}/{number}").json()["report"]["faults_count"] == 150
    assert start(client, database, settings, number)["report"]["added"] == 2
    page = client.get(address).text
    assert "no row of &#39;items.csv&#39; names it" in page
    assert "gone-0.wav" in page
    assert '<td class="number">101</td>' in client.get("/projects/songs/imports").text


@pytest.mark.heavy(but="sqlite")
def test_features_that_come_along_are_used(client: TestClient, database: Database, settings: Settings) -> None:
    files = {"items.csv": b"key\na\nb\nc\n", "X.npy": npy(np.eye(3))}
    import_files(client, database, settings, files)
    assert client.get(f"{PROJECT}/features").json()["n_features"] == 3
    more = send(client, {"items.csv": b"key\nd\n"})
    faults = check(client, database, settings, more)["faults"]
    assert "uses uploaded features" in faults[0]["detail"]
    assert client.post(f"{IMPORTS}/{more}/start").status_code == 422
    third = import_files(client, database, settings, {"items.csv": b"key\nd\na\n", "X.npy": npy(np.full((2, 3), 7.0))})
    assert third["report"]["added"] == 1
    assert client.get(f"{PROJECT}/features").json()["n_items"] == 4


def test_imports_are_listed(client: TestClient, database: Database, settings: Settings) -> None:
    for n in range(3):
        send(client, {f"{n}.wav": wav()})
    first = client.get(IMPORTS, params={"limit": 2}).json()
    assert [row["number"] for row in first["imports"]] == [3, 2]
    second = client.get(IMPORTS, params={"limit": 2, "before": first["next"]}).json()
    assert [(row["number"], row["by"], row["files"]) for row in second["imports"]] == [(1, "analyst of songs", 1)]


def test_a_preview_says_how_a_table_was_read_and_what_tells_items_apart(
    client: TestClient, database: Database, settings: Settings
) -> None:
    rows = "".join(f"{name}.wav;Meise {name};MIT\r\n" for name in ("c", "a", "b"))
    files = {f"{name}.wav": wav(hz=400 + 100 * place) for place, name in enumerate("abc")}
    files |= {"Tabelle.csv": f"file;Vogel;Lizenz\r\n{rows}".encode("utf-16"), "copy.wav": files["a.wav"]}
    number = send(client, files)
    check(client, database, settings, number)
    page = client.get(f"/projects/songs/imports/{number}").text
    assert "Tabelle.csv: CSV, UTF-16, separated by semicolon; the column &#39;file&#39; names the files." in page
    assert '<p class="muted small">Vogel: Meise c</p>' in page
    assert "Lizenz: MIT" not in page
    assert "clusters" in page.split("Before people label")[1].split("</section>")[0]


def test_a_preview_says_in_words_where_segments_lie(client: TestClient, database: Database, settings: Settings) -> None:
    table = "Selection\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\n"
    table += "1\t0.25\t0.75\t800\t2000\n2\t1\t1.5\t950.4\t3100\n"
    number = send(client, {"creek.wav": wav(2.0), "creek.Table.1.selections.txt": table.encode()})
    items = check(client, database, settings, number)["items"]
    assert [item["metadata"]["recording"] for item in items] == ["creek.wav", "creek.wav"]
    page = client.get(f"/projects/songs/imports/{number}").text
    assert '<p class="muted small">0.25–0.75 s, 0.8–2.0 kHz</p>' in page, "one recording needs no bag named"
    assert '<p class="muted small">1.00–1.50 s, 1.0–3.1 kHz</p>' in page


def test_a_preview_proposes_no_more_clusters_than_can_be_seen(
    client: TestClient, database: Database, settings: Settings
) -> None:
    with database.transaction() as session:
        session.scalars(sa.select(Project)).one().n_clusters = 8
    number = send(client, tones(9))
    check(client, database, settings, number)
    with database.transaction() as session:  # as on the page of a new project
        session.scalars(sa.select(Import)).one().source = ImportSource.PAGE
    assert re.search(r'id="n_clusters".* value="3"', client.get(f"/projects/songs/imports/{number}").text)
