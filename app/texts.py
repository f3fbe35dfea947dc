"""What every text from outside must be: storable in both databases, and printable where it names something."""

import unicodedata
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator


def fault_of_text(value: str) -> str | None:
    """Say why a text cannot be stored: PostgreSQL knows no NUL, and half a surrogate pair is no character."""
    for place, character in enumerate(value):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            return f"character {place + 1} (U+{ord(character):04X}) is not allowed in a text"
    return None


@lru_cache(maxsize=4096)  # a bulk upload names the same few labelers over and over
def fault_of_name(value: str, longest: int = 200) -> str | None:
    """Say why a text cannot name something: empty, too long, with blanks at its ends or control characters."""
    if not value:
        return "must not be empty"
    if len(value) > longest:
        return f"has {len(value)} characters; at most {longest} are allowed"
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
