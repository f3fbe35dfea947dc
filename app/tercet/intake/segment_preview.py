"""Proposes segments of an uploaded recording for the sliders of the import page; nothing is stored."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

from sqlalchemy.orm import Session

from tercet.errors import Conflict, Invalid, NotFound
from tercet.intake import queries
from tercet.intake.reading.archives import is_zip, unpack_one
from tercet.intake.received import on_this_machine, opened
from tercet.intake.schemas import ProposedSegment, ProposedSegments
from tercet.intake.wording import counted, duration
from tercet.models import Import, ImportFile
from tercet.sounds.decoding import cut_clip, describe_sound, read_sound
from tercet.sounds.picture_settings import PictureSettings, window_for
from tercet.sounds.segments import SegmentSettings, segment_recording
from tercet.sounds.selection import Selection
from tercet.sounds.spectrograms import picture_and_thumbnail
from tercet.storage import Storage
from tercet.web.texts import with_subject

# Seconds of a recording that are segmented for the preview, which takes about half a second.
LISTENED_SECONDS = 600.0
# Seconds that the picture shows, and how many times as wide as the picture of one item it is.
WINDOW_SECONDS = 30.0
WINDOW_PICTURES = 3
FIRST_BYTES = 4  # that show whether a file is an archive
SOUND = ("sound", "sounds")

Result = TypeVar("Result")


@dataclass(frozen=True)
class ImportedRecording:
    """A recording: its path in the import, and its file, or the files that may be the ZIP archive with it."""

    path: str
    file: ImportFile | None
    archives: list[ImportFile]


def recording_of(session: Session, row: Import, path: str) -> ImportedRecording:
    """Return a recording by its path in an import; raise a problem if it is missing or incomplete."""
    file = queries.file_of(session, row, path)
    archives = [] if file else queries.possible_archives_of(session, row, PurePosixPath(path))
    for part in (file, *archives):
        if part is not None and part.received < part.size:
            raise Conflict(f"'{part.path}' is incomplete: send the rest first.")
    if file is None and not archives:
        raise _missing(path)
    return ImportedRecording(path, file, archives)


def propose(storage: Storage, recording: ImportedRecording, settings: SegmentSettings) -> ProposedSegments:
    """Return the proposed segments of a recording's first ten minutes."""

    def cut(path: Path) -> ProposedSegments:
        info = describe_sound(path)
        listened = min(info.seconds, LISTENED_SECONDS)
        selections = segment_recording(path, settings, listened)
        return ProposedSegments(
            path=recording.path,
            rate=info.rate,
            seconds=info.seconds,
            listened_s=listened,
            segments=[_segment(selection, info.rate) for selection in selections],
            words=_words(selections, info.seconds, listened),
        )

    return _with_recording(storage, recording, cut)


def picture(storage: Storage, recording: ImportedRecording, begin: float) -> bytes:
    """Return the spectrogram of some seconds of a recording as PNG, up to the highest frequency that it holds."""

    def draw(path: Path) -> bytes:
        info = describe_sound(path)
        seconds = min(WINDOW_SECONDS, info.seconds)
        start = min(max(begin, 0.0), info.seconds - seconds)
        clip = read_sound(io.BytesIO(cut_clip(path, start, start + seconds)))
        top = info.rate / 2
        settings = PictureSettings(0.0, top, window_for(top), seconds=max(seconds / WINDOW_PICTURES, 0.05))
        return picture_and_thumbnail(clip.samples, clip.rate, settings, with_marks=True)[0]

    return _with_recording(storage, recording, draw)


def _with_recording(storage: Storage, recording: ImportedRecording, read: Callable[[Path], Result]) -> Result:
    with _on_this_machine(storage, recording) as path:
        try:
            return read(path)
        except ValueError as error:
            raise Invalid(with_subject(f"'{recording.path}'", error) + ".") from error


@contextmanager
def _on_this_machine(storage: Storage, recording: ImportedRecording) -> Iterator[Path]:
    """Yield the path of a recording on this machine's disk; of an archive only the recording is unpacked."""
    if recording.file is not None:
        with on_this_machine(storage, [recording.file]) as (source,):
            yield source.local
        return
    with TemporaryDirectory(prefix="tercet-recording-") as folder:
        target = Path(folder) / "recording"
        if not any(_unpacked(storage, archive, recording.path, target) for archive in recording.archives):
            raise _missing(recording.path)
        yield target


def _unpacked(storage: Storage, archive: ImportFile, path: str, target: Path) -> bool:
    with opened(storage, archive) as packed:
        if not is_zip(packed.read(FIRST_BYTES)):
            return False
        return unpack_one(packed, PurePosixPath(archive.path), PurePosixPath(path), target)


def _missing(path: str) -> NotFound:
    return NotFound(f"There is no file '{path}' in this import.")


def _segment(selection: Selection, rate: int) -> ProposedSegment:
    low, high = selection.low_hz or 0.0, selection.high_hz or rate / 2
    return ProposedSegment(begin_s=selection.begin_s, end_s=selection.end_s, low_hz=low, high_hz=high)


def _words(selections: list[Selection], seconds: float, listened: float) -> str:
    place = duration(listened) if listened == seconds else f"the first {duration(listened)} of {duration(seconds)}"
    if not selections:
        return f"No sound in {place} is that much louder than the noise."
    length = median(selection.end_s - selection.begin_s for selection in selections)
    usual = f"{duration(length)} long{' at the median' if len(selections) > 1 else ''}"
    return f"{counted(len(selections), SOUND)} in {place}, {usual}."
