"""Measurements of sounds whose right values are known."""

import numpy as np
import pytest

from tercet.sounds.measures import FEATURE_NAMES, measure_sound

RATE = 22_050


def measure(samples: np.ndarray, rate: int = RATE) -> dict[str, float]:
    return dict(zip(FEATURE_NAMES, measure_sound(samples, rate), strict=True))


def sing(hz: np.ndarray | float, seconds: float = 0.6, rate: int = RATE, quiet: float = 0.1) -> np.ndarray:
    """A voice of the given frequency (a number, or one value a sample), with quiet before and after."""
    size = round(seconds * rate)
    phase = 2 * np.pi * np.cumsum(np.broadcast_to(hz, size)) / rate
    fade = np.minimum(1, np.minimum(np.arange(size), np.arange(size)[::-1]) / (0.01 * rate))
    return np.pad(fade * np.sin(phase), round(quiet * rate))


def places(seconds: float = 0.6, rate: int = RATE) -> np.ndarray:
    return np.linspace(0, 1, round(seconds * rate))


@pytest.mark.parametrize("rate", [22_050, 44_100, 48_000])
@pytest.mark.parametrize("quiet", [0.0, 0.1])
def test_a_pure_tone(rate, quiet):
    tone = measure(sing(3000, rate=rate, quiet=quiet), rate)
    assert tone["duration_s"] == pytest.approx(0.6, abs=0.02)
    for name in ("peak_khz", "centroid_khz", "quantile50_khz", "contour_start_khz", "contour_end_khz"):
        assert tone[name] == pytest.approx(3.0, abs=0.05), name
    assert tone["bandwidth_khz"] < 0.1
    assert tone["contour_rise_octaves"] == pytest.approx(0, abs=0.02)
    assert tone["frequency_modulation_depth_octaves"] < 0.01


def test_a_rising_and_a_falling_whistle():
    up = measure(sing(2000 * 2 ** places()))
    down = measure(sing(4000 * 0.5 ** places()))
    assert up["contour_rise_octaves"] == pytest.approx(1.0, abs=0.08)
    assert down["contour_rise_octaves"] == pytest.approx(-1.0, abs=0.08)
    assert up["contour_start_khz"] == pytest.approx(2.0, abs=0.15)
    assert up["contour_end_khz"] == pytest.approx(4.0, abs=0.25)
    assert up["contour_steepness_octaves_per_s"] == pytest.approx(1 / 0.6, rel=0.1)


def test_the_bend_of_a_dip_is_positive_and_of_an_arch_negative():
    curve = (2 * places() - 1) ** 2
    assert measure(sing(3000 * 2 ** (0.5 * curve)))["contour_bend_octaves"] == pytest.approx(0.5, abs=0.1)
    assert measure(sing(3000 * 2 ** (-0.5 * curve)))["contour_bend_octaves"] == pytest.approx(-0.5, abs=0.1)


def test_a_warble_has_its_rate_and_depth():
    seconds = np.arange(round(0.6 * RATE)) / RATE
    warble = measure(sing(3000 * 2 ** (0.2 * np.sin(2 * np.pi * 12 * seconds))))
    assert warble["frequency_modulation_hz"] == pytest.approx(12, abs=0.8)
    assert warble["frequency_modulation_depth_octaves"] == pytest.approx(0.2, abs=0.05)


def test_a_trill_has_its_notes():
    seconds = np.arange(round(0.6 * RATE)) / RATE
    gate = (np.sin(2 * np.pi * 10 * seconds) > 0).astype(float)
    trill = measure(np.pad(gate * np.sin(2 * np.pi * 4000 * seconds), 2000))
    assert trill["notes_per_s"] == pytest.approx(10, abs=1)
    assert trill["amplitude_modulation_hz"] == pytest.approx(10, abs=0.6)
    assert trill["sounding_share"] < 0.75


def test_harmonics_are_found_with_their_spacing():
    voice = sum(sing(1000 * k) / k for k in range(1, 7))
    stacked, single = measure(voice), measure(sing(1000))
    assert stacked["harmonic_spacing_khz"] == pytest.approx(1.0, abs=0.1)
    assert stacked["harmonicity"] > 0.5 > single["harmonicity"]


def test_noise_is_wide_at_every_moment():
    burst = np.pad(np.random.default_rng(0).normal(size=RATE // 2), RATE // 5)
    noise, tone = measure(burst), measure(sing(3000))
    assert noise["momentary_entropy"] > 0.7 > 0.4 > tone["momentary_entropy"]
    assert noise["momentary_bandwidth_khz"] > 2.0


def test_steady_noise_around_a_tone_hardly_moves_it():
    clean = sing(3000 * 2 ** (0.3 * places()))
    noisy = measure(clean + 0.03 * np.random.default_rng(0).normal(size=clean.size))
    still = measure(clean)
    for name in ("duration_s", "centroid_khz", "contour_rise_octaves", "peak_khz"):
        assert noisy[name] == pytest.approx(still[name], abs=0.08), name


def test_loudness_changes_nothing():
    samples = sing(3000 * 2 ** (0.3 * places()))
    np.testing.assert_allclose(measure_sound(0.01 * samples, RATE), measure_sound(samples, RATE), rtol=1e-4)


@pytest.mark.parametrize("size", [0, 1, 5, 60, 400, 3000])
def test_silence_and_short_clips_give_finite_numbers(size):
    assert not measure_sound(np.zeros(size), RATE).any()
    assert np.isfinite(measure_sound(np.ones(size), RATE)).all()
    assert np.isfinite(measure_sound(np.random.default_rng(0).normal(size=size), RATE)).all()


def test_a_bat_is_measured_in_its_own_range_and_nowhere_else():
    rate = 384_000
    place = np.linspace(0, 1, round(0.02 * rate))
    call = np.hanning(place.size) * np.sin(2 * np.pi * np.cumsum(70_000 - 30_000 * place) / rate)
    samples = np.pad(call, round(0.01 * rate))
    bat = dict(zip(FEATURE_NAMES, measure_sound(samples, rate, 15_000, 120_000), strict=True))
    assert bat["peak_khz"] == pytest.approx(55, abs=6)
    assert bat["contour_start_khz"] > 58 > 52 > bat["contour_end_khz"]
    assert not measure_sound(samples, rate, 300, 11_000).any(), "what windows leak of the call is measured"


def test_a_whale_is_measured_in_its_own_range_and_nowhere_else():
    rate = 8_000
    samples = np.pad(np.hanning(8 * rate) * sing(60, 8.0, rate, quiet=0.0), rate)
    whale = dict(zip(FEATURE_NAMES, measure_sound(samples, rate, 10, 1_000), strict=True))
    assert whale["peak_khz"] == pytest.approx(0.06, abs=0.003)
    assert not measure_sound(samples, rate, 300, 11_000).any()


def test_a_tone_outside_of_the_range_does_not_change_what_is_within():
    song = sing(3000 * 2 ** (0.3 * places()))
    hum = 0.5 * np.hanning(song.size) * np.sin(2 * np.pi * 60 * np.arange(song.size) / RATE)
    with_hum = measure(song + hum)
    for name, value in measure(song).items():
        assert with_hum[name] == pytest.approx(value, abs=0.05 * max(1.0, abs(value))), name


@pytest.mark.parametrize("bounds", [(11_000, 11_010), (20_000, 30_000)])
def test_ranges_that_a_recording_does_not_reach_are_silent(bounds):
    assert not measure_sound(sing(3000), RATE, *bounds).any()


def test_names_are_one_for_each_number():
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES) == measure_sound(sing(3000), RATE).size
