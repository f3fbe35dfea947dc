"""Chooses picture settings from the recordings: where there is energy above the noise, and how long clips are."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tercet.sounds.decoding import Sound, SoundInfo
from tercet.sounds.measures import without_noise
from tercet.sounds.picture_settings import NARROWEST_HZ, PictureSettings, typical_seconds, window_for
from tercet.sounds.spectrograms import spectrogram

LOWEST_HZ = 20.0  # below it is what microphones and winds do, whoever is recorded
POINTS = 512
SHARES = (0.01, 0.99)  # of the energy above the noise that lies below the lower and the upper edge
MARGIN = 1.25
HEARD_HZ = 15_000.0  # what lies above it altogether is played slower
COMFORTABLE_HZ = 6_000.0
EXPANSIONS = (5.0, 10.0, 20.0)

Shares = NDArray[np.float64]


def fit_to(infos: Sequence[SoundInfo], samples: Iterable[Sound]) -> tuple[PictureSettings, str]:
    """Return settings for recordings, and a sentence that says why.

    `infos` are all of them, for the time scale; `samples` are some, for the frequencies: each counts the same, however
    loud it is.
    """
    seconds = typical_seconds([info.seconds for info in infos])
    top = max((info.rate for info in infos), default=44_100) / 2.0
    grid = np.geomspace(LOWEST_HZ, top, POINTS)
    below = [share for sound in samples if (share := _share_below(sound, grid)) is not None]
    if not below:
        settings = PictureSettings(high_hz=max(min(11_000.0, top), 600.0), seconds=seconds)
        return settings, "Nothing rises above the noise in these recordings: the settings for songbirds are taken."
    edges = np.array([[np.interp(share, shares, grid) for share in SHARES] for shares in below])
    # Most recordings, not all: a few with an engine or a cicada do not widen the pictures of all others.
    low, high = float(np.percentile(edges[:, 0], 10)), float(np.percentile(edges[:, 1], 90))
    settings = _settings(low, max(high, low), top, seconds)
    return settings, _sentence(settings, low, high, len(below))


def _share_below(sound: Sound, grid: Shares) -> Shares | None:
    """Return which share of the energy above the noise lies below each frequency; None if there is none."""
    picture = spectrogram(sound.samples, sound.rate, window_for(sound.rate / 4.0)).between(LOWEST_HZ, sound.rate / 2.0)
    # Weighed by frequency: wind and handling grow towards the deep as fast, and they are not steady.
    energy = without_noise(picture.power).sum(axis=1, dtype=np.float64) * picture.frequencies
    if not energy.sum() > 0:
        return None
    return np.asarray(np.interp(grid, picture.frequencies, np.cumsum(energy) / energy.sum()), dtype=np.float64)


def _settings(low: float, high: float, top: float, seconds: float) -> PictureSettings:
    low_hz = _round(low / MARGIN)
    high_hz = max(min(_round(high * MARGIN), top), low_hz + NARROWEST_HZ)
    middle = np.sqrt(low * high)
    expansion = 1.0
    if low > HEARD_HZ or middle > HEARD_HZ:
        expansion = next((times for times in EXPANSIONS if middle / times <= COMFORTABLE_HZ), EXPANSIONS[-1])
    return PictureSettings(low_hz, high_hz, window_for(high_hz), seconds=seconds, expansion=expansion)


def _round(hertz: float) -> float:
    """Return a frequency with two digits that count."""
    unit = 10.0 ** (np.floor(np.log10(hertz)) - 1)
    return float(np.round(hertz / unit) * unit)


def _sentence(settings: PictureSettings, low: float, high: float, count: int) -> str:
    slower = f" Sounds are played {settings.expansion:g} times slower." if settings.expansion > 1 else ""
    return (
        f"What rises above the noise in most of {count} recordings lies between {_hertz(low)} and {_hertz(high)}: "
        f"pictures show {_hertz(settings.low_hz)} to {_hertz(settings.high_hz)}, and {settings.seconds:.3g} s across."
        f"{slower}"
    )


def _hertz(value: float) -> str:
    return f"{value / 1000:.3g} kHz" if value >= 1_000 else f"{value:.0f} Hz"
