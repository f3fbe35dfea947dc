"""What can still be changed about an import: how a recording would be cut, tried without a change, and its files."""

import io
import zipfile

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from scipy.io import wavfile

from tercet.database import Database
from tercet.intake.reading import archives
from tercet.settings import Settings
from tercet.sounds.spectrograms import PICTURE_SIZE
from tests.intake.conftest import image, wav
from tests.intake.support import IMPORTS, check, do_jobs, send

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")

RATE = 16_000
BEGINS = (2.0, 5.0, 9.0)  # seconds, of three tones half a second long


def recording(seconds: float = 12.0) -> bytes:
    """Three tones of 3 kHz in quiet noise."""
    samples = 1e-3 * np.random.default_rng(0).standard_normal(round(seconds * RATE))
    for begin in BEGINS:
        first = round(begin * RATE)
        samples[first : first + RATE // 2] += 0.5 * np.sin(2 * np.pi * 3_000 * np.arange(RATE // 2) / RATE)
    out = io.BytesIO()
    wavfile.write(out, RATE, samples.astype(np.float32))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def number(client: TestClient) -> int:
    """The number of an import of one recording."""
    return send(client, {"site 1/long.wav": recording()})


def test_a_recording_is_cut_on_trial(client: TestClient, database: Database, settings: Settings, number: int) -> None:
    asked = client.get(f"{IMPORTS}/{number}/segments", params={"path": "site 1/long.wav", "high_hz": 8_000, "pad": 0.1})
    assert asked.status_code == 200, asked.text
    proposed = asked.json()
    assert [segment["begin_s"] for segment in proposed["segments"]] == pytest.approx([b - 0.1 for b in BEGINS], abs=0.1)
    assert all(segment["low_hz"] < 3_000 < segment["high_hz"] for segment in proposed["segments"])
    assert proposed["words"].startswith("3 sounds in 12 s, 0.")
    options = {"cut": "segments", "segments": {"high_hz": 8_000, "pad": 0.1}}
    assert client.post(f"{IMPORTS}/{number}/check", json={"options": options}).status_code == 202
    assert do_jobs(database, settings) == ["done"]
    items = client.get(f"{IMPORTS}/{number}/preview").json()["items"]
    assert [item["begin_s"] for item in items] == pytest.approx([s["begin_s"] for s in proposed["segments"]])


def test_sliders_change_what_is_proposed(client: TestClient, number: int) -> None:
    asked = {"path": "site 1/long.wav", "high_hz": 8_000}
    joined = client.get(f"{IMPORTS}/{number}/segments", params=asked | {"smallest_gap": 3.0}).json()
    assert joined["words"].startswith("2 sounds in 12 s")
    none = client.get(f"{IMPORTS}/{number}/segments", params=asked | {"shortest": 2.0}).json()
    assert (none["segments"], none["words"]) == ([], "No sound in 12 s is that much louder than the noise.")


@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({"path": "long.wav"}, 404, "There is no file 'long.wav'"),
        ({"path": "site 1/long.wav", "low_hz": 9_000, "high_hz": 2_000}, 422, "low_hz has to lie below high_hz"),
        ({"path": "site 1/long.wav", "pad": "nan"}, 422, "finite"),
        ({"path": "site 1/long.wav", "padding": 1}, 422, "padding"),
    ],
)
def test_what_cannot_be_tried(
    client: TestClient, number: int, params: dict[str, str | float], status: int, words: str
) -> None:
    refused = client.get(f"{IMPORTS}/{number}/segments", params=params)
    assert (refused.status_code, words in refused.text) == (status, True), refused.text


def test_a_picture_or_half_a_recording_is_not_cut(client: TestClient) -> None:
    number = send(client, {"a.png": image()})
    refused = client.get(f"{IMPORTS}/{number}/segments", params={"path": "a.png"})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("'a.png' ")
    content = recording()
    client.put(f"{IMPORTS}/{number}/files/b.wav", params={"size": len(content)}, content=content[:900])
    refused = client.get(f"{IMPORTS}/{number}/segments", params={"path": "b.wav"})
    assert (refused.status_code, "is incomplete" in refused.text) == (409, True)


def test_a_recording_in_an_archive_is_tried_like_one_beside_it(client: TestClient) -> None:
    packed = zipped({"dawn/long.wav": recording(), "dawn/short.wav": wav(), "notes.txt": b"wind"})
    number = send(client, {"site.1/may.zip": packed, "site.1/may.csv": b"a,b\n1,2\n"})
    begun = client.post(IMPORTS, json={}).json()["number"]
    for offset in range(0, len(packed), 50_000):  # a file of many parts is looked into where they lie
        params = {"size": len(packed), "offset": offset}
        client.put(f"{IMPORTS}/{begun}/files/site.1/may.zip", params=params, content=packed[offset : offset + 50_000])
    for at in (number, begun):
        asked = {"path": "site.1/may/dawn/long.wav", "high_hz": 8_000}
        proposed = client.get(f"{IMPORTS}/{at}/segments", params=asked)
        assert proposed.status_code == 200, proposed.text
        assert proposed.json()["words"].startswith("3 sounds in 12 s")
        picture = client.get(f"{IMPORTS}/{at}/spectrogram", params={"path": "site.1/may/dawn/long.wav"})
        assert Image.open(io.BytesIO(picture.content)).width == 3 * PICTURE_SIZE[0]
        refused = client.get(f"{IMPORTS}/{at}/segments", params={"path": "site.1/may/notes.txt"})
        assert (refused.status_code, "notes.txt" in refused.text) == (422, True)
        for path in ("site.1/may/dawn/longer.wav", "site.1/may", "may/dawn/long.wav", "site/may/dawn/long.wav"):
            assert client.get(f"{IMPORTS}/{at}/segments", params={"path": path}).status_code == 404, path


def test_recordings_of_archives_are_among_those_to_look_at(
    client: TestClient, database: Database, settings: Settings
) -> None:
    number = send(client, {"may.zip": zipped({"dawn/long.wav": recording()}), "short.wav": wav()})
    check(client, database, settings, number)
    page = client.get(f"/projects/songs/imports/{number}").text
    assert "<option>may/dawn/long.wav</option>" in page
    assert "<option>short.wav</option>" in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped({"long.wav": recording(), "../../out.wav": b"x"}), "leads out of the archive"),
        (zipped({"long.wav": recording(), "zeros.wav": bytes(2**20)}), "send the files without an archive"),
        (zipped({"long.wav": recording()})[:2_000] + b"PK", "is damaged"),
    ],
)
def test_hostile_archives_are_not_looked_into(
    client: TestClient, content: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ALWAYS_UNPACKED", 2**20)
    monkeypatch.setattr(archives, "MOST_TIMES", 2)
    number = send(client, {"may.zip": content})
    refused = client.get(f"{IMPORTS}/{number}/segments", params={"path": "may/long.wav"})
    assert (refused.status_code, words in refused.text) == (422, True), refused.text


def test_an_archive_that_has_not_come_whole(client: TestClient) -> None:
    packed = zipped({"long.wav": recording()})
    number = send(client, {})
    client.put(f"{IMPORTS}/{number}/files/may.zip", params={"size": len(packed)}, content=packed[:900])
    refused = client.get(f"{IMPORTS}/{number}/segments", params={"path": "may/long.wav"})
    assert (refused.status_code, "'may.zip' is incomplete" in refused.text) == (409, True)


def test_the_spectrogram_of_a_part(client: TestClient, number: int) -> None:
    for begin in (0.0, 1e6):
        answer = client.get(f"{IMPORTS}/{number}/spectrogram", params={"path": "site 1/long.wav", "begin": begin})
        assert answer.headers["content-type"] == "image/png"
        picture = Image.open(io.BytesIO(answer.content))
        assert picture.width == 3 * PICTURE_SIZE[0]


def test_a_file_that_never_comes_is_taken_out_and_the_rest_goes_on(
    client: TestClient, database: Database, settings: Settings
) -> None:
    number = send(client, {"a.wav": wav(), "b.wav": wav(hz=900)})
    client.put(f"{IMPORTS}/{number}/files/half.wav", params={"size": 9_000}, content=b"RIFF")
    assert client.post(f"{IMPORTS}/{number}/check", json={}).status_code == 409
    left = client.delete(f"{IMPORTS}/{number}/files/half.wav")
    assert (left.status_code, left.json()["files"], left.json()["status"]) == (200, 2, "uploading")
    assert client.delete(f"{IMPORTS}/{number}/files/half.wav").status_code == 404
    assert [item["key"] for item in check(client, database, settings, number)["items"]] == ["a", "b"]
    assert client.delete(f"{IMPORTS}/{number}/files/a.wav").json()["status"] == "uploading", "it is to be read again"
    assert [item["key"] for item in check(client, database, settings, number)["items"]] == ["b"]
    client.post(f"{IMPORTS}/{number}/cancel")
    refused = client.delete(f"{IMPORTS}/{number}/files/b.wav")
    assert (refused.status_code, "it is cancelled" in refused.text) == (409, True)
