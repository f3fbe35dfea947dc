"""Label tracks of Audacity: begin, end and text on a line, then perhaps a line that begins with a backslash.

That second line holds the frequency range, -1 where there is none. BirdNET-Analyzer adds the confidence behind the
text; old label tracks have two columns, the time and the text, which mark points and are no selections.
"""

import re
from dataclasses import replace

from tercet.sounds.selection import Selection, SelectionFault, checked

NAME = "Audacity labels"
NUMBER = re.compile(r"\s*-?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?\s*")


def format_of(text: str) -> str | None:
    """Return the name of the format if a text begins as a label track does."""
    first = next((line for line in text.split("\n") if line.strip()), "").split("\t")
    return NAME if len(first) >= 2 and NUMBER.fullmatch(first[0]) else None


def read(text: str) -> list[Selection]:
    """Return the regions of a label track; points are left out."""
    selections: list[Selection] = []
    faults: list[SelectionFault] = []
    last_is_region = False
    for row, line in enumerate(text.split("\n"), start=1):
        fields = line.split("\t")
        if not line.strip():
            continue
        if fields[0].strip() == "\\":
            if last_is_region and len(fields) >= 3:
                selections[-1] = replace(selections[-1], low_hz=_hertz(fields[1]), high_hz=_hertz(fields[2]))
        elif not NUMBER.fullmatch(fields[0]):
            faults.append(SelectionFault(row, "begin", f"'{fields[0][:40]}' is no number of seconds"))
        else:
            region = _region(fields, row)
            last_is_region = region is not None
            selections += [region] if region else []
    if not selections and not faults:
        raise ValueError("holds no stretches of time, only points: drag over a region before adding a label")
    return checked(selections, faults)


def _region(fields: list[str], row: int) -> Selection | None:
    """Return what a line marks, None for a point."""
    begin = _number(fields[0])
    if len(fields) < 2 or not NUMBER.fullmatch(fields[1]) or _number(fields[1]) == begin:
        return None
    label = fields[2].strip() if len(fields) > 2 else ""
    return Selection(begin, _number(fields[1]), label=label or None, row=row)


def _number(field: str) -> float:
    return float(field.replace(",", "."))


def _hertz(field: str) -> float | None:
    value = _number(field) if NUMBER.fullmatch(field) else -1.0
    return value if value >= 0.0 else None
