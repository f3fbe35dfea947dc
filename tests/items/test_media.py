"""Media on their way to a browser: ranges from every storage, sounds as browsers can play them, caching."""

import io
import uuid
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import soundfile
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.main import create_app
from tercet.models import Role
from tercet.settings import Settings
from tests.factories import add_member, make_project, make_token
from tests.sounds.support import RATE, sine, sound_file

PROJECT = "/api/v1/projects/songs"
SONG = f"{PROJECT}/media/media/song"
TONE = 0.3 * sine(1_000, 0.25)

Add = Callable[..., bytes]


@pytest.fixture(params=["folder", "memory"])
def client(request: pytest.FixtureRequest, settings: Settings, database: Database) -> Iterator[TestClient]:
    """A program of the analyst of the project 'songs', on a server whose blobs lie in a folder, or in memory."""
    if request.param == "memory":
        settings = settings.model_copy(update={"storage_url": f"memory://{uuid.uuid4().hex}"})
    with database.transaction() as session:
        token = make_token(session, add_member(session, make_project(session), Role.ANALYST))
    with TestClient(create_app(settings), headers={"Authorization": f"Bearer {token}"}) as opened:
        yield opened


@pytest.fixture
def add(client: TestClient) -> Add:
    """Add the item 'song' with a recording; return the bytes of its file."""

    def post(samples: np.ndarray = TONE, rate: int = RATE, kind: str = "WAV", encoding: str = "PCM_16") -> bytes:
        content = sound_file(samples, rate, kind, encoding)
        answer = client.post(f"{PROJECT}/items", files=[("media", ("song.bin", content))])
        assert answer.status_code == 201, answer.text
        return content

    return post


def decoded(content: bytes) -> tuple[np.ndarray, int]:
    samples, rate = soundfile.read(io.BytesIO(content))
    return samples, rate


@pytest.mark.only_on("sqlite")
def test_ranges(client: TestClient, add: Add) -> None:
    content = add()
    size = len(content)
    full = client.get(SONG)
    assert (full.status_code, full.content, full.headers["content-type"]) == (200, content, "audio/wav")
    assert (full.headers["content-length"], full.headers["accept-ranges"]) == (str(size), "bytes")
    for asked, first, last in (
        ("bytes=0-0", 0, 0),
        ("bytes=4-7", 4, 7),
        ("bytes=100-", 100, size - 1),
        ("bytes=-10", size - 10, size - 1),
        (f"bytes=-{size + 5}", 0, size - 1),
        (f"bytes={size - 1}-{size + 99}", size - 1, size - 1),
    ):
        part = client.get(SONG, headers={"Range": asked})
        assert (part.status_code, part.content) == (206, content[first : last + 1]), asked
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert part.headers["content-length"] == str(last - first + 1)


@pytest.mark.only_on("sqlite")
def test_ranges_that_cannot_be_served(client: TestClient, add: Add) -> None:
    content = add()
    for asked in (f"bytes={len(content)}-", "bytes=-0", "bytes=999999999-"):
        answer = client.get(SONG, headers={"Range": asked})
        assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(content)}"), asked
    for asked in ("bytes=", "bytes=-", "bytes=7-4", "bytes=a-b", "items=0-1", "bytes=0-1,3-4", f"bytes={'9' * 5_000}-"):
        answer = client.get(SONG, headers={"Range": asked})
        assert (answer.status_code, len(answer.content)) == (200, len(content)), asked


@pytest.mark.only_on("sqlite")
def test_tags(client: TestClient, add: Add) -> None:
    content = add()
    tag = client.get(SONG).headers["etag"]
    assert "private" in client.get(SONG).headers["cache-control"]
    for tags in (tag, f'"x", W/{tag}', "*"):
        assert client.get(SONG, headers={"If-None-Match": tags}).status_code == 304
    assert client.get(SONG, headers={"If-None-Match": '"x"'}).status_code == 200
    asked = {"Range": "bytes=0-3"}
    assert client.get(SONG, headers={**asked, "If-Range": tag}).content == content[:4]
    assert client.get(SONG, headers={**asked, "If-Range": '"older"'}).content == content
    slower = client.get(SONG, params={"speed": 0.5}).headers["etag"]
    assert len({tag, slower, client.get(SONG, params={"level": True}).headers["etag"]}) == 3


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("kind", "encoding", "media_type"),
    [
        ("WAV", "PCM_24", "audio/wav"),
        ("FLAC", "PCM_16", "audio/flac"),
        ("OGG", "VORBIS", "audio/ogg"),
        ("MP3", "MPEG_LAYER_III", "audio/mpeg"),
    ],
)
def test_what_browsers_play_comes_as_it_is(
    client: TestClient, add: Add, kind: str, encoding: str, media_type: str
) -> None:
    content = add(kind=kind, encoding=encoding)
    answer = client.get(SONG)
    assert (answer.content, answer.headers["content-type"]) == (content, media_type)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        ("AIFF", "PCM_24"),
        ("W64", "PCM_16"),
        ("CAF", "PCM_16"),
        ("AU", "PCM_16"),
        ("RF64", "PCM_16"),
        ("WAV", "IMA_ADPCM"),
        ("WAV", "DOUBLE"),
    ],
)
def test_what_browsers_do_not_play_comes_as_wav(client: TestClient, add: Add, kind: str, encoding: str) -> None:
    content = add(kind=kind, encoding=encoding)
    answer = client.get(SONG)
    assert (answer.headers["content-type"], answer.content[:4]) == ("audio/wav", b"RIFF")
    samples, rate = decoded(answer.content)
    expected, _ = decoded(content)
    assert rate == RATE
    np.testing.assert_allclose(samples, expected, atol=1e-4)
    part = client.get(SONG, headers={"Range": "bytes=8-11"})
    assert (part.status_code, part.content) == (206, b"WAVE")


@pytest.mark.only_on("sqlite")
def test_rates_above_what_browsers_play_are_brought_down(client: TestClient, add: Add) -> None:
    rate = 384_000
    add(0.3 * sine(1_000, 0.25, rate), rate)
    samples, played_rate = decoded(client.get(SONG).content)
    assert (played_rate, samples.size) == (96_000, 24_000)
    np.testing.assert_allclose(samples[500:-500], 0.3 * sine(1_000, 0.25, 96_000)[500:-500], atol=2e-3)


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0])
def test_speed_changes_the_rate_and_no_sample(client: TestClient, add: Add, speed: float) -> None:
    rate = 250_000 if speed < 0.2 else RATE
    add(0.3 * sine(40 * rate / 1_000, 0.2, rate), rate)
    samples, played_rate = decoded(client.get(SONG, params={"speed": speed}).content)
    assert played_rate == round(rate * speed)
    np.testing.assert_allclose(samples, 0.3 * sine(40 * rate / 1_000, 0.2, rate), atol=1e-4)
    for wrong in ("0", "0.001", "-1", "nan", "1e9"):
        assert client.get(SONG, params={"speed": wrong}).status_code == 422, wrong


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(("rate", "speed"), [(8_000, 0.02), (RATE, 50.0), (192_000, 50.0), (100, 1.0)])
def test_rates_that_no_browser_plays_keep_pitch_and_length(
    client: TestClient, add: Add, rate: int, speed: float
) -> None:
    hz = rate / (50 if speed <= 1 else 400)
    add(0.3 * sine(hz, 1.0, rate), rate)
    samples, played_rate = decoded(client.get(SONG, params={"speed": speed, "level": rate == 100}).content)
    assert 3_000 <= played_rate <= 192_000
    assert samples.size / played_rate == pytest.approx(1 / speed, rel=0.02)
    peak = np.abs(np.fft.rfft(samples * np.hanning(samples.size))).argmax() * played_rate / samples.size
    assert peak == pytest.approx(hz * speed, rel=0.1)


def level_of(client: TestClient, add: Add, samples: np.ndarray) -> float:
    """The level of the loudest fifth of a second of what is played, in dB."""
    add(samples)
    played, _ = decoded(client.get(SONG, params={"level": "true"}).content)
    powers = np.convolve(played**2, np.full(RATE // 5, 5 / RATE), "valid")
    assert np.abs(played).max() <= 0.9
    return float(10 * np.log10(powers.max()))


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("loudness", [0.001, 0.03, 0.9])
@pytest.mark.parametrize("silence", [0, 5])
def test_levelled_sounds_are_equally_loud(client: TestClient, add: Add, loudness: float, silence: int) -> None:
    call = loudness * sine(2_000)
    samples = np.pad(call, silence * RATE // 2) + 1e-5 * np.random.default_rng(0).normal(
        size=call.size + silence * RATE // 2 * 2
    )
    assert level_of(client, add, samples) == pytest.approx(-20, abs=0.7)


@pytest.mark.only_on("sqlite")
def test_silence_and_clicks_are_not_blown_up(client: TestClient, add: Add) -> None:
    add(np.zeros(RATE))
    played, _ = decoded(client.get(SONG, params={"level": "true"}).content)
    assert not played.any()


@pytest.mark.only_on("sqlite")
def test_a_sound_too_long_to_be_converted_says_so(
    client: TestClient, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    add()
    monkeypatch.setattr("tercet.sounds.playing.MOST_SAMPLES", 1_000)
    answer = client.get(SONG, params={"speed": 0.5})
    assert answer.status_code == 409
    assert "too long to be converted" in answer.json()["detail"]
    assert client.get(SONG).status_code == 200


@pytest.mark.only_on("sqlite")
def test_media_that_two_items_share_stay_while_one_is_left(client: TestClient) -> None:
    """Equal files are stored once: undoing one import deletes none that an item of another one shows."""
    content = sound_file(TONE, RATE, "WAV", "PCM_16")
    for name in ("first.wav", "second.wav"):
        assert client.post(f"{PROJECT}/items", files=[("media", (name, content))]).status_code == 201
    numbers = [row["number"] for row in client.get(f"{PROJECT}/imports").json()["imports"]]
    assert client.post(f"{PROJECT}/imports/{min(numbers)}/undo").status_code == 200
    assert client.get(f"{PROJECT}/media/media/first").status_code == 404
    for kind in ("media", "picture", "thumbnail"):
        assert client.get(f"{PROJECT}/media/{kind}/second").status_code == 200
