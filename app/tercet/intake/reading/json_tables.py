"""Reads tables of JSON: a list of objects, {"items": [...]}, or NDJSON with one object a line.

Elements are decoded one at a time, so that deeply nested brackets cannot take more memory than a row.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tercet.intake.faults import Faults, fail
from tercet.intake.reading import encodings
from tercet.intake.reading.tables import MOST_COLUMNS, Budget, Table, check_bytes, check_columns

BLANKS = re.compile(r"[\s]*")
ITEMS = re.compile(r'\s*\{\s*"items"\s*:\s*\[')
ARRAY = re.compile(r"\s*\[")
MOST_BYTES_OF_LIST = 16_000_000  # the text of a list is held in memory; that of NDJSON is not
MOST_ELEMENT = 1_000_000  # characters of one object
BEGINNING = 1_000
DETAILS = "metadata"  # an object under this name holds further columns, as in the REST interface
UNREADABLE = (ValueError, RecursionError)


def read_json(path: Path, name: str) -> tuple[Table, Faults]:
    """Read a table of JSON or NDJSON; a line of NDJSON that is not an object is a fault."""
    check_bytes(path, name)
    codec, encoding = encodings.encoding_of(path, name)
    faults = Faults()
    lines = encodings.lines_of(path, codec, name)
    with path.open(encoding=codec, errors="replace") as stream:
        beginning = stream.read(BEGINNING)
    if match := ITEMS.match(beginning) or ARRAY.match(beginning):
        if path.stat().st_size > MOST_BYTES_OF_LIST:
            detail = f"is a list of more than {MOST_BYTES_OF_LIST:,} bytes: send it in parts, or as NDJSON"
            raise fail("file", detail, file=name)
        words, elements = "JSON", _elements("".join(lines), match.end(), name)
    else:
        words, elements = "NDJSON", _lines(lines, name, faults)
    return _table(elements, f"{words}, {encoding}", name), faults


class Window:
    """Decodes elements from a part of a text, so that no element is longer than that part."""

    def __init__(self, text: str) -> None:
        """Start with the first part."""
        self.text = text
        self.decoder = json.JSONDecoder(parse_constant=_refuse)
        self._move(0)

    def decode(self, place: int, number: int, name: str) -> tuple[Any, int]:
        """Return the element at a place of the text, and the place after it."""
        if place + MOST_ELEMENT > self.begin + len(self.stretch):
            self._move(place)
        try:
            element, end = self.decoder.raw_decode(self.stretch, place - self.begin)
        except UNREADABLE as error:
            long = len(self.text) - place > MOST_ELEMENT
            hint = f", or longer than {MOST_ELEMENT:,} characters" if long else ""
            raise fail("json", _reason(error) + hint, row=number, file=name) from error
        return element, self.begin + end

    def _move(self, place: int) -> None:
        self.begin = place
        self.stretch = self.text[place : place + 2 * MOST_ELEMENT]


def _elements(text: str, place: int, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list that begins at a place of the text."""
    window = Window(text)
    number = 0
    place = _skip(text, place)
    while place < len(text) and text[place] != "]":
        number += 1
        element, place = window.decode(place, number, name)
        if not isinstance(element, dict):
            raise fail("item", "is not an object: expected a list of objects, one an item", row=number, file=name)
        yield element
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] not in ("]", ""):
            raise fail("json", f"is not JSON at character {place + 1}: a comma or ']' is expected", file=name)
    if place >= len(text):
        raise fail("json", "ends before the end of its list of items: it was cut off", file=name)


def _lines(lines: Iterable[str], name: str, faults: Faults) -> Iterator[dict[str, Any]]:
    number = 0
    for line in lines:
        if not line.strip():
            continue
        number += 1
        element = _line(line, number, name, faults)
        yield element if isinstance(element, dict) else {}


def _line(line: str, number: int, name: str, faults: Faults) -> Any:
    """Return the object of a line of NDJSON; None, with a fault added, if it is not an object."""
    try:
        if len(line) > MOST_ELEMENT:
            raise ValueError(f"longer than {MOST_ELEMENT:,} characters")
        element = json.loads(line, parse_constant=_refuse)
    except UNREADABLE as error:
        faults.add("json", _reason(error), row=number, file=name)
        return None
    if not isinstance(element, dict):
        faults.add("json", "is not an object: expected one object a line, each an item", row=number, file=name)
    return element


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")


def _reason(error: Exception) -> str:
    return "is nested too deeply" if isinstance(error, RecursionError) else f"is not JSON: {error}"


def _skip(text: str, place: int) -> int:
    match = BLANKS.match(text, place)
    return match.end() if match else place


def _table(elements: Iterator[dict[str, Any]], words: str, name: str) -> Table:
    """Return objects as rows; the columns are all names in them, in the order of their first use."""
    places: dict[str, int] = {}
    rows: list[list[Any]] = []
    budget = Budget(name)
    for element in elements:
        cells = _cells(element)
        budget.spend(len(cells))
        for column in cells:
            places.setdefault(column, len(places))
        row: list[Any] = [""] * (1 + max((places[column] for column in cells), default=-1))
        budget.spend(len(row) - len(cells))
        for column, cell in cells.items():
            row[places[column]] = cell
        rows.append(row)
        if len(places) > MOST_COLUMNS:
            break
    check_columns(list(places), name)
    for row in rows:
        budget.spend(len(places) - len(row))
        row.extend([""] * (len(places) - len(row)))
    return Table(list(places), rows, words)


def _cells(element: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an object by column; nested values become text, so that every cell is one value."""
    cells: dict[str, Any] = {}
    for column, value in element.items():
        if column == DETAILS and isinstance(value, dict):
            cells |= {name: _cell(nested) for name, nested in value.items()}
        else:
            cells[column] = _cell(value)
    return cells


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ";".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
