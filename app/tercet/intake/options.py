"""How files are to be read: as a form says it, as an import keeps it, and as what reads files takes it."""

from dataclasses import asdict
from typing import Any

from tercet.intake.reading.plan import ReadOptions
from tercet.intake.schemas import ImportOptions
from tercet.models import Import
from tercet.sounds.segments import SegmentSettings
from tercet.web.forms import parse

DEFAULTS: dict[str, Any] = ImportOptions().model_dump()
# With this field, boxes that are not ticked count as such; without it a form says nothing about options.
MARK = "options"
PART = "segments."


def of_form(fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the options of a form, or None if it is not about them; "segments.pad" is a field of what segments are."""
    if MARK not in fields:
        return None
    segments = {name.removeprefix(PART): value for name, value in fields.items() if name.startswith(PART)}
    plain = {name: value for name, value in fields.items() if name != MARK and not name.startswith(PART)}
    return parse(ImportOptions, plain | ({"segments": segments} if segments else {})).model_dump()


def of_import(row: Import) -> ReadOptions:
    """Return the options of an import as what reads files takes them."""
    segments = SegmentSettings(**row.options.get("segments", {}))
    return ReadOptions(**{**row.options, "segments": segments})


def to_store(options: ReadOptions) -> dict[str, Any]:
    """Return options as an import keeps them."""
    return {name: value for name, value in asdict(options).items() if name != "items_before"}
