"""Reads uploads of constraints: NDJSON, CSV or one JSON list row by row in constant memory; an .npz as a whole.

A row that cannot be parsed yields a `Fault`, so that all faults of a file are reported at once; what makes the rest of
a file unreadable (an encoding, a list without end) is raised.
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from tercet.errors import WrongType
from tercet.exchange import foreign
from tercet.exchange.rows import Fault, Numbered, Raw
from tercet.intake.faults import fail
from tercet.intake.tables import csv_records, read_header, utf8_lines
from tercet.web.csv_cells import unguard

LONGEST_ROW = 64 * 1024
LONGEST_NUMBER = 20
CHUNK = 64 * 1024
BLANK = " \t\r\n"
EXPORTED_ONLY = ("number", "created_at", "withdrawn_at", "set_aside_at", "comment")
COLUMNS = ("anchor", "left", "right", "answer", "labeler", "response_ms", "id", *EXPORTED_ONLY)


def read_rows(path: Path, content_type: str, keys: Sequence[str]) -> Iterator[Numbered]:
    """Return every row with its number: the line in NDJSON, else counted from 1 without the header.

    `keys` are those of the project's items by position, by which other programs name them.
    """
    reader = READERS.get(content_type)
    if reader is None:
        types = ", ".join(sorted(READERS))
        raise WrongType(f"Constraints come as one of {types}; not as '{content_type}'.")
    with path.open("rb") as stream:
        yield from reader(stream, keys)


def _ndjson(stream: BinaryIO, _keys: Sequence[str]) -> Iterator[Numbered]:
    number = 0
    while line := stream.readline(LONGEST_ROW + 1):
        number += 1
        if len(line) > LONGEST_ROW:
            raise fail("row", f"is longer than {LONGEST_ROW} bytes: one JSON object a line is expected", row=number)
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> Raw:
    try:
        return _checked(json.loads(line))
    except UnicodeDecodeError as error:
        return Fault("encoding", f"byte {error.start + 1} is not UTF-8")
    except (ValueError, RecursionError) as error:
        return Fault("row", f"is not JSON: {error}")


def _checked(value: Any) -> Raw:
    return value if isinstance(value, dict) else Fault("row", "must be a JSON object")


def _json_list(stream: BinaryIO, _keys: Sequence[str]) -> Iterator[Numbered]:
    """Parse one element at a time, from a buffer that holds little more than one."""
    with io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
        buffer = _Buffer(lambda: _read_text(text))
        buffer.expect("[", "a JSON list")
        number = 0
        if not buffer.take("]"):
            while True:
                number += 1
                yield number, _checked(buffer.element(number))
                if buffer.take("]"):
                    break
                buffer.expect(",", f"',' or ']' behind element {number}")
        if buffer.next_character():
            raise fail("body", "there is more behind the end of the JSON list")


def _read_text(text: io.TextIOWrapper) -> str:
    try:
        return text.read(CHUNK)
    except UnicodeDecodeError as error:
        raise fail("encoding", f"the body is not UTF-8: {error.reason}") from error


class _Buffer:
    """The unparsed part of a JSON text."""

    def __init__(self, read: Callable[[], str]) -> None:
        self.read = read
        self.text = ""
        self.decoder = json.JSONDecoder()

    def next_character(self) -> str:
        """Look at the next character that is not blank; empty at the end."""
        self.text = self.text.lstrip(BLANK)
        while not self.text and (more := self.read()):
            self.text = more.lstrip(BLANK)
        return self.text[:1]

    def take(self, character: str) -> bool:
        """Step over a character, if it comes next."""
        there = self.next_character() == character
        if there:
            self.text = self.text[1:]
        return there

    def expect(self, character: str, what: str) -> None:
        """Step over a character that must come next."""
        if not self.take(character):
            raise fail("body", f"expected {what}, found '{self.text[:20]}'")

    def element(self, number: int) -> Any:
        """Parse one value."""
        self.next_character()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text)
            except (ValueError, RecursionError) as error:
                more = self.read() if len(self.text) < LONGEST_ROW + CHUNK else ""
                if not more:
                    raise fail(
                        "row", f"is not JSON, or longer than {LONGEST_ROW} bytes: {error}", row=number
                    ) from error
                self.text += more
                continue
            self.text = self.text[end:]
            return value


def _csv(stream: BinaryIO, keys: Sequence[str]) -> Iterator[Numbered]:
    records = csv_records(utf8_lines(stream, "constraints"), "constraints")
    first = next(records, (0, []))
    records = chain([first], records)
    if foreign.is_salmon(first[1]):
        yield from foreign.salmon_rows(read_header(records, "constraints", []), records, keys)
        return
    header = read_header(records, "constraints", ["anchor", "left", "right", "answer"])
    if unknown := [column for column in header if column not in COLUMNS]:
        raise fail(unknown[0], f"there is no column '{unknown[0]}'; there are: {', '.join(COLUMNS)}")
    for number, cells in records:
        if len(cells) == len(header):
            yield number, _from_cells(dict(zip(header, cells, strict=True)))
        else:
            yield number, Fault("row", f"{len(cells)} cells where the header names {len(header)} columns")


def _from_cells(cells: dict[str, str]) -> Raw:
    row: dict[str, Any] = {name: unguard(cell) for name, cell in cells.items() if cell != ""}
    row["triplet"] = [row.pop(name, "") for name in ("anchor", "left", "right")]
    milliseconds = row.get("response_ms", "")
    if milliseconds.isascii() and milliseconds.isdigit() and len(milliseconds) < LONGEST_NUMBER:
        row["response_ms"] = int(milliseconds)
    return row


READERS: dict[str, Callable[[BinaryIO, Sequence[str]], Iterator[Numbered]]] = {
    "application/x-ndjson": _ndjson,
    "application/jsonl": _ndjson,
    "text/csv": _csv,
    "application/json": _json_list,
    "application/x-npz": foreign.npz_rows,
}
