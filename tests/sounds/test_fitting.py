"""Picture settings chosen by what recordings hold."""

import numpy as np
import pytest

from tercet.sounds.decoding import Sound, SoundInfo
from tercet.sounds.fitting import fit_to
from tercet.sounds.picture_settings import PictureSettings


def songs(low: float, high: float, rate: int, seconds: float, n: int = 12) -> list[Sound]:
    """Sweeps through a range, in noise and wind, of about the same length."""
    sounds = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        size = round(seconds * rng.uniform(0.8, 1.2) * rate)
        wind = np.cumsum(rng.normal(size=size))
        samples = 1e-3 * rng.normal(size=size) + 3e-4 * (wind - wind.mean())
        begin, end = size // 4, size * 3 // 4
        hz = np.geomspace(low, high, end - begin)
        samples[begin:end] += 0.2 * np.hanning(end - begin) * np.sin(2 * np.pi * np.cumsum(hz) / rate)
        sounds.append(Sound(samples.astype(np.float32), rate, 1, size / rate, "WAV"))
    return sounds


def fitted(sounds: list[Sound]) -> tuple[PictureSettings, str]:
    infos = [SoundInfo(s.rate, 1, s.samples.size, s.seconds, "WAV", "PCM_16") for s in sounds]
    return fit_to(infos, sounds)


@pytest.mark.parametrize(
    ("low", "high", "rate", "seconds", "expansion"),
    [
        (2_000, 7_000, 44_100, 1.0, 1),
        (40_000, 70_000, 250_000, 0.1, 10),
        (80, 400, 4_000, 5.0, 1),
        (500, 900, 16_000, 2.0, 1),
    ],
)
def test_the_range_holds_the_songs_and_little_else(
    low: float, high: float, rate: int, seconds: float, expansion: float
) -> None:
    settings, why = fitted(songs(low, high, rate, seconds))
    assert 0.45 * low < settings.low_hz < 1.2 * low
    assert 0.85 * high < settings.high_hz < 2 * high
    assert settings.expansion == expansion
    assert settings.seconds == pytest.approx(seconds, rel=0.25)
    assert "12 recordings" in why
    assert ("10 times slower" in why) == (expansion > 1)


def test_a_few_odd_recordings_change_nothing() -> None:
    birds = songs(2_000, 6_000, 44_100, 1.0, 30)
    cicada = songs(15_000, 16_000, 44_100, 1.0, 2)
    assert fitted(birds + cicada)[0].high_hz < 1.3 * fitted(birds)[0].high_hz < 10_000


def test_loudness_does_not_count() -> None:
    sounds = songs(2_000, 6_000, 44_100, 1.0)
    quiet = [Sound(s.samples * np.float32(0.01), s.rate, 1, s.seconds, "WAV") for s in sounds]
    assert fitted(quiet)[0].high_hz == pytest.approx(fitted(sounds)[0].high_hz, rel=0.02)


@pytest.mark.parametrize("rate", [200, 8_000, 500_000])
def test_silence_takes_the_settings_of_songbirds_as_far_as_the_rate_reaches(rate: int) -> None:
    settings, why = fitted([Sound(np.zeros(rate, dtype=np.float32), rate, 1, 1.0, "WAV")])
    assert (settings.low_hz, settings.high_hz) == (300, max(min(11_000, rate / 2), 600))
    assert "Nothing rises above the noise" in why
    assert fit_to([], [])[0].seconds == PictureSettings().seconds
