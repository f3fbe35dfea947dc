"""Rows of items and their faults, and the lines and cells of CSV files.

In messages rows are counted from 1, without the header.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from tercet.intake.faults import Faults, fail
from tercet.web.texts import fault_of_name, fault_of_text

LONGEST_LINE = 16 * 2**20  # bytes, or characters once it is text


@dataclass(frozen=True)
class ItemRow:
    """One item to add, as described by a table or a request; `media` is the name of a file sent with it."""

    key: str
    text: str = ""
    bag: str | None = None
    bag_labels: tuple[str, ...] = ()
    media: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def utf8_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines of a text file; raise Invalid with the place of a byte that is not UTF-8."""
    lines = iter(lambda: stream.readline(LONGEST_LINE + 1), b"")
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise fail("line", f"line {number} is longer than {LONGEST_LINE} bytes", file=name)
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            detail = f"line {number}, byte {error.start + 1} (0x{byte:02X}) is not UTF-8: save the file as UTF-8"
            raise fail("encoding", detail, file=name) from error
        yield text


def csv_records(lines: Iterable[str], name: str, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file with their numbers; 0 is the header, and empty lines are skipped."""
    reader = csv.reader(lines, strict=True, delimiter=separator)
    number = -1
    try:
        for cells in reader:
            if cells:
                number += 1
                yield number, cells
    except csv.Error as error:
        raise fail("csv", f"line {reader.line_num} is not proper CSV: {error}", file=name) from error


def read_header(records: Iterator[tuple[int, list[str]]], name: str, required: Sequence[str]) -> list[str]:
    """Return the names of the columns; raise Invalid if one is repeated or a required one is missing."""
    _, cells = next(records, (0, []))
    header = [cell.strip() for cell in cells]
    missing = [column for column in required if column not in header]
    if missing:
        names = ", ".join(header) or "nothing: the file is empty"
        hint = "; separate columns by commas" if len(header) == 1 and (";" in header[0] or "\t" in header[0]) else ""
        detail = f"the first line must name the columns; '{missing[0]}' is missing, there is: {names}{hint}"
        raise fail(missing[0], detail, file=name)
    repeated = next((column for column, count in Counter(header).items() if count > 1), None)
    if repeated is not None:
        raise fail(repeated, f"the column '{repeated}' is there twice", file=name)
    return header


def check_rows(rows: Sequence[ItemRow], faults: Faults, name: str | None) -> None:
    """Add the faults of the rows, single ones and among one another."""
    for place, column, fault in faults_of_rows(rows, lambda place: f"row {place + 1}"):
        faults.add(column, fault, row=place + 1, file=name)


def faults_of_rows(rows: Sequence[ItemRow], where: Callable[[int], str]) -> Iterator[tuple[int, str, str]]:
    """Yield the faults of the rows: the row, counted from 0, its field, and what is wrong.

    `where` returns the origin of a row, for the message about a repeated key.
    """
    first_place: dict[str, int] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for place, row in enumerate(rows):
        for column, fault in _faults_of_row(row):
            yield place, column, fault
        if row.key in first_place:
            yield place, "key", f"the key '{row.key}' is given twice; first in {where(first_place[row.key])}"
        first_place.setdefault(row.key, place)
        if row.bag and row.bag_labels and labels.setdefault(row.bag, row.bag_labels) != row.bag_labels:
            yield (
                place,
                "bag_labels",
                f"bag '{row.bag}' has other labels in an earlier row: {';'.join(labels[row.bag])}",
            )


def _faults_of_row(row: ItemRow) -> Iterator[tuple[str, str]]:
    if fault := fault_of_name(row.key):
        yield "key", f"the key {fault}"
    if fault := fault_of_text(row.text):
        yield "text", fault
    if row.bag is not None and (fault := fault_of_name(row.bag)):
        yield "bag", f"the bag {fault}"
    if row.bag is None and row.bag_labels:
        yield "bag_labels", "bag labels need a bag"
    for label in row.bag_labels:
        if fault := fault_of_name(label):
            yield "bag_labels", f"a bag label {fault}"
    if fault := _fault_of_details(row.details):
        yield "metadata", fault


def _fault_of_details(details: dict[str, Any]) -> str | None:
    try:
        written = json.dumps(details, allow_nan=False, ensure_ascii=False)
    except ValueError:
        return "NaN and infinity are not allowed in JSON"
    return "NUL characters are not allowed" if "\\u0000" in written else fault_of_text(written)
