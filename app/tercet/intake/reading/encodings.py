"""Text files of any encoding: which one it is, and their lines."""

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tercet.intake.faults import fail

# The marks that programs write at the beginning; UTF-32's first, because UTF-16's is its beginning.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
LAST_RESORT = ("cp1252", "latin-1")
LONGEST_LINE = 16 * 2**20  # characters
BLOCK = 2**20
BEGINNING = 65_536
MOST_CONTROLS = 0.01


class NoText(ValueError):
    """The file is none of the encodings of text."""


def encoding_of(path: Path, name: str) -> tuple[str, str]:
    """Return Python's name of a text file's encoding and the name that people know; raise Invalid if it is no text.

    Whatever is no UTF-8 and has no mark is read as Windows-1252, the last resort: it may be wrong, and never fails.
    """
    with path.open("rb") as stream:
        beginning = stream.read(BEGINNING)
        for mark, codec, known_as in MARKS:
            if beginning.startswith(mark):
                return codec, known_as
        try:
            if b"\0" in beginning:
                return _utf16_without_mark(beginning)
            _check_controls(beginning)
        except NoText as error:
            raise fail("encoding", f"is no text, whatever its name says: {error}", file=name) from error
        stream.seek(0)
        codec = _fitting(stream)
    return codec, NAMES[codec]


def is_last_resort(codec: str) -> bool:
    """Return whether the encoding was only guessed, because every file would be proper in it."""
    return codec in LAST_RESORT


def lines_of(path: Path, codec: str, name: str) -> Iterator[str]:
    """Yield the lines of a text file with their ends, whichever these are; raise Invalid where it is damaged."""
    with path.open(encoding=codec, newline="") as stream:
        number = 1
        while True:
            try:
                line = stream.readline(LONGEST_LINE + 1)
            except UnicodeError as error:
                raise fail("encoding", f"line {number} is not proper {codec}: {error}", file=name) from error
            if len(line) > LONGEST_LINE:
                raise fail("line", f"line {number} is longer than {LONGEST_LINE:,} characters", file=name)
            if not line:
                return
            yield line
            number += 1


def _utf16_without_mark(beginning: bytes) -> tuple[str, str]:
    """Tell the two orders of bytes apart by the side on which the zeros of plain letters lie."""
    first, second = beginning[0::2].count(0), beginning[1::2].count(0)
    letters = len(beginning) / 2
    if second > 0.5 * letters and first < 0.05 * letters:
        return "utf-16-le", "UTF-16"
    if first > 0.5 * letters and second < 0.05 * letters:
        return "utf-16-be", "UTF-16"
    raise NoText("it holds bytes of zero, which no text has")


def _check_controls(beginning: bytes) -> None:
    controls = sum(beginning.count(byte) for byte in range(32) if byte not in b"\t\n\r\f\x1a\x1b")
    if controls > MOST_CONTROLS * len(beginning) + 2:
        raise NoText("it holds bytes that no text has")


def _fitting(stream: BinaryIO) -> str:
    """Return the first of UTF-8, Windows-1252 and Latin-1 in which the bytes to the end are proper."""
    decoders = {codec: codecs.getincrementaldecoder(codec)() for codec in ("utf-8", "cp1252")}
    while decoders:
        block = stream.read(BLOCK)
        for codec in list(decoders):
            try:
                decoders[codec].decode(block, final=not block)
            except UnicodeDecodeError:
                del decoders[codec]
        if not block:
            break
    return next(iter(decoders), "latin-1")
