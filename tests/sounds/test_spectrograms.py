"""Samples in, spectrograms out: levels, rows, pictures, and that nothing short or faint is lost."""

import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image

from tercet.sounds.colour_maps import COLOUR_MAPS, lightness, palette
from tercet.sounds.picture_settings import PRESETS, PictureSettings, typical_seconds, window_for
from tercet.sounds.spectrograms import (
    FLOOR_DB,
    MOST_COLUMNS,
    MOST_WIDTH,
    PICTURE_SIZE,
    THUMBNAIL_SIZE,
    picture_and_thumbnail,
    row_quantiles,
    spectrogram,
)
from tests.sounds.support import RATE, sine

BOTTOM = PICTURE_SIZE[1] - 1  # the lowest row
SETTINGS = PictureSettings(low_hz=0, colour_map="grey", seconds=0.5)


def seen(samples: np.ndarray, settings: PictureSettings = SETTINGS, rate: int = RATE) -> np.ndarray:
    """The pixels of the picture, 0..255."""
    picture, _ = picture_and_thumbnail(samples, rate, settings)
    return np.asarray(Image.open(io.BytesIO(picture)).convert("L")).astype(int)


@pytest.mark.parametrize("rate", [16_000, 22_050, 48_000])
@pytest.mark.parametrize("hz", [700.0, 3000.0, 6500.0])
def test_a_sine_peaks_in_the_row_of_its_frequency_at_0_db(hz: float, rate: int) -> None:
    picture = spectrogram(sine(hz, rate=rate), rate)
    middle = picture.db[:, picture.times.size // 2]
    assert abs(picture.frequencies[middle.argmax()] - hz) <= picture.frequencies[1] / 2 + 1e-9
    assert middle.max() == pytest.approx(0.0, abs=0.5)


def test_a_click_is_in_the_column_of_its_time() -> None:
    samples = np.zeros(RATE)
    samples[round(0.4 * RATE)] = 1.0
    picture = spectrogram(samples, RATE)
    assert picture.times[picture.db.max(axis=0).argmax()] == pytest.approx(0.4, abs=0.003)


def test_silence_and_clips_shorter_than_a_window_are_finite() -> None:
    for size in (0, 1, 7, 100, 4000):
        assert np.isfinite(spectrogram(np.zeros(size), RATE).db).all()
    assert spectrogram(np.zeros(4000), RATE).db.max() == FLOOR_DB


def test_windows_computed_in_pieces_are_those_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.random.default_rng(0).normal(size=50_000)
    full = spectrogram(samples, RATE, most_columns=100)
    monkeypatch.setattr("tercet.sounds.spectrograms.SAMPLES_AT_ONCE", 5_000)
    np.testing.assert_array_equal(spectrogram(samples, RATE, most_columns=100).power, full.power)
    # By its definition, one window: the hop is half of it, and each column is the loudest of three.
    window = np.hanning(354)[:-1]
    middle = np.abs(np.fft.rfft(samples[176 * 31 - 176 : 176 * 31 + 177] * window, 512) * 2 / window.sum()) ** 2
    assert (full.power[:, 10] >= 0.999 * middle).all()


@pytest.mark.parametrize("minutes", [1, 10])
def test_a_long_recording_has_a_bounded_number_of_columns(minutes: int) -> None:
    picture = spectrogram(np.zeros(60 * minutes * 8_000, dtype=np.float32), 8_000)
    assert MOST_COLUMNS / 2 < picture.times.size <= MOST_COLUMNS
    assert picture.times[-1] == pytest.approx(60 * minutes, rel=0.01)


@cache
def faint_noise(seconds: int) -> np.ndarray:
    """Noise 60 dB below full scale."""
    return (0.001 * np.random.default_rng(2).normal(size=seconds * RATE)).astype(np.float32)


@pytest.mark.parametrize("place", np.linspace(0.11, 0.93, 9).tolist())
def test_a_faint_click_of_5_ms_shows_in_a_long_recording(place: float) -> None:
    """Four minutes of noise with a loud song, and a click 12 dB above the noise of its own frequencies."""
    samples = faint_noise(240).copy()
    samples[:RATE] += 0.3 * sine(2_000, 1.0)
    begin, length = round(place * samples.size), round(0.005 * RATE)
    samples[begin : begin + length] += 0.012 * np.hanning(length) * sine(6_000, 0.006)[:length]
    picture = seen(samples, replace(SETTINGS, seconds=2.0))
    assert picture.shape == (PICTURE_SIZE[1], MOST_WIDTH)
    row, column = round(BOTTOM * (1 - 6 / 11)), int(place * MOST_WIDTH)
    around = picture[row - 12 : row + 13, column - 40 : column + 40]
    click = around[:, 36:46].max()
    assert click > np.percentile(np.delete(around, np.s_[34:48], axis=1), 99) + 25


@pytest.mark.parametrize("seconds", [1.0, 2.0])
def test_the_picture_has_its_size_and_is_small(seconds: float) -> None:
    noisy = sine(3000) + 0.03 * np.random.default_rng(0).normal(size=RATE // 2)
    picture, thumbnail = picture_and_thumbnail(noisy, RATE, replace(SETTINGS, seconds=seconds))
    assert Image.open(io.BytesIO(picture)).size == PICTURE_SIZE
    assert len(picture) < 25_000
    assert Image.open(io.BytesIO(thumbnail)).size == THUMBNAIL_SIZE


def test_a_longer_clip_gets_a_wider_picture_and_a_thumbnail_of_its_loudest_stretch() -> None:
    samples = 1e-4 * np.random.default_rng(0).normal(size=4 * RATE)
    samples[3 * RATE : 3 * RATE + RATE // 4] += sine(4_000, 0.25)[: RATE // 4]
    picture, thumbnail = picture_and_thumbnail(samples, RATE, replace(SETTINGS, seconds=1.0))
    assert Image.open(io.BytesIO(picture)).size == (4 * PICTURE_SIZE[0], PICTURE_SIZE[1])
    small = Image.open(io.BytesIO(thumbnail)).convert("L")
    assert small.size == THUMBNAIL_SIZE
    lit = (np.asarray(small).max(axis=0) > 128).sum()
    assert lit == pytest.approx(30, abs=3)


def test_a_higher_tone_is_drawn_higher() -> None:
    rows = [seen(sine(hz)).sum(axis=1).argmax() for hz in (2000, 8000)]
    expected = [round(BOTTOM * (1 - hz / 11_000)) for hz in (2000, 8000)]
    assert rows == pytest.approx(expected, abs=3)
    above = replace(SETTINGS, low_hz=7_000, high_hz=9_000)
    assert seen(sine(8_000), above).sum(axis=1).argmax() == pytest.approx(BOTTOM / 2, abs=3)
    below = seen(sine(2_000) * np.hanning(RATE // 2), above)
    assert len(np.unique(below)) == 1, "what leaks of a tone below is drawn"


def test_rows_above_what_a_recorder_reaches_are_dark() -> None:
    noise = np.random.default_rng(0).normal(size=8_000)
    noise[:4_000] *= 0.01
    picture = seen(noise, SETTINGS, rate=8_000)
    edge = round(BOTTOM * (1 - 4_000 / 11_000))
    assert len(np.unique(picture[: edge - 4])) == 1
    assert picture[edge + 4 :].max() > 100


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_shows_a_tone_in_the_middle_of_its_range(name: str) -> None:
    settings = replace(PRESETS[name], colour_map="grey")
    rate = 2 * round(1.2 * settings.high_hz)
    middle = (settings.low_hz + settings.high_hz) / 2
    picture = seen(sine(middle, settings.seconds, rate), settings, rate)
    assert picture.sum(axis=1).argmax() == pytest.approx(BOTTOM / 2, abs=4)


def test_one_time_scale_makes_lengths_comparable() -> None:
    def lit_columns(seconds: float) -> int:
        picture = seen(sine(3000, seconds), replace(SETTINGS, seconds=1.0))
        return int((picture.max(axis=0) > 100).sum())

    assert lit_columns(0.25) == pytest.approx(0.25 * PICTURE_SIZE[0], abs=8)
    assert lit_columns(0.5) == pytest.approx(0.5 * PICTURE_SIZE[0], abs=8)


@pytest.mark.parametrize("others", [[], [23.0], [23.0, 0.4], [23.0] * 8, [600.0] * 2, [0.1] * 9])
def test_a_typical_song_of_two_seconds_fills_most_of_its_picture(others: list[float]) -> None:
    scale = typical_seconds([2.0] * 10 + others)
    assert min(2.0 / scale, 1.0) >= 0.6


def test_two_seconds_fill_most_of_a_picture_where_songs_last_one_to_five_and_some_a_while() -> None:
    lengths = np.concatenate([np.linspace(1.2, 5.0, 24), [10.0, 10.1, 19.5, 21.0, 22.9]])
    scale = typical_seconds(lengths.tolist())
    assert 2.1 / scale >= 0.6
    assert np.median(lengths) / scale <= 1.5, "most need no scrolling"


def test_a_few_short_cuts_do_not_make_people_scroll_through_all_others() -> None:
    assert typical_seconds([0.1] * 9 + [2.0] * 10) == pytest.approx(2.0 / 1.5)


def test_the_time_scale_of_equal_clips_is_their_length() -> None:
    assert typical_seconds([1.5] * 30) == 1.5
    assert typical_seconds([]) == PictureSettings().seconds
    assert typical_seconds([1e-6]) == 0.05


def test_a_faint_call_is_visible_beside_a_loud_one() -> None:
    rng = np.random.default_rng(1)
    samples = 0.0005 * rng.normal(size=RATE)
    samples[2000:8000] += sine(3000, 6000 / RATE)
    samples[12000:18000] += 0.02 * sine(5000, 6000 / RATE)
    picture = seen(samples, replace(SETTINGS, seconds=1.0))
    faint_row = round(BOTTOM * (1 - 5000 / 11_000))
    faint = picture[faint_row - 3 : faint_row + 4, 350:475].max(axis=0).mean()
    assert faint > np.median(picture) + 40


def test_marks_lie_over_the_left_and_the_lower_edge_alone() -> None:
    samples = sine(3000)
    plain = seen(samples)
    marked = picture_and_thumbnail(samples, RATE, SETTINGS, with_marks=True)[0]
    differ = np.asarray(Image.open(io.BytesIO(marked)).convert("L")) != plain
    assert differ[:, :60].any()
    assert differ[-20:].any()
    assert not differ[:-20, 60:].any()


def test_silence_is_drawn_dark() -> None:
    assert len(np.unique(seen(np.zeros(5000)))) == 1


@pytest.mark.parametrize("name", COLOUR_MAPS)
def test_lightness_rises_in_even_steps(name: str) -> None:
    light = lightness(np.array(palette(name)))
    steps = np.diff(light)
    assert abs(light[-1] - light[0]) > 80
    assert np.abs(steps - steps.mean()).max() < 0.8


def test_lightness_of_white_black_and_middle_grey() -> None:
    np.testing.assert_allclose(
        lightness(np.array([[255, 255, 255], [0, 0, 0], [119, 119, 119]])), [100, 0, 50], atol=0.2
    )


def test_the_higher_the_shorter_the_window() -> None:
    assert window_for(11_000) == pytest.approx(0.016)
    assert window_for(120_000) < 0.002
    assert window_for(10) == 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low_hz": 11_000}, "low_hz has to lie"),
        ({"low_hz": -1}, "low_hz has to lie"),
        ({"high_hz": 1e9}, "at most 500,000"),
        ({"high_hz": float("nan")}, "low_hz has to lie"),
        ({"window_seconds": 0}, "window_seconds has to lie between"),
        ({"dynamic_range_db": 5}, "dynamic_range_db"),
        ({"seconds": 0}, "seconds has to lie"),
        ({"expansion": 0.5}, "expansion"),
        ({"colour_map": "jet"}, "one of dusk, ocean, ember, grey, paper"),
    ],
)
def test_settings_that_nothing_can_be_drawn_with(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PictureSettings(), **change)


@pytest.mark.parametrize("columns", [1, 2, 61])
def test_quantiles_of_rows_are_those_of_numpy(columns: int) -> None:
    values = np.random.default_rng(0).normal(size=(5, columns)).astype(np.float32)
    for share in (0.0, 0.15, 0.5, 1.0):
        expected = np.percentile(values, 100 * share, axis=1, keepdims=True)
        np.testing.assert_allclose(row_quantiles(values, share), expected, rtol=1e-5)
