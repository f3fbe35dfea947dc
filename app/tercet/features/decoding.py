"""Decodes recordings and pictures for features."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tercet.sounds import decoding

Samples = NDArray[np.float32]
Pixels = NDArray[np.float32]

MOST_SECONDS = 120.0  # of a recording that are used, so that memory stays bounded
UNREADABLE_PICTURE = (OSError, ValueError, SyntaxError, TypeError, OverflowError, Image.DecompressionBombError)


def read_sound(path: Path) -> tuple[Samples, int, bool]:
    """Return the samples mixed to one channel, the sampling rate, and whether the recording is longer than these."""
    sound = decoding.read_sound(path, MOST_SECONDS)
    return sound.samples, sound.rate, sound.seconds > MOST_SECONDS


def sampling_rate(path: Path) -> int | None:
    """Return the sampling rate in a recording's header; None where no header can be read."""
    try:
        return decoding.describe_sound(path).rate
    except (ValueError, OSError):
        return None


def read_picture(path: Path, size: int) -> Pixels:
    """Return the picture stretched to a square, (size, size, 3) from 0 to 1; transparent parts are white."""
    try:
        with Image.open(path) as picture:
            picture.draft("RGB", (2 * size, 2 * size))  # a JPEG is decoded at about the size that is needed
            return _resized(picture, size)
    except UNREADABLE_PICTURE as error:
        raise ValueError("the picture cannot be decoded") from error


def _resized(picture: Image.Image, size: int) -> Pixels:
    if picture.has_transparency_data:
        clear = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    if picture.mode.startswith(("I;16", "I", "F")):
        grey = np.asarray(picture, dtype=np.float32)
        span = float(grey.max() - grey.min())
        picture = Image.fromarray(np.asarray((grey - grey.min()) / (span or 1.0) * 255.0, dtype=np.uint8))
    small = picture.convert("RGB").resize((size, size), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return np.asarray(small, dtype=np.float32) / np.float32(255.0)
