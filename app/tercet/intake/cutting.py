"""What is stored of one item's media: the whole file, or the part of a recording that the item is."""

import hashlib
from dataclasses import dataclass

from tercet.intake import media
from tercet.intake.media import Media
from tercet.intake.reading.plan import MediaSource
from tercet.sounds.decoding import cut_clip, describe_sound, is_sound
from tercet.sounds.picture_settings import PictureSettings


@dataclass(frozen=True)
class Cut:
    """The bytes of an item's media, the hash of what came, and how long it sounds."""

    content: bytes
    content_hash: str
    seconds: float | None


def cut(source: MediaSource) -> Cut:
    """Read the media of an item; raise ValueError saying what is wrong with its file."""
    content = _content(source)
    seconds = media.seconds_of(content) if is_sound(content[:16]) else None
    return Cut(content, hashlib.sha256(content).hexdigest(), seconds)


def prepare(piece: Cut, settings: PictureSettings) -> Media:
    """Return what is stored; all sounds of a project are drawn by the same settings."""
    return media.prepare(piece.content, settings)


def _content(source: MediaSource) -> bytes:
    path = source.file.local
    if source.begin_s is None and source.end_s is None:
        return path.read_bytes()
    end = describe_sound(path).seconds if source.end_s is None else source.end_s
    return cut_clip(path, source.begin_s or 0.0, end)
