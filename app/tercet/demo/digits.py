"""Handwritten digits as picture files: those of scikit-learn, 1,797 of 8 x 8 pixels, enlarged."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image

N_DIGITS = 500
N_CLASSES = 10
SIZE = (96, 96)
DARKEST = 16  # of the pixels that scikit-learn brings


@dataclass(frozen=True)
class Digit:
    """One picture; `digit` is its true class."""

    key: str
    digit: int
    content: bytes


def make_digits(n: int = N_DIGITS, seed: int = 0) -> list[Digit]:
    """Return `n` pictures of handwritten digits in random order, dark on white, as many of each as can be."""
    from sklearn.datasets import load_digits

    data = load_digits()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.target))
    ranks = np.empty(len(order), dtype=int)
    for digit in range(N_CLASSES):
        ranks[order[data.target[order] == digit]] = np.arange(np.count_nonzero(data.target == digit))
    chosen = rng.permutation(np.lexsort((order, ranks))[:n])
    width = max(3, len(str(n)))
    return [
        Digit(f"digit-{number:0{width}d}", int(data.target[place]), _png(data.images[place]))
        for number, place in enumerate(chosen, start=1)
    ]


def _png(pixels: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bytes:
    grey = np.rint(255 * (1 - pixels / DARKEST)).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(grey).resize(SIZE, Image.Resampling.BICUBIC).save(out, "PNG")
    return out.getvalue()
