"""Media files: recognised by their first bytes, cut to the part of an item, and converted to what pages show.

Pictures are decoded and encoded again (photographs are copied without their metadata where they can be), so that only
the pixels of an uploaded file reach a browser; sounds are stored for playing, and drawn as spectrograms. Anything else
(SVG, HTML, PDF) is refused.
"""

import hashlib
import io
import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from tercet.intake.jpeg import without_metadata
from tercet.intake.reading.plan import MediaSource
from tercet.sounds.containers import format_of
from tercet.sounds.decoding import cut_clip, describe_sound, is_sound, read_sound
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.playing import TYPES
from tercet.sounds.spectrograms import picture_and_thumbnail

MOST_PIXELS = 50_000_000
PICTURE_SIZE = (1024, 1024)
THUMBNAIL_SIZE = (128, 128)
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "AVIF")
FORMATS_WORDS = "PNG, JPEG, WebP, GIF, TIFF, BMP or AVIF"
JPEG_START = b"\xff\xd8\xff"
STRIP_PIXELS = 2_000_000
LAST_BYTES = 65_536  # some programs write a little after the end of a PNG
UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    struct.error,
    zlib.error,
    MemoryError,
    Image.DecompressionBombError,
)


class Blob(NamedTuple):
    """Bytes, and the file suffix of their type."""

    content: bytes
    suffix: str


@dataclass(frozen=True)
class Media:
    """An item's media file as it is stored: the file, its picture and its thumbnail."""

    media_type: str
    media: Blob
    picture: Blob
    thumbnail: Blob


@dataclass(frozen=True)
class Cut:
    """The bytes of an item's media, their hash, and the length of a sound."""

    content: bytes
    content_hash: str
    seconds: float | None


def is_image(content: bytes) -> bool:
    """Return whether a file with these first bytes is a picture in one of the formats."""
    starts = (b"\x89PNG\r\n\x1a\n", JPEG_START, b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
    if content.startswith(starts) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP"):
        return True
    is_bmp = content[:2] == b"BM" and content[6:10] == b"\0\0\0\0"
    return is_bmp or (content[4:8] == b"ftyp" and content[8:12] in (b"avif", b"avis"))


def seconds_of(content: bytes) -> float:
    """Return the length of a sound in seconds."""
    return describe_sound(io.BytesIO(content)).seconds


def cut(source: MediaSource) -> Cut:
    """Read the media of an item; raise ValueError with a sentence if its file cannot be read."""
    content = _content(source)
    seconds = seconds_of(content) if is_sound(content[:16]) else None
    return Cut(content, hashlib.sha256(content).hexdigest(), seconds)


def _content(source: MediaSource) -> bytes:
    path = source.file.local
    if source.begin_s is None and source.end_s is None:
        return path.read_bytes()
    end = describe_sound(path).seconds if source.end_s is None else source.end_s
    return cut_clip(path, source.begin_s or 0.0, end)


def prepare(content: bytes, settings: PictureSettings | None = None) -> Media:
    """Return a media file as it is stored; raise ValueError with a sentence if it cannot be used."""
    if kind := format_of(content[:16]):
        return _sound(content, kind, settings or PictureSettings())
    if is_image(content):
        return _image(content)
    raise ValueError(f"is neither a {FORMATS_WORDS} image nor a sound that can be read, whatever its name says")


def bare(content: bytes) -> tuple[str, Blob]:
    """Return type and bytes of a media file as they are stored, without pictures of it; raise ValueError if it is none.

    Features are made of these, so that a picture is looked at as it is shown.
    """
    if kind := format_of(content[:16]):
        return TYPES[kind], Blob(content, f".{kind.lower()}")
    prepared = prepare(content)
    return prepared.media_type, prepared.media


def _sound(content: bytes, kind: str, settings: PictureSettings) -> Media:
    sound = read_sound(io.BytesIO(content))
    picture, thumbnail = picture_and_thumbnail(sound.samples, sound.rate, settings)
    return Media(TYPES[kind], Blob(content, f".{kind.lower()}"), Blob(picture, ".png"), Blob(thumbnail, ".png"))


def check_image(path: Path) -> None:
    """Raise ValueError if by its header a file is not a picture, or one too large to decode."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a picture that is odd but can be read is not a fault
            with Image.open(path, formats=FORMATS) as image:
                _check_pixels(image)
        with path.open("rb") as stream:
            _check_end(stream)
    except UNREADABLE as error:
        raise ValueError(_sentence(error)) from error


def _check_end(stream: BinaryIO) -> None:
    """Raise EOFError if the last chunk of a PNG is missing: it was cut off."""
    if stream.read(4) == b"\x89PNG":
        stream.seek(max(0, stream.seek(0, 2) - LAST_BYTES))
        if b"IEND" not in stream.read():
            raise EOFError("the file ends too early")


def _check_pixels(image: Image.Image) -> None:
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"has {image.width} x {image.height} pixels; at most {MOST_PIXELS:,} are allowed")


def _sentence(error: Exception) -> str:
    """Return why a picture cannot be used; messages of Pillow with addresses of memory are left out."""
    if type(error) is ValueError and str(error).startswith("has "):
        return str(error)
    if isinstance(error, Image.DecompressionBombError):
        return f"has far more pixels than the {MOST_PIXELS:,} that are allowed"
    reason = "" if isinstance(error, UnidentifiedImageError) or " at 0x" in str(error) else f": {error}"
    return f"is not an image that can be read, damaged or of another kind{reason}"


def _image(content: bytes) -> Media:
    is_photograph = content.startswith(JPEG_START)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check_end(io.BytesIO(content))
            picture = _decode(content)
            picture.thumbnail(PICTURE_SIZE, Image.Resampling.LANCZOS)
            full = _photograph(content, picture) if is_photograph else _webp(picture, 85)
    except UNREADABLE as error:
        raise ValueError(_sentence(error)) from error
    picture.thumbnail(THUMBNAIL_SIZE, Image.Resampling.LANCZOS, reducing_gap=1.01)  # averages first: half the time
    small = _jpeg(picture, 85) if is_photograph else _webp(picture, 80)
    return Media("image/jpeg" if is_photograph else "image/webp", full, full, small)


def _decode(content: bytes) -> Image.Image:
    """Return the first frame upright and on white, not much larger than pages show it."""
    with Image.open(io.BytesIO(content), formats=FORMATS) as image:
        _check_pixels(image)
        # The JPEG decoder can return a half, a quarter or an eighth of the size for less work; others ignore this.
        image.draft(image.mode, (2 * PICTURE_SIZE[0], 2 * PICTURE_SIZE[1]))
        image.load()
        reduced = _reduced(image)
    ImageOps.exif_transpose(reduced, in_place=True)
    return reduced


def _reduced(image: Image.Image) -> Image.Image:
    """Return a picture in RGB, made smaller by a whole factor if it is more than twice as large as pages show it.

    It is converted in strips: otherwise every step would take four bytes for each of fifty million pixels.
    """
    times_too_large = max(image.width / PICTURE_SIZE[0], image.height / PICTURE_SIZE[1])
    factor = min(max(1, int(times_too_large / 2)), image.width, image.height)
    height = max(factor, STRIP_PIXELS // image.width // factor * factor)
    if factor == 1 and image.height <= height and image.mode == "RGB" and not image.has_transparency_data:
        return image
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    limits = image.getextrema() if image.mode in ("I", "F") else None
    for top in range(0, image.height, height):
        bounds = (0, top, image.width, min(top + height, image.height))
        strip = _on_white(image if bounds == (0, 0, *image.size) else image.crop(bounds), limits)
        small.paste(strip.reduce(factor) if factor > 1 else strip, (0, top // factor))
    small.getexif().update(image.getexif())
    return small


def _on_white(image: Image.Image, limits: Any) -> Image.Image:
    """Return a picture in RGB; transparent parts are white, so that it looks the same on light and dark pages."""
    if image.mode.startswith("I;16"):  # Pillow would clip 16 bits to 8 rather than scale them
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if limits is not None:  # numbers of any range: from the smallest to the largest
        low, high = limits
        scaled = (np.nan_to_num(np.asarray(image, dtype=np.float32)) - low) * (255.0 / (high - low or 1.0))
        return Image.fromarray(np.clip(scaled, 0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA")).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _webp(image: Image.Image, quality: int) -> Blob:
    out = io.BytesIO()
    image.save(out, "WEBP", quality=quality, method=2)  # 4, the usual one, makes files of 2 % less in twice the time
    return Blob(out.getvalue(), ".webp")


def _photograph(content: bytes, picture: Image.Image) -> Blob:
    """Return a JPEG without its metadata but unchanged where pages show it in full size, else a smaller one."""
    with Image.open(io.BytesIO(content), formats=FORMATS) as original:
        is_upright = original.getexif().get(ExifTags.Base.Orientation, 1) == 1
        fits = is_upright and original.size == picture.size and original.mode in ("RGB", "L")
    bare = without_metadata(content) if fits else None
    return Blob(bare, ".jpg") if bare else _jpeg(picture, 90)


def _jpeg(image: Image.Image, quality: int) -> Blob:
    """Return a picture as JPEG: WebP is smaller, but encoding it takes several times as long as decoding a JPEG."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return Blob(out.getvalue(), ".jpg")
