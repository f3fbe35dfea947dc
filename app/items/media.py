"""Media files: what they really are by their first bytes, and what pages show of them.

Pictures are decoded and encoded anew, so that nothing but pixels of what a stranger sent reaches a browser;
sounds are kept to be played, and drawn as spectrograms. Anything else (SVG, HTML, PDF) is refused.
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from app.items.spectrograms import picture_and_thumbnail, read_wav

MOST_PIXELS = 50_000_000
PICTURE_SIZE = (1024, 1024)
THUMBNAIL_SIZE = (128, 128)
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
CONTENT_TYPES = {".webp": "image/webp", ".png": "image/png", ".wav": "audio/wav"}
UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, IndexError, Image.DecompressionBombError)


@dataclass(frozen=True)
class Blob:
    """Bytes and the suffix that tells their type."""

    content: bytes
    suffix: str


@dataclass(frozen=True)
class Media:
    """What an item gets of its media file."""

    media_type: str
    media: Blob
    picture: Blob
    thumbnail: Blob


def is_sound(content: bytes) -> bool:
    """Tell a WAV file."""
    return content[:4] in (b"RIFF", b"RIFX", b"RF64") and content[8:12] == b"WAVE"


def is_image(content: bytes) -> bool:
    """Tell a PNG, JPEG, GIF or WebP file."""
    starts = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
    return content.startswith(starts) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP")


def seconds_of(content: bytes) -> float:
    """Give the length of a sound, so that all spectrograms of an import can share one time scale."""
    samples, rate = read_wav(content)
    return len(samples) / rate


def prepare(content: bytes, seconds: float | None = None) -> Media:
    """Make what is stored of a media file; ValueError says why it cannot be used."""
    if is_sound(content):
        return _sound(content, seconds)
    if is_image(content):
        return _image(content)
    raise ValueError("is neither a PNG, JPEG, WebP or GIF image nor a WAV sound, whatever its name says")


def _sound(content: bytes, seconds: float | None) -> Media:
    samples, rate = read_wav(content)
    picture, thumbnail = picture_and_thumbnail(samples, rate, seconds=seconds)
    return Media("audio/wav", Blob(content, ".wav"), Blob(picture, ".png"), Blob(thumbnail, ".png"))


def _image(content: bytes) -> Media:
    try:
        picture = _decode(content)
    except UNREADABLE as error:
        raise ValueError(f"is not an image that can be read: {error}") from error
    picture.thumbnail(PICTURE_SIZE, Image.Resampling.LANCZOS)
    full = Blob(_webp(picture, 85), ".webp")
    picture.thumbnail(THUMBNAIL_SIZE, Image.Resampling.LANCZOS)
    return Media("image/webp", full, full, Blob(_webp(picture, 80), ".webp"))


def _decode(content: bytes) -> Image.Image:
    with Image.open(io.BytesIO(content), formats=FORMATS) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels; at most {MOST_PIXELS:,} are allowed")
        image.load()
        upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I;16"):  # Pillow would clip 16 bits to 8 rather than scale them
        return Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8)).convert("RGB")
    has_alpha = upright.has_transparency_data
    return upright.convert("RGBA" if has_alpha else "RGB")


def _webp(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "WEBP", quality=quality, method=4)
    return out.getvalue()
