"""Settings of all pictures of a project: frequency range, window, contrast, colours and time scale.

Every field can be chosen by a person; the presets are what people who record such animals usually look at, and
`fitting` proposes settings from the recordings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.sounds.colour_maps import COLOUR_MAPS

WINDOW_PERIODS = 176.0  # periods of the highest frequency in a window: 16 ms for songs up to 11 kHz
SHORTEST_WINDOW, LONGEST_WINDOW = 0.0005, 0.5
NARROWEST_HZ = 10.0
SHORTEST_SCALE, LONGEST_SCALE = 0.05, 600.0
LARGEST_EXPANSION = 50.0
SHORTER_SHARE = 0.75  # of the picture's width is what a clip of the lower quartile fills; somewhat shorter ones, 0.6
MOST_SCREENS = 1.5  # what a clip of the median length takes at most


@dataclass(frozen=True)
class PictureSettings:
    """How the pictures of a project are drawn.

    `seconds` is what the width of a picture stands for; longer clips get a wider picture. `expansion` says how many
    times slower a sound is played, which brings ultrasound down to where people hear it; pictures always show the
    true frequencies and times.
    """

    low_hz: float = 300.0
    high_hz: float = 11_000.0
    window_seconds: float = 0.016
    dynamic_range_db: float = 60.0
    colour_map: str = "dusk"
    seconds: float = 2.0
    expansion: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for settings that no picture can be drawn with."""
        _require(0 <= self.low_hz <= self.high_hz - NARROWEST_HZ, "low_hz has to lie 10 Hz or more below high_hz")
        _require(self.high_hz <= 500_000, "high_hz can be at most 500,000 Hz")
        _require_between("window_seconds", self.window_seconds, SHORTEST_WINDOW, LONGEST_WINDOW)
        _require_between("dynamic_range_db", self.dynamic_range_db, 24, 120)
        _require_between("seconds", self.seconds, SHORTEST_SCALE, LONGEST_SCALE)
        _require_between("expansion", self.expansion, 1, LARGEST_EXPANSION)
        _require(self.colour_map in COLOUR_MAPS, f"colour_map has to be one of {', '.join(COLOUR_MAPS)}")


def read_stored(stored: dict[str, Any] | None) -> PictureSettings | None:
    """Return the settings that a project keeps beside the sentence that says why they are so; None: it has none."""
    return PictureSettings(**{name: value for name, value in stored.items() if name != "reason"}) if stored else None


def window_for(high_hz: float) -> float:
    """Return the length of a window in seconds that suits sounds up to a frequency: the higher, the shorter."""
    return float(min(max(WINDOW_PERIODS / high_hz, 0.001), 0.2))


def typical_seconds(lengths: Sequence[float]) -> float:
    """Return the time scale for clips of these lengths in seconds.

    The 95th percentile, so that one long recording does not make slivers of all others; where lengths differ more, so
    much less that the shorter of the typical clips still fill most of their pictures, but not so little that people
    scroll through most of the others.
    """
    if not lengths:
        return PictureSettings().seconds
    shorter, median = np.percentile(lengths, [25, 50])
    longest = np.percentile(lengths, 95, method="lower")
    scale = min(max(shorter / SHORTER_SHARE, median / MOST_SCREENS), longest)
    return float(min(max(scale, SHORTEST_SCALE), LONGEST_SCALE))


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _require_between(name: str, value: float, lowest: float, highest: float) -> None:
    _require(lowest <= value <= highest, f"{name} has to lie between {lowest:g} and {highest:g}")


PRESETS = {
    "songbird": PictureSettings(),
    "bat": PictureSettings(10_000, 120_000, window_seconds=0.002, seconds=0.2, expansion=10),
    "frog": PictureSettings(100, 6_000, window_seconds=0.025, seconds=3),
    "whale": PictureSettings(10, 1_000, window_seconds=0.2, seconds=20),
    "speech": PictureSettings(50, 8_000, window_seconds=0.012, seconds=1.5),
    "insect": PictureSettings(2_000, 22_000, window_seconds=0.008, seconds=3),
}
