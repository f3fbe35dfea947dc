"""How files are to be read, as the form beside a preview says it."""

from typing import Any

from tercet.intake.schemas import ImportOptions
from tercet.web.forms import parse

DEFAULTS: dict[str, Any] = ImportOptions().model_dump()
# With this field, boxes that are not ticked count as such; without it a form says nothing about options.
MARK = "options"
PART = "segments."


def read(fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the options of a form, or None if it is not about them; "segments.pad" is a field of what segments are."""
    if MARK not in fields:
        return None
    segments = {name.removeprefix(PART): value for name, value in fields.items() if name.startswith(PART)}
    plain = {name: value for name, value in fields.items() if name != MARK and not name.startswith(PART)}
    return parse(ImportOptions, plain | ({"segments": segments} if segments else {})).model_dump()
