"""What `segment` would make of a recording that has come, while somebody still moves the sliders: nothing is stored."""

import io
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

from sqlalchemy.orm import Session

from tercet.intake import queries
from tercet.intake.received import on_this_machine
from tercet.intake.schemas import ProposedSegment, ProposedSegments
from tercet.intake.wording import counted, duration
from tercet.models import Import, ImportFile
from tercet.sounds.decoding import cut_clip, describe_sound, read_sound
from tercet.sounds.picture_settings import PictureSettings, window_for
from tercet.sounds.segments import SegmentSettings, segment_recording
from tercet.sounds.selection import Selection
from tercet.sounds.spectrograms import picture_and_thumbnail
from tercet.storage import Storage
from tercet.web.errors import Conflict, Invalid, NotFound
from tercet.web.texts import with_subject

# So much of a recording is cut for a preview, however long it is: half a second's work.
LISTENED_SECONDS = 600.0
# What the picture shows at once, and how much of it is as wide as one picture of an item.
WINDOW_SECONDS = 30.0
WINDOW_PICTURES = 3
SOUND = ("sound", "sounds")

Result = TypeVar("Result")


def recording_of(session: Session, row: Import, path: str) -> ImportFile:
    """Return a file of an import that has come whole; raise a problem if it has not."""
    file = queries.file_of(session, row, path)
    if file is None:
        raise NotFound(f"There is no file '{path}' in import {row.number}.")
    if file.received < file.size:
        raise Conflict(f"'{path}' has not come whole: send the rest first.")
    return file


def propose(storage: Storage, file: ImportFile, settings: SegmentSettings) -> ProposedSegments:
    """Return the segments of a recording's beginning."""

    def cut(path: Path) -> ProposedSegments:
        info = describe_sound(path)
        listened = min(info.seconds, LISTENED_SECONDS)
        selections = segment_recording(path, settings, listened)
        words = _words(selections, info.seconds, listened)
        segments = [_segment(selection, info.rate) for selection in selections]
        return ProposedSegments(
            path=file.path, rate=info.rate, seconds=info.seconds, listened_s=listened, segments=segments, words=words
        )

    return _with_recording(storage, file, cut)


def picture(storage: Storage, file: ImportFile, begin: float) -> bytes:
    """Return the spectrogram of some seconds of a recording as PNG, up to the highest frequency that it holds."""

    def draw(path: Path) -> bytes:
        info = describe_sound(path)
        seconds = min(WINDOW_SECONDS, info.seconds)
        start = min(max(begin, 0.0), info.seconds - seconds)
        clip = read_sound(io.BytesIO(cut_clip(path, start, start + seconds)))
        top = info.rate / 2
        settings = PictureSettings(0.0, top, window_for(top), seconds=max(seconds / WINDOW_PICTURES, 0.05))
        return picture_and_thumbnail(clip.samples, clip.rate, settings)[0]

    return _with_recording(storage, file, draw)


def _with_recording(storage: Storage, file: ImportFile, read: Callable[[Path], Result]) -> Result:
    with on_this_machine(storage, [file]) as (source,):
        try:
            return read(source.local)
        except ValueError as error:
            raise Invalid(with_subject(f"'{file.path}'", error) + ".") from error


def _segment(selection: Selection, rate: int) -> ProposedSegment:
    low, high = selection.low_hz or 0.0, selection.high_hz or rate / 2
    return ProposedSegment(begin_s=selection.begin_s, end_s=selection.end_s, low_hz=low, high_hz=high)


def _words(selections: list[Selection], seconds: float, listened: float) -> str:
    place = duration(listened) if listened == seconds else f"the first {duration(listened)} of {duration(seconds)}"
    if not selections:
        return f"No sound in {place} is louder than the noise by so much."
    length = median(selection.end_s - selection.begin_s for selection in selections)
    usual = f"{duration(length)} long{' at the median' if len(selections) > 1 else ''}"
    return f"{counted(len(selections), SOUND)} in {place}, {usual}."
