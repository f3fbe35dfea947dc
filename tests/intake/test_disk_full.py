"""A disk that is full in the middle: a sentence, nothing half-imported, and the server lives on."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.settings import Settings
from tests.factories import row_counts
from tests.intake.conftest import PROJECT, image
from tests.intake.support import IMPORTS, check, do_jobs, send

# Where blobs lie has nothing to do with the kind of database.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture
def small_disk(settings: Settings) -> Iterator[Path]:
    """Two megabytes for the blobs, where the tests may mount such a disk."""
    folder = Path(settings.resolved_storage_url().removeprefix("file://"))
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def blobs(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def fill(filler: Path) -> None:
    """Take all room that is left."""
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(os.urandom(4_096)):
            pass


def some_pictures(count: int) -> dict[str, bytes]:
    """So many pictures that differ."""
    return {f"{number}.png": image((20 + number, 20)) for number in range(count)}


def test_items_that_do_not_fit(client: TestClient, database: Database, small_disk: Path) -> None:
    before = row_counts(database)
    filler = small_disk / "filler"
    filler.write_bytes(os.urandom(2 * 2**20 - 60_000))
    answer = client.post(f"{PROJECT}/items", files=[("media", part) for part in some_pictures(40).items()])
    assert (answer.status_code, answer.headers["content-type"]) == (507, "application/problem+json"), answer.text
    assert "no room left" in answer.json()["detail"]
    assert (row_counts(database), blobs(small_disk)) == (before, [filler])
    filler.unlink()
    again = client.post(f"{PROJECT}/items", files=[("media", part) for part in some_pictures(40).items()])
    assert (again.status_code, again.json()["added"]) == (201, 40)


def test_a_file_of_an_import_that_does_not_fit_can_be_sent_again(client: TestClient, small_disk: Path) -> None:
    number, content = send(client, {}), os.urandom(3 * 2**20)
    address, size = f"{IMPORTS}/{number}/files/a.wav", {"size": len(content)}
    answer = client.put(address, params=size, content=content)
    assert answer.status_code == 507, answer.text
    assert blobs(small_disk) == []
    assert client.put(address, params=size, content=content[: 2**20]).json()["received"] == 2**20


@pytest.mark.heavy
def test_an_import_that_does_not_fit_can_be_started_again(
    client: TestClient, database: Database, settings: Settings, small_disk: Path
) -> None:
    number = send(client, some_pictures(40))
    check(client, database, settings, number)
    sent = set(blobs(small_disk))
    filler = small_disk / "filler"
    fill(filler)
    client.post(f"{IMPORTS}/{number}/start")
    assert do_jobs(database, settings) == ["failed"]
    assert "no room left" in client.get(f"{IMPORTS}/{number}").json()["job"]["error"]
    assert client.get(f"{PROJECT}/items").json()["items"] == []
    assert set(blobs(small_disk)) == sent | {filler}
