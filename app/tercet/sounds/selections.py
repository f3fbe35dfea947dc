"""Reads selections from the formats of several programs, and writes those of Raven and Audacity.

The format is recognised by the content of a file, never by its name: Raven, BirdNET-Analyzer and Kaleidoscope write
tables with a header, Audacity lines of numbers without one, Praat its TextGrid in two forms.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tercet.sounds import audacity, selection_tables, textgrid
from tercet.sounds.selection import Selection


class Reader(Protocol):
    """A module that reads one format."""

    def format_of(self, text: str) -> str | None:
        """Return the name of the format if a text begins as one of it does."""

    def read(self, text: str) -> list[Selection]:
        """Return the selections of a text."""


MOST_BYTES = 64_000_000
FIRST_BYTES = 64_000  # enough of a file to see what it is
READERS: tuple[Reader, ...] = (textgrid, audacity, selection_tables)
BINARY_TEXTGRID = b"ooBinaryFile\x08TextGrid"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def selection_format(first_bytes: bytes) -> str | None:
    """Return the format of selections that the beginning of a file shows; None if it is none."""
    if first_bytes.startswith(BINARY_TEXTGRID):
        return "binary Praat TextGrid"
    try:
        text = decode_text(first_bytes, whole=False)
    except ValueError:
        return None
    return next((name for reader in READERS if (name := reader.format_of(text))), None)


def is_selections(first_bytes: bytes) -> bool:
    """Return whether the first bytes (`FIRST_BYTES`) are those of a file of selections."""
    return selection_format(first_bytes) is not None


def read_selections(path: Path, name: str) -> list[Selection]:
    """Return the selections of a file; `name` is what sentences call it.

    Raise ValueError if it holds none, and SelectionsError, which is one, with every fault there is.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{name} is larger than {MOST_BYTES:,} bytes: no selections are that many")
    content = path.read_bytes()
    if content.startswith(BINARY_TEXTGRID):
        raise ValueError(f"{name} is a binary TextGrid: save it from Praat as a text file")
    text = decode_text(content, whole=True)
    for reader in READERS:
        if reader.format_of(text[:FIRST_BYTES]):
            return reader.read(text)
    raise ValueError(
        f"{name} holds no selections: a table with a column for the begin and one for the end, Audacity labels or a "
        "TextGrid do"
    )


def decode_text(content: bytes, whole: bool) -> str:
    """Return the text of a file in any encoding, with newlines as line ends."""
    if content.startswith(UTF_16_MARKS):
        text = content[: len(content) // 2 * 2].decode("utf-16", errors="replace")
    elif b"\0" in content:
        raise ValueError("is no text")
    else:
        try:
            text = content.decode("utf-8-sig", errors="strict" if whole else "ignore")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_raven(
    selections: Sequence[Selection], columns: Mapping[str, Sequence[str]] | None = None, *, in_sequence: bool = False
) -> str:
    """Return a selection table of Raven; `columns` adds columns of one's own, by their names.

    Raven needs both frequencies: one that is missing becomes 0 Hz or the highest one there is, and where none has
    any, the two columns are left out. `in_sequence` is for whole files that Raven opens one behind the other: the
    begin counts through all of them.
    """
    highest = max((s.high_hz for s in selections if s.high_hz is not None), default=None)
    header = ["Selection", "View", "Channel", "Begin Time (s)", "End Time (s)"]
    if highest is not None:
        header += ["Low Freq (Hz)", "High Freq (Hz)"]
    named = any(s.recording for s in selections)
    header += [*(["Begin File", "File Offset (s)"] if named else []), *(columns or {}), "Annotation"]
    lines = ["\t".join(header)]
    start = 0.0
    for number, s in enumerate(selections):
        fields = [str(number + 1), "Spectrogram 1", "1", f"{start + s.begin_s:.6f}", f"{start + s.end_s:.6f}"]
        if highest is not None:
            fields += [f"{s.low_hz or 0.0:.3f}", f"{highest if s.high_hz is None else s.high_hz:.3f}"]
        if named:
            fields += [s.recording or "", f"{s.begin_s:.6f}"]
        fields += [values[number] for values in (columns or {}).values()]
        lines.append("\t".join(_one_field(field) for field in [*fields, s.label or ""]))
        start += s.end_s if in_sequence else 0.0
    return "\n".join(lines) + "\n"


def write_audacity(selections: Sequence[Selection]) -> str:
    """Return a label track of Audacity, with a second line for the frequencies of those that have any."""
    lines = []
    for s in selections:
        lines.append(f"{s.begin_s:.6f}\t{s.end_s:.6f}\t{_one_field(s.label or '')}")
        if s.low_hz is not None or s.high_hz is not None:
            low, high = (-1.0 if hz is None else hz for hz in (s.low_hz, s.high_hz))
            lines.append(f"\\\t{low:.6f}\t{high:.6f}")
    return "\n".join(lines) + "\n" if lines else ""


def _one_field(text: str) -> str:
    """Return a text in one line without tabs or quotes: these tables have no way to write them."""
    return " ".join(text.replace('"', "'").split())
