"""`tercet segment`: proposes segments of long recordings, as Raven selection tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tercet.sounds.segments import SegmentSettings

TABLE_ENDING = ".Table.1.selections.txt"  # as Raven names them


def segment(
    folder: Annotated[
        Path, typer.Argument(help="Recording, or folder of recordings, with its subfolders.", exists=True)
    ],
    low: Annotated[float, typer.Option(help="Lowest frequency that is looked at, in Hz.")] = 300.0,
    high: Annotated[float, typer.Option(help="Highest frequency that is looked at, in Hz.")] = 11_000.0,
    threshold: Annotated[float, typer.Option(help="How far above its noise a band must be, in dB.")] = 10.0,
    gap: Annotated[float, typer.Option(help="Sounds closer than this are one segment, in seconds.")] = 0.1,
    shortest: Annotated[float, typer.Option(help="Shorter sounds are left out, in seconds.")] = 0.03,
    pad: Annotated[float, typer.Option(help="What is added before and after each, in seconds.")] = 0.05,
    force: Annotated[bool, typer.Option("--force", help="Write over tables that are there already.")] = False,
) -> None:
    """Propose segments of long recordings: a Raven selection table beside each."""
    from tercet.sounds.segments import SegmentSettings

    try:
        settings = SegmentSettings(low, high, threshold, gap, shortest, pad)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    recordings = _recordings(folder)
    if not recordings:
        _end(f"There is no recording in {folder}: WAV, FLAC, OGG, Opus, MP3, AIFF, W64, CAF and AU files count.")
    if len({_table_of(recording) for recording in recordings}) < len(recordings):
        _end("Two recordings in one folder differ in their endings alone: their tables would have one name. Move one.")
    there = [table for recording in recordings if (table := _table_of(recording)).exists()]
    if there and not force:
        _end(f"{there[0]} is there already, nothing was written: --force writes over it.", len(there) - 1)
    _write_tables(recordings, settings)


def _recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder, hidden files and links apart."""
    from tercet.sounds.decoding import is_sound

    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    files = [path for path in paths if path.is_file() and not path.is_symlink() and not path.name.startswith(".")]
    recordings = []
    for path in files:
        with path.open("rb") as file:
            if is_sound(file.read(16)):
                recordings.append(path)
    return recordings


def _table_of(recording: Path) -> Path:
    return recording.with_name(recording.stem + TABLE_ENDING)


def _write_tables(recordings: list[Path], settings: "SegmentSettings") -> None:
    """Write a table beside each recording that can be read, and report the others."""
    from dataclasses import replace

    from tercet.sounds.segments import segment_recording
    from tercet.sounds.selections import write_raven

    n_bad = 0
    for recording in recordings:
        try:
            selections = segment_recording(recording, settings)
        except ValueError as error:
            typer.echo(f"{recording}: {error}", err=True)
            n_bad += 1
            continue
        table = _table_of(recording)
        table.write_text(write_raven([replace(s, recording=recording.name) for s in selections]), encoding="utf-8")
        typer.echo(f"{table}: {len(selections)} segments")
    if n_bad:
        _end(f"{n_bad} of {len(recordings)} recordings could not be read.")


def _end(sentence: str, n_more: int = 0) -> None:
    """Say what was wrong, and end with exit code 1."""
    typer.echo(sentence + (f" So are {n_more} more." if n_more else ""), err=True)
    raise typer.Exit(1)
