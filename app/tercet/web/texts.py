"""Validates texts of requests: storable in both databases, and printable where they are names."""

import re
import unicodedata
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

NAME_LENGTH = 200
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def fault_of_text(value: str) -> str | None:
    """Return why a text cannot be stored: PostgreSQL has no NUL, and half a surrogate pair is no character."""
    match = UNSTORABLE.search(value)
    if match is None:
        return None
    return f"character {match.start() + 1} (U+{ord(match[0]):04X}) is not allowed in a text"


def fault_of_name(value: str) -> str | None:
    """Return why a text cannot be a name: empty, too long, with blanks at its ends or control characters."""
    # The length comes first: what the cache has seen stays in memory, and strangers may send anything.
    if len(value) > NAME_LENGTH:
        return f"has {len(value)} characters; at most {NAME_LENGTH} are allowed"
    return _fault_of_short_name(value)


@lru_cache(maxsize=4096)  # a bulk upload names the same few labelers over and over
def _fault_of_short_name(value: str) -> str | None:
    if not value:
        return "must not be empty"
    if value != value.strip():
        return "must not begin or end with blanks"
    control = next((c for c in value if unicodedata.category(c) in ("Cc", "Cs")), None)
    return None if control is None else f"has the character U+{ord(control):04X}, which cannot be printed"


def _text(value: str) -> str:
    if fault := fault_of_text(value):
        raise ValueError(fault)
    return value


def _name(value: str) -> str:
    if fault := fault_of_name(value):
        raise ValueError(fault)
    return value


Text = Annotated[str, AfterValidator(_text)]
Name = Annotated[str, AfterValidator(_name)]


# Sentences that begin so get the name of the file in front.
PREDICATES = ("is ", "has ", "holds ", "cannot ")


def with_subject(subject: str, error: Exception) -> str:
    """Return the sentence of an error, with a subject where it has none."""
    sentence = str(error)
    return f"{subject} {sentence}" if sentence.startswith(PREDICATES) else sentence
