"""Converts the options of reading files between a form, an import's row, and the reader."""

from dataclasses import asdict
from typing import Any

from tercet.intake.reading.plan import ReadOptions
from tercet.intake.schemas import ImportOptions
from tercet.models import Import
from tercet.sounds.segments import SegmentSettings
from tercet.web.forms import parse

DEFAULTS: dict[str, Any] = ImportOptions().model_dump()
# A form with this field has options, and a box that is missing is not ticked; other forms have no options.
MARK = "options"
PART = "segments."


def of_form(fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the options among a form's fields, or None if there are none; "segments.pad" is `pad` of `segments`."""
    if MARK not in fields:
        return None
    segments = {name.removeprefix(PART): value for name, value in fields.items() if name.startswith(PART)}
    plain = {name: value for name, value in fields.items() if name != MARK and not name.startswith(PART)}
    return parse(ImportOptions, plain | ({"segments": segments} if segments else {})).model_dump()


def of_import(row: Import) -> ReadOptions:
    """Return the options of an import for the reader."""
    segments = SegmentSettings(**row.options.get("segments", {}))
    return ReadOptions(**{**row.options, "segments": segments})


def to_store(options: ReadOptions) -> dict[str, Any]:
    """Return the reader's options as an import stores them."""
    return {name: value for name, value in asdict(options).items() if name != "items_before"}
