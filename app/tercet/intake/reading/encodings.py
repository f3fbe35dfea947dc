"""Finds the encoding of text files, and reads their lines."""

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tercet.intake.faults import fail
from tercet.intake.tables import LONGEST_LINE

# Byte order marks; UTF-32's come first, since those of UTF-16 are their beginning.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
LAST_RESORT = ("cp1252", "latin-1")
BLOCK = 2**20
BEGINNING = 65_536
MOST_CONTROLS = 0.01


class NoText(ValueError):
    """The bytes are in no encoding of text."""


def encoding_of(path: Path, name: str) -> tuple[str, str]:
    """Return Python's name of a text file's encoding and its usual name; raise Invalid if the file is not a text.

    A file that is not UTF-8 and has no byte order mark is read as Windows-1252 or Latin-1, which may be wrong.
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
            raise fail("encoding", f"is not a text, although its name says so: {error}", file=name) from error
        stream.seek(0)
        codec = _fitting(stream)
    return codec, NAMES[codec]


def is_last_resort(codec: str) -> bool:
    """Return whether the encoding is a guess: every file is valid in it."""
    return codec in LAST_RESORT


def lines_of(path: Path, codec: str, name: str) -> Iterator[str]:
    """Yield the lines of a text file with their line ends; raise Invalid where it is damaged."""
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
    """Return which of the two byte orders it is, by the side of the zeros in the bytes of plain letters."""
    first, second = beginning[0::2].count(0), beginning[1::2].count(0)
    letters = len(beginning) / 2
    if second > 0.5 * letters and first < 0.05 * letters:
        return "utf-16-le", "UTF-16"
    if first > 0.5 * letters and second < 0.05 * letters:
        return "utf-16-be", "UTF-16"
    raise NoText("it has zero bytes")


def _check_controls(beginning: bytes) -> None:
    controls = sum(beginning.count(byte) for byte in range(32) if byte not in b"\t\n\r\f\x1a\x1b")
    if controls > MOST_CONTROLS * len(beginning) + 2:
        raise NoText("it has bytes that are not characters")


def _fitting(stream: BinaryIO) -> str:
    """Return the first of UTF-8, Windows-1252 and Latin-1 in which all bytes are valid."""
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
