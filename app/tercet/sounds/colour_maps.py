"""Colour maps of spectrograms, from the background for silence to the brightest for the loudest.

Each is given by a few colours; between them lightness (CIE L*) changes in even steps, so that equal steps of loudness
look equal, in grey and to colour-blind eyes too.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

COLOURS = 32  # few enough for small files, enough to hide steps
FINE_STEPS = 1_000

COLOUR_MAPS = {
    # From a blue-black ground through violet and orange to pale yellow: stands out on white and on black.
    "dusk": (
        (13, 13, 30),
        (35, 24, 72),
        (79, 32, 109),
        (128, 44, 116),
        (179, 62, 98),
        (223, 92, 66),
        (247, 143, 42),
        (250, 199, 70),
        (253, 247, 190),
    ),
    "ocean": (
        (8, 16, 32),
        (16, 52, 92),
        (18, 92, 122),
        (28, 136, 132),
        (84, 182, 120),
        (180, 220, 110),
        (248, 250, 200),
    ),
    "ember": ((10, 8, 8), (70, 18, 16), (140, 34, 18), (204, 74, 20), (236, 138, 48), (246, 200, 120), (255, 250, 235)),
    "grey": ((8, 8, 10), (252, 252, 252)),
    # Dark on white, as sonagrams are printed.
    "paper": ((255, 255, 255), (12, 12, 14)),
}


@cache
def palette(name: str) -> tuple[tuple[int, int, int], ...]:
    """Return the colours of a map, the ground first."""
    anchors = np.array(COLOUR_MAPS[name], dtype=np.float64)
    places = np.linspace(0, len(anchors) - 1, FINE_STEPS)
    fine = np.stack([np.interp(places, np.arange(len(anchors)), anchors[:, c]) for c in range(3)], axis=1)
    light = lightness(fine)
    order = slice(None) if light[-1] > light[0] else slice(None, None, -1)
    even = np.linspace(light[0], light[-1], COLOURS)
    colours = np.stack([np.interp(even, light[order], fine[order, c]) for c in range(3)], axis=1).round().astype(int)
    return tuple((int(red), int(green), int(blue)) for red, green, blue in colours)


def lightness(colours: Array) -> Array:
    """Return the lightness (CIE L*, 0 to 100) of sRGB colours from 0 to 255, one a row."""
    share = np.asarray(colours, dtype=np.float64) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    root = np.where(luminance > (6 / 29) ** 3, np.cbrt(luminance), luminance / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.asarray(116.0 * root - 16.0, dtype=np.float64)
