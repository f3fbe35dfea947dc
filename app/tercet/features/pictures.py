"""Groups of features of a picture: shapes (histograms of oriented gradients), colours, and learned codes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tercet.features.codes import PatchCodes
from tercet.features.decoding import Pixels

Rows = NDArray[np.float32]

SIDE = 32  # pixels a side of the squares that pictures are stretched to
CELL = 4  # pixels a side of the squares whose gradients are counted together
DIRECTIONS = 9
MOST_OF_ONE_DIRECTION = 0.2  # of a block's unit length, so that one strong edge does not outweigh all others

PATCH = 8
PATCH_STEP = 2
FLAT = 1e-3  # added to the variance of a patch, so that the noise of flat patches is not amplified

# From linear red, green and blue to the Oklab space, in which equally distant colours look equally different
# (B. Ottosson, 2020).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    dtype=np.float32,
)
TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ],
    dtype=np.float32,
)
GREY = 0.02  # a picture is grey if its red, green and blue differ by less everywhere
LIGHTNESS_STEPS, TINT_STEPS, STRONGEST_TINT = 4, 8, 0.3


@dataclass(frozen=True)
class Picture:
    """A decoded picture (SIDE, SIDE, 3) and its grey levels."""

    pixels: Pixels
    grey: Rows


def picture_of(pixels: Pixels) -> Picture:
    """Return a picture in the form that the groups use."""
    return Picture(pixels, pixels @ np.array([0.299, 0.587, 0.114], dtype=np.float32))


class PictureShapes:
    """Histograms of oriented gradients of overlapping blocks (Dalal and Triggs 2005).

    Light on dark is the same as dark on light.
    """

    width = (SIDE // CELL - 1) ** 2 * 4 * DIRECTIONS

    def row(self, picture: Picture) -> Rows:
        """Return one picture's histograms."""
        down, across = np.gradient(np.sqrt(picture.grey))
        strength = np.hypot(across, down)
        place = np.arctan2(down, across) % np.pi * (DIRECTIONS / np.pi)
        lower = place.astype(np.intp)
        part = (place - lower) * strength
        cell = np.arange(SIDE) // CELL
        bins = (cell[:, None] * (SIDE // CELL) + cell) * DIRECTIONS
        size = (SIDE // CELL) ** 2 * DIRECTIONS
        counts = np.zeros(size)
        counts += np.bincount((bins + lower % DIRECTIONS).ravel(), (strength - part).ravel(), size)
        counts += np.bincount((bins + (lower + 1) % DIRECTIONS).ravel(), part.ravel(), size)
        return _blocks(counts.reshape(SIDE // CELL, SIDE // CELL, DIRECTIONS))


def _blocks(cells: NDArray[np.float64]) -> Rows:
    """Return the histograms of every 2 x 2 cells, scaled to about unit length."""
    blocks = np.concatenate([cells[:-1, :-1], cells[:-1, 1:], cells[1:, :-1], cells[1:, 1:]], axis=2)
    blocks /= np.sqrt((blocks**2).sum(axis=2, keepdims=True) + 0.01 * CELL)
    return np.asarray(np.minimum(blocks, MOST_OF_ONE_DIRECTION), dtype=np.float32).ravel()


class PictureColours:
    """Square roots of the shares of a picture that each of 256 colours fills, by lightness and tint as people see them.

    A grey picture gets zeros: shapes and codes show its lightness already.
    """

    width = LIGHTNESS_STEPS * TINT_STEPS**2

    def row(self, picture: Picture) -> Rows:
        """Return one picture's shares of colours."""
        if np.ptp(picture.pixels, axis=2).max() < GREY:
            return np.zeros(self.width, dtype=np.float32)
        oklab = _to_oklab(picture.pixels.reshape(-1, 3))
        light = np.clip(oklab[:, 0] * LIGHTNESS_STEPS, 0, LIGHTNESS_STEPS - 1).astype(np.intp)
        tint = (oklab[:, 1:] / (2 * STRONGEST_TINT) + 0.5) * TINT_STEPS
        green_red, blue_yellow = np.clip(tint, 0, TINT_STEPS - 1).astype(np.intp).T
        bins = (light * TINT_STEPS + green_red) * TINT_STEPS + blue_yellow
        shares = np.bincount(bins, minlength=self.width) / len(bins)
        return np.asarray(np.sqrt(shares), dtype=np.float32)


def _to_oklab(pixels: Rows) -> Rows:
    linear = np.where(pixels > 0.04045, ((pixels + 0.055) / 1.055) ** 2.4, pixels / 12.92)
    return np.asarray(np.cbrt(linear @ TO_CONES.T) @ TO_OKLAB.T, dtype=np.float32)


class PictureCodes(PatchCodes):
    """How similar the patches in each quarter of a picture are to patterns learned from all pictures.

    A pattern is the same as its negative, so that light on dark is the same as dark on light.
    """

    n_pools = 4

    def collect_patches(self, picture: Picture, n_patches: int, rng: np.random.Generator) -> None:
        """Collect some patches of a picture to learn from."""
        patches = _patches(picture.grey, 1)
        self._patches.append(patches[rng.choice(len(patches), min(n_patches, len(patches)), replace=False)])

    def row(self, picture: Picture) -> Rows:
        """Return one picture's codes, averaged over each quarter."""
        if self.codebook is None:
            return np.zeros(0, dtype=np.float32)
        codes = self.codebook.activations(_patches(picture.grey, PATCH_STEP), signed=False)
        side = (SIDE - PATCH) // PATCH_STEP + 1
        codes = codes.reshape(side, side, -1)
        middle = side // 2
        halves = (slice(0, middle), slice(middle, side))
        return np.concatenate([codes[rows, columns].mean(axis=(0, 1)) for rows in halves for columns in halves])


def _patches(grey: Rows, step: int) -> Rows:
    """Return every `step`-th patch (patches, PATCH * PATCH), normalised to mean 0 and variance 1."""
    windows = np.lib.stride_tricks.sliding_window_view(grey, (PATCH, PATCH))[::step, ::step]
    patches = windows.reshape(-1, PATCH * PATCH)
    patches = patches - patches.mean(axis=1, keepdims=True)
    return np.asarray(patches / np.sqrt((patches**2).mean(axis=1, keepdims=True) + FLAT), dtype=np.float32)
