"""The names of the demonstrations, in a module that imports nothing, so that the command line starts at once."""

from enum import StrEnum


class DemoKind(StrEnum):
    """What a demonstration is about."""

    SONGS = "songs"
    PICTURES = "pictures"
    TEXTS = "texts"
