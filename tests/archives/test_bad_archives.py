"""Archives that were cut off, changed or made to harm: each is refused with a sentence, and nothing is stored."""

import hashlib
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tercet.archives import checking, service
from tercet.database import Database
from tercet.errors import Conflict, Invalid
from tercet.models import Item
from tercet.storage import Storage
from tests.archives.world import Place, fill, write
from tests.factories import make_user, row_counts

# What is refused is refused before anything that differs between databases, but for what they hold against rows.
pytestmark = pytest.mark.only_on("sqlite")

Files = dict[str, bytes]


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Place:
    return Place(database, Storage(str(tmp_path / "blobs")))


@pytest.fixture
def files(place: Place, tmp_path: Path) -> Files:
    """A good archive, file by file; its project stays."""
    with zipfile.ZipFile(write(place, fill(place), tmp_path / "good.zip")) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def refused(place: Place, tmp_path: Path) -> Iterator[Callable[[bytes], str]]:
    """Try to restore bytes, hold that nothing was stored, and give the sentence."""

    def attempt(content: bytes) -> str:
        path = tmp_path / "bad.zip"
        path.write_bytes(content)
        with place.database.transaction() as session:
            owner = make_user(session).id
        before, blobs = row_counts(place.database), sorted(Path(place.storage.root).rglob("*.*"))
        with pytest.raises(Invalid) as refusal:
            service.restore_file(place.database, place.storage, path, "again", owner)
        assert row_counts(place.database) == before
        assert sorted(Path(place.storage.root).rglob("*.*")) == blobs
        if not refusal.value.errors:
            return refusal.value.detail
        fault = refusal.value.errors[0]
        return f"{fault.file or ''}:{fault.row or ''} {fault.detail}"

    return attempt


def pack(files: Files, *, sign: bool = True, extra: Callable[[zipfile.ZipFile], None] | None = None) -> bytes:
    """Write a ZIP; with a listing and a manifest that agree with its files, as somebody who wants to deceive would."""
    files = dict(files)
    if sign:
        names = [name for name in files if name not in ("tercet.json", "files.ndjson")]
        lines = [{"path": n, "bytes": len(files[n]), "sha256": hashlib.sha256(files[n]).hexdigest()} for n in names]
        files["files.ndjson"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        manifest = json.loads(files["tercet.json"])
        manifest["files"]["sha256"] = hashlib.sha256(files["files.ndjson"]).hexdigest()
        files["tercet.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        if extra:
            extra(archive)
    return out.getvalue()


def with_manifest(good: Files, /, **values: object) -> bytes:
    manifest = json.loads(good["tercet.json"]) | values
    return pack(good | {"tercet.json": json.dumps(manifest).encode()}, sign=False)


def with_row(files: Files, table: str, row: int, **values: object) -> bytes:
    """Change one row of a table."""
    name = f"tables/{table}.ndjson"
    lines = files[name].splitlines()
    lines[row] = json.dumps(json.loads(lines[row]) | values).encode()
    return pack(files | {name: b"\n".join(lines) + b"\n"})


def test_a_good_one_is_taken(place: Place, files: Files, tmp_path: Path) -> None:
    (tmp_path / "signed.zip").write_bytes(pack(files))
    with place.database.transaction() as session:
        owner = make_user(session).id
    service.restore_file(place.database, place.storage, tmp_path / "signed.zip", "again", owner)


def test_what_is_no_whole_zip(files: Files, refused: Callable[[bytes], str]) -> None:
    good = pack(files)
    assert "not a complete ZIP" in refused(b"")
    assert "not a complete ZIP" in refused(b"key,pitch\nsong-1,3\n" * 100)
    assert "not a complete ZIP" in refused(good[: len(good) // 2])
    assert "not a complete ZIP" in refused(good[len(good) // 2 :])
    assert "there is no tercet.json" in refused(pack({"tables/item.ndjson": b""}, sign=False))


def test_other_versions_and_formats(files: Files, refused: Callable[[bytes], str]) -> None:
    assert "is of version 2; this server reads version 1" in refused(with_manifest(files, version=2))
    assert "another format" in refused(with_manifest(files, format="a holiday album"))
    assert "is not JSON" in refused(pack(files | {"tercet.json": b"{"}, sign=False))
    assert "is not JSON" in refused(pack(files | {"tercet.json": b"[" * 100_000}, sign=False))
    assert "the manifest does not name it" in refused(with_manifest(files, files=None))


def test_what_is_missing_or_changed(files: Files, refused: Callable[[bytes], str]) -> None:
    blob = next(name for name in files if name.startswith("blobs/"))
    assert "which is not there" in refused(pack({n: c for n, c in files.items() if n != blob}, sign=False))
    assert "SHA-256 differs" in refused(pack(files | {blob: files[blob][:-1] + b"?"}, sign=False))
    assert "was changed" in refused(pack(files | {"files.ndjson": b""}, sign=False))
    assert "is not in the listing" in refused(pack(files | {"blobs/999999.wav": b"RIFF"}, sign=False))
    no_answers = {n: c for n, c in files.items() if n != "tables/answer.ndjson"}
    assert "tables/answer.ndjson is missing" in refused(pack(no_answers))
    assert "which is not in the archive" in refused(pack({n: c for n, c in files.items() if n != blob}))


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/etc/passwd", "blobs/../../x.wav", "C:\\x", "blobs/a b.wav"])
def test_paths_that_climb(files: Files, refused: Callable[[bytes], str], name: str) -> None:
    assert "has a name that no file of an archive has" in refused(pack(files | {name: b"x"}))


def test_links_doubles_and_locks(files: Files, refused: Callable[[bytes], str]) -> None:
    def add_link(archive: zipfile.ZipFile) -> None:
        link = zipfile.ZipInfo("blobs/000777.wav")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")

    assert "is a link" in refused(pack(files, extra=add_link))
    with pytest.warns(UserWarning, match="Duplicate name"):
        double = pack(files, extra=lambda archive: archive.writestr("tables/item.ndjson", b"{}"))
    assert "two files of one name" in refused(double)
    locked = bytearray(pack(files))
    place = locked.rfind(b"PK\x01\x02")
    locked[place + 8] |= 1
    assert "is encrypted" in refused(bytes(locked))


@pytest.mark.heavy
def test_bombs(files: Files, refused: Callable[[bytes], str]) -> None:
    """What unpacks to far more than it is, and a directory that would fill the memory."""
    assert "would unpack to" in refused(pack(files | {"blobs/000888.npy": bytes(2**28)}))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, checking.LARGEST_DIRECTORY + 1, 0, 0)
    assert "more files than are read" in refused(bytes(1000) + end)
    wide = b'{"id": ' + b" " * (checking.LONGEST_LINE + 1) + b"1}\n"
    assert "is longer than" in refused(
        pack(files | {"tables/bag.ndjson": wide, "blobs/1.wav": files["tables/item.ndjson"] * 90})
    )


def test_a_directory_that_lies(files: Files, refused: Callable[[bytes], str]) -> None:
    """Sizes that are not those of the files: no more is read than was announced."""
    content = bytearray(pack(files))
    place = content.rfind(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<L", 3)
    assert "not a complete ZIP" in refused(bytes(content))


ROWS = [
    ("item", 2, {"bag_id": 999}, "names a bag that is not in the archive"),
    ("answer", 0, {"triplet_id": 10**6}, "names a triplet that is not in the archive"),
    ("answer", 0, {"labeler_id": 10**6}, "names a user that is not in the archive"),
    ("answer", 1, {"value": "si"}, "contradicts itself"),
    ("answer", 1, {"value": "maybe"}, "at most 3 fit"),
    ("answer", 1, {"id": "no uuid"}, "not a UUID"),
    ("answer", 1, {"number": 1}, "contradicts itself"),
    ("answer", 1, {"created_at": "yesterday"}, "not a time"),
    ("item", 1, {"created_by": "me"}, "update it"),
    ("item", 1, {"key": 7}, "not a text"),
    ("item", 1, {"key": "a\0b"}, "not allowed in a text"),
    ("item", 1, {"key": None}, "is empty"),
    ("item", 1, {"metadata": ["no", "object"]}, "of another type"),
    ("item", 1, {"position": 1e9}, "not a whole number"),
    ("item", 1, {"position": 99}, "positions with gaps"),
    ("item", 1, {"id": 1}, "ids ascend"),
    ("item", 1, {"media": "../../../etc/passwd"}, "not in the archive"),
    ("item", 1, {"media": "tables/item.ndjson"}, "not in the archive"),
    ("item", 1, {"picture": "blobs/000001.wav", "media": "results/000001/map.bin"}, "not in the archive"),
    ("feature_set", 0, {"n": 11}, "says 11 x 3 numbers"),
    ("run", 0, {"result": "results/000009"}, "cannot be read"),
    ("run", 0, {"cancel_requested": 1}, "not true or false"),
    ("run", 0, {"progress": "half"}, "not a finite number"),
    ("project", 0, {"algorithm": "magic"}, ""),
    ("project", 0, {"n_clusters": 0}, "contradicts itself"),
    ("person", 0, {"name": ""}, "no name that can be shown"),
]


@pytest.mark.heavy
def test_rows_that_are_wrong(files: Files, refused: Callable[[bytes], str]) -> None:
    for table, row, values, sentence in ROWS:
        assert sentence in refused(with_row(files, table, row, **values)), (table, values)


@pytest.mark.heavy
def test_a_picture_that_is_none_and_arrays_that_run(files: Files, refused: Callable[[bytes], str]) -> None:
    picture = next(name for name in files if name.endswith(".png"))
    page = files | {picture: b"<script>alert(1)</script>"}
    assert "which is not a picture" in refused(pack(page))
    array = next(name for name in files if name.endswith(".npy"))
    assert "cannot be read" in refused(pack(files | {array: b"\x93NUMPY\x01\x00\xff\xff" + bytes(99)}))
    learned = next(name for name in files if name.startswith("blobs/") and name.endswith(".npz"))
    assert "what the recipe learned is not there, or damaged" in refused(pack(files | {learned: b"\x80\x04K\x01."}))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("recipe.npy", bytes(2**28 + 1))
    assert "would take 268,435,457 bytes" in refused(pack(files | {learned: bomb.getvalue()}))
    assert "cannot be read" in refused(pack(files | {"results/000001/result.npz": b"\x80\x04K\x01."}))
    assert "another number of items" in refused(pack(files | {"results/000001/map.bin": bytes(16)}))


def test_a_file_that_the_storage_has_lost(place: Place) -> None:
    project = fill(place)
    with place.database.reading() as session:
        media = session.scalar(sa.select(Item.media).where(Item.project_id == project, Item.position == 3))
    assert media is not None
    place.storage.delete(media)
    with pytest.raises(Conflict, match="missing in the storage"):
        service.pieces_of(place.database, place.storage, project)
