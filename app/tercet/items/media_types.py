"""Which type the media files have that are served, by the suffix of the stored file."""

from tercet.sounds.playing import TYPES

SOUND_TYPES = {f".{kind.lower()}": media_type for kind, media_type in TYPES.items()}
CONTENT_TYPES = {".webp": "image/webp", ".jpg": "image/jpeg", ".png": "image/png", **SOUND_TYPES}
