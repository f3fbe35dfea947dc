"""Clusters as tables that sound editors open over a recording: Raven selection tables and Audacity labels.

An item that is a segment has metadata `begin_s` and `end_s`, optionally `low_hz`, `high_hz` and `recording` (else the
bag is the recording). Any other sound is one selection from its beginning to its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

import soundfile

from tercet.database import Database
from tercet.errors import Conflict
from tercet.exchange.queries import ClusteredItem, clustered_items
from tercet.intake.reading.kinds import SOUND_NAMES
from tercet.models import Run
from tercet.runs.results import Result
from tercet.sounds.selection import Selection
from tercet.sounds.selections import write_audacity, write_raven
from tercet.storage import Storage
from tercet.web.zip_stream import FileNames, ZipStream

NO_SOUNDS = (
    "No item of this project is a sound or a part of a recording: metadata begin_s and end_s (in seconds) would say "
    "where in its recording an item is."
)


class SelectionFormat(StrEnum):
    """The program that the tables are for."""

    RAVEN = "raven"
    AUDACITY = "audacity"


@dataclass(frozen=True)
class Selected:
    """A part of a recording, its item, and the additional columns of Raven's table."""

    selection: Selection
    recording: str
    is_segment: bool
    columns: dict[str, str]


def tables(
    database: Database, storage: Storage, run: Run, result: Result, names: Mapping[int, str], form: SelectionFormat
) -> Iterator[bytes]:
    """Return the pieces of a ZIP with a table for each recording; raise Conflict at once where there is no sound."""
    parts = [
        part
        for page in clustered_items(database, run, result)
        for item in page
        if (part := _selected(storage, item, names)) is not None
    ]
    if not parts:
        raise Conflict(NO_SOUNDS)
    return _zip(parts, form)


def _selected(storage: Storage, item: ClusteredItem, names: Mapping[int, str]) -> Selected | None:
    begin, end, low, high = (_number(item.details.get(name)) for name in ("begin_s", "end_s", "low_hz", "high_hz"))
    is_segment = begin is not None and end is not None
    if begin is None or end is None:
        begin, end = 0.0, _seconds(storage, item)
    if end is None:
        return None
    recording = str(item.details.get("recording") or (item.bag if is_segment and item.bag else item.key))
    name = names.get(item.cluster, "")
    file = PurePosixPath(recording).name  # Raven wants names alone, and finds the files beside the table
    if item.media and not is_segment:
        file = PurePosixPath(item.key).name + PurePosixPath(item.media).suffix
    label = f"{item.cluster} {name}".strip()
    columns = {"Item": item.key, "Cluster": str(item.cluster), "Cluster name": name}
    columns["Confidence"] = f"{round(item.confidence, 4)}"
    return Selected(Selection(begin, end, low, high, label, file), recording, is_segment, columns)


def _number(value: Any) -> float | None:
    """Return a number of the metadata, which may be stored as text; None where there is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < float("inf") else None


def _seconds(storage: Storage, item: ClusteredItem) -> float | None:
    """Return the length of a sound from the header of its file; None if it is no sound."""
    if not (item.media and (item.media_type or "").startswith("audio/")):
        return None
    try:
        with storage.open(item.media) as file:
            return float(soundfile.info(file).duration)
    except (OSError, soundfile.SoundFileError):
        return None


def _zip(parts: list[Selected], form: SelectionFormat) -> Iterator[bytes]:
    """Write items that are whole files into one Raven table, as Raven opens several files, all others by recording."""
    archive, files = ZipStream(), FileNames()
    if form == SelectionFormat.RAVEN:
        whole_files = [part for part in parts if not part.is_segment]
        parts = [part for part in parts if part.is_segment]
        if whole_files:
            name = files.make("whole files", ".selections.txt")
            yield from archive.add(name, [_raven(whole_files, in_sequence=True)], packed=True)
    in_order = sorted(parts, key=lambda part: (part.recording, part.selection.begin_s, part.selection.end_s))
    for recording, group in groupby(in_order, key=lambda part: part.recording):
        if form == SelectionFormat.RAVEN:
            name = files.make(f"{_without_ending(recording)}.Table.1", ".selections.txt")
            yield from archive.add(name, [_raven(list(group))], packed=True)
        else:
            labels = write_audacity([part.selection for part in group]).encode()
            yield from archive.add(files.make(_without_ending(recording), ".txt"), [labels], packed=True)
    yield from archive.close()


def _without_ending(recording: str) -> str:
    """Return a recording's name as its table begins with it: `rec.Table.1.selections.txt` goes with `rec.wav`."""
    ending = PurePosixPath(recording).suffix
    return recording.removesuffix(ending) if ending.lower() in SOUND_NAMES else recording


def _raven(parts: Sequence[Selected], *, in_sequence: bool = False) -> bytes:
    columns = {name: [part.columns[name] for part in parts] for name in parts[0].columns}
    return write_raven([part.selection for part in parts], columns, in_sequence=in_sequence).encode()
