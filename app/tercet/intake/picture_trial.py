"""Pictures of single sounds by settings that somebody tries: drawn for the page, never stored."""

import io

from sqlalchemy.orm import Session

from tercet.items.queries import item_by_key
from tercet.models import Project
from tercet.sounds.decoding import cut_clip, describe_sound, read_sound
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.spectrograms import picture_and_thumbnail
from tercet.storage import Storage
from tercet.web.errors import NotFound

MOST_SECONDS = 60.0  # of a long sound, its beginning is drawn


def sound_of(session: Session, project: Project, key: str) -> str:
    """Return where the sound of an item lies in storage; raise NotFound if it has none."""
    item = item_by_key(session, project.id, key)
    if item is None or item.media is None or not (item.media_type or "").startswith("audio/"):
        raise NotFound(f"There is no item '{key}' with a sound in this project.")
    return item.media


def draw(storage: Storage, blob: str, settings: PictureSettings) -> bytes:
    """Return the picture of a sound as PNG."""
    content = storage.get(blob)
    info = describe_sound(io.BytesIO(content))
    if info.seconds > MOST_SECONDS:
        content = cut_clip(io.BytesIO(content), 0.0, MOST_SECONDS)
    sound = read_sound(io.BytesIO(content))
    return picture_and_thumbnail(sound.samples, sound.rate, settings)[0]
