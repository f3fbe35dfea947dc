"""Content types of stored media files, by suffix."""

from tercet.sounds.playing import TYPES

SOUND_TYPES = {f".{kind.lower()}": media_type for kind, media_type in TYPES.items()}
CONTENT_TYPES = {".webp": "image/webp", ".jpg": "image/jpeg", ".png": "image/png", **SOUND_TYPES}
