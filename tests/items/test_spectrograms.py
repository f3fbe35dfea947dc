"""WAV files in, spectrograms out: levels, rows, pictures, and files that are no sound."""

import io
import struct

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from app.items.spectrograms import (
    FLOOR_DB,
    PICTURE_SIZE,
    THUMBNAIL_SIZE,
    picture_and_thumbnail,
    read_wav,
    spectrogram,
)

RATE = 22_050


def sine(hz: float, seconds: float = 0.5, rate: int = RATE) -> np.ndarray:
    return np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


def wav(data: np.ndarray, rate: int = RATE) -> bytes:
    out = io.BytesIO()
    wavfile.write(out, rate, data)
    return out.getvalue()


def seen(samples: np.ndarray, seconds: float | None = None) -> np.ndarray:
    """The pixels of the picture, 0..255, (320, 480); where its marks are, at the left and below, they are 0."""
    picture, _ = picture_and_thumbnail(samples, RATE, seconds=seconds)
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L")).astype(int)
    pixels[:, :48] = pixels[300:] = 0
    return pixels


@pytest.mark.parametrize("rate", [16_000, 22_050, 48_000])
@pytest.mark.parametrize("hz", [700.0, 3000.0, 6500.0])
def test_a_sine_peaks_in_the_row_of_its_frequency_at_0_db(hz, rate):
    picture = spectrogram(sine(hz, rate=rate), rate)
    middle = picture.db[:, picture.times.size // 2]
    assert abs(picture.frequencies[middle.argmax()] - hz) <= picture.frequencies[1] / 2 + 1e-9
    assert middle.max() == pytest.approx(0.0, abs=0.5)


def test_a_click_is_in_the_column_of_its_time():
    samples = np.zeros(RATE)
    samples[round(0.4 * RATE)] = 1.0
    picture = spectrogram(samples, RATE)
    assert picture.times[picture.db.max(axis=0).argmax()] == pytest.approx(0.4, abs=0.003)


def test_silence_and_clips_shorter_than_a_window_are_finite():
    for size in (0, 1, 7, 100, 4000):
        assert np.isfinite(spectrogram(np.zeros(size), RATE).db).all()
    assert spectrogram(np.zeros(4000), RATE).db.max() == FLOOR_DB


def test_a_long_recording_has_a_bounded_number_of_columns():
    assert spectrogram(np.zeros(60 * RATE), RATE).times.size <= 4000


def test_the_picture_has_its_size_and_is_small():
    noisy = sine(3000) + 0.03 * np.random.default_rng(0).normal(size=RATE // 2)
    picture, thumbnail = picture_and_thumbnail(noisy, RATE, seconds=1.2)
    assert Image.open(io.BytesIO(picture)).size == PICTURE_SIZE
    assert len(picture) < 25_000
    assert Image.open(io.BytesIO(thumbnail)).size == THUMBNAIL_SIZE


def test_a_higher_tone_is_drawn_higher():
    rows = [seen(sine(hz)).sum(axis=1).argmax() for hz in (2000, 8000)]
    expected = [round(319 * (1 - hz / 11_000)) for hz in (2000, 8000)]
    assert rows == pytest.approx(expected, abs=3)


def test_one_time_scale_makes_lengths_comparable():
    def lit_columns(seconds: float) -> int:
        picture = seen(sine(3000, seconds), seconds=1.0)
        return int((picture.max(axis=0) > 100).sum())

    assert lit_columns(0.25) == pytest.approx(120, abs=6)
    assert lit_columns(0.5) == pytest.approx(240, abs=6)


def test_a_faint_call_is_visible_beside_a_loud_one():
    rng = np.random.default_rng(1)
    samples = 0.0005 * rng.normal(size=RATE)
    samples[2000:8000] += sine(3000, 6000 / RATE)
    samples[12000:18000] += 0.02 * sine(5000, 6000 / RATE)
    picture = seen(samples)
    faint_row = round(319 * (1 - 5000 / 11_000))
    faint = picture[faint_row - 3 : faint_row + 4, 280:380].max(axis=0).mean()
    assert faint > np.median(picture) + 40


def test_silence_is_drawn_dark():
    assert len(np.unique(seen(np.zeros(5000))[:300, 48:])) == 1


def _as(kind: type, values: np.ndarray) -> np.ndarray:
    return (np.rint(values) if np.dtype(kind).kind in "ui" else values).astype(kind)


@pytest.mark.parametrize(
    ("kind", "scale", "offset"),
    [(np.uint8, 127, 128), (np.int16, 32767, 0), (np.int32, 2**31 - 1, 0), (np.float32, 1, 0), (np.float64, 1, 0)],
)
def test_wav_samples_come_back_whatever_their_type(kind, scale, offset):
    samples = 0.7 * sine(440, 0.1)
    again, rate = read_wav(wav(_as(kind, samples * scale + offset)))
    assert rate == RATE
    np.testing.assert_allclose(again, samples, atol=0.01)


def test_24_bit_wav():
    values = np.array([0, 4_194_304, -4_194_304, 8_388_607])
    data = b"".join(int(value).to_bytes(3, "little", signed=True) for value in values)
    header = struct.pack(
        "<4sI4s4sIHHIIHH", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, RATE, 3 * RATE, 3, 24
    )
    samples, _ = read_wav(header + struct.pack("<4sI", b"data", len(data)) + data)
    np.testing.assert_allclose(samples, values / 8_388_608, atol=1e-6)


def test_two_channels_are_mixed():
    samples, _ = read_wav(wav(np.stack([np.full(50, 0.5), np.full(50, 0.1)], axis=1).astype(np.float32)))
    np.testing.assert_allclose(samples, 0.3, atol=1e-6)


GOOD = wav((1000 * sine(440, 0.1)).astype(np.int16))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin with"),
        (b"ID3 this is an mp3 file", "does not begin with"),
        (GOOD[:20], "damaged or the file ends too early"),
        (GOOD[:20] + b"\x55\x00" + GOOD[22:], "MPEGLAYER3"),
        (wav(np.zeros(0, dtype=np.int16)), "no sound"),
        (wav(np.array([0.0, np.nan], dtype=np.float32)), "not numbers"),
    ],
)
def test_a_file_that_is_no_sound_says_why(content, message):
    with pytest.raises(ValueError, match=message):
        read_wav(content)


def test_any_damage_to_a_header_gives_sound_or_a_clear_error():
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(400):
        content = bytearray(GOOD)
        for place in rng.integers(0, 44, size=2):
            content[place] = rng.integers(256)
        try:
            samples, _rate = read_wav(bytes(content))
            outcomes.add(np.isfinite(samples).all())
        except ValueError as error:
            outcomes.add(str(error)[:9])
    assert outcomes <= {True, "not a WAV", "the WAV f"}
    assert "not a WAV" in outcomes
