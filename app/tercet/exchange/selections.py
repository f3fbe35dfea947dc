"""Clusters as tables that sound editors open over a recording: Raven selection tables and Audacity labels.

An item that is a segment says so in its metadata: `begin_s` and `end_s`, perhaps `low_hz` and `high_hz`, and the
`recording`, or else its bag. Any other sound is one selection from its beginning to its end.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any

import soundfile

from tercet.database import Database
from tercet.exchange.queries import ClusteredItem, clustered_items
from tercet.models import Run
from tercet.runs.results import Result
from tercet.storage import Storage
from tercet.web.errors import Conflict
from tercet.web.zip_stream import FileNames, ZipStream

NO_SOUNDS = (
    "No item of this project is a sound or a part of a recording: metadata begin_s and end_s (in seconds) would say "
    "where in its recording an item is."
)


class SelectionFormat(StrEnum):
    """Whose tables they are."""

    RAVEN = "raven"
    AUDACITY = "audacity"


@dataclass(frozen=True)
class Selected:
    """A part of a recording, in seconds and hertz, and the cluster it is in."""

    item: str
    recording: str
    begin: float
    end: float
    low: float | None
    high: float | None
    is_segment: bool
    cluster: int
    name: str
    confidence: float


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
    cluster = names.get(item.cluster, "")
    return Selected(
        item.key, recording, begin, end, low, high, is_segment, item.cluster, cluster, round(item.confidence, 4)
    )


def _number(value: Any) -> float | None:
    """Return a number of the metadata, which a table may have brought as a text; None where there is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < float("inf") else None


def _seconds(storage: Storage, item: ClusteredItem) -> float | None:
    """Return the length of a sound from the header of its file; None of what is no sound."""
    if not (item.media and (item.media_type or "").startswith("audio/")):
        return None
    try:
        with storage.open(item.media) as file:
            return float(soundfile.info(file).duration)
    except (OSError, soundfile.SoundFileError):
        return None


def _zip(parts: list[Selected], form: SelectionFormat) -> Iterator[bytes]:
    """Write whole files into one Raven table, as Raven opens them one behind the other, all else by recording."""
    archive, files = ZipStream(), FileNames()
    if form == SelectionFormat.RAVEN:
        whole_files = [part for part in parts if not part.is_segment]
        parts = [part for part in parts if part.is_segment]
        if whole_files:
            name = files.make("whole files", ".selections.txt")
            yield from archive.add(name, [_raven(whole_files, in_sequence=True)], packed=True)
    in_order = sorted(parts, key=lambda part: (part.recording, part.begin, part.end))
    for recording, group in groupby(in_order, key=lambda part: part.recording):
        if form == SelectionFormat.RAVEN:
            name = files.make(f"{recording}.Table.1", ".selections.txt")
            yield from archive.add(name, [_raven(list(group))], packed=True)
        else:
            yield from archive.add(files.make(recording, ".txt"), [_audacity(group)], packed=True)
    yield from archive.close()


def _raven(parts: list[Selected], *, in_sequence: bool = False) -> bytes:
    """Return a selection table; frequencies are columns of it where all selections have them."""
    with_frequencies = all(part.low is not None and part.high is not None for part in parts)
    bounds = ["Low Freq (Hz)", "High Freq (Hz)"] if with_frequencies else []
    written = io.StringIO()
    table = csv.writer(written, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, escapechar=None)
    about = ["Begin File", "File Offset (s)", "Item", "Cluster", "Cluster name", "Confidence"]
    table.writerow(["Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", *bounds, *about])
    start = 0.0
    for number, part in enumerate(parts, start=1):
        times = [f"{start + part.begin:.6f}", f"{start + part.end:.6f}"]
        frequencies = [f"{part.low:.3f}", f"{part.high:.3f}"] if with_frequencies else []
        texts = [_plain(part.recording), f"{part.begin:.6f}", _plain(part.item), part.cluster, _plain(part.name)]
        table.writerow([number, "Spectrogram 1", 1, *times, *frequencies, *texts, part.confidence])
        start += part.end if in_sequence else 0.0
    return written.getvalue().encode()


def _audacity(parts: Iterable[Selected]) -> bytes:
    """Return a label track: begin, end and the cluster; a second line has the frequencies."""
    lines = []
    for part in parts:
        label = f"{part.cluster} {_plain(part.name)}".strip()
        lines.append(f"{part.begin:.6f}\t{part.end:.6f}\t{label}\n")
        if part.low is not None and part.high is not None:
            lines.append(f"\\\t{part.low:.6f}\t{part.high:.6f}\n")
    return "".join(lines).encode()


def _plain(text: str) -> str:
    """Return a text in one line without tabs or quotes: these tables have no way to write them."""
    return " ".join(text.replace('"', "'").split())
