"""Reads tables of delimited text in any encoding and with any separator; limits the size of all tables.

Limits on cells and bytes bound the memory: Python needs about fifty bytes for a cell of two letters.
"""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tercet.intake.faults import Faults, fail
from tercet.intake.reading import encodings
from tercet.intake.tables import csv_records

MOST_BYTES = 64_000_000
MOST_CELLS = 3_000_000  # a row counts for eight more
MOST_COLUMNS = 10_000
CELLS_OF_A_ROW = 8
SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "vertical bar"}
SNIFFED_LINES = 50
SNIFFED_CHARACTERS = 200_000
SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)  # Excel's first line


@dataclass
class Table:
    """Rows of cells under named columns; cells are texts, or any values from JSON and Parquet; rows count from 1."""

    columns: list[str]
    rows: list[list[Any]]
    words: str  # how it was read: format, encoding, separator


class Budget:
    """Counts cells while a table is read, and ends the reading when there are too many to hold."""

    def __init__(self, name: str) -> None:
        """Start at 0 cells."""
        self.name = name
        self.spent = 0

    def spend(self, cells: int) -> None:
        """Count a row of cells; raise Invalid when the table is too large."""
        self.spent += cells + CELLS_OF_A_ROW
        self.check(self.spent)

    def check(self, cells: int) -> None:
        """Raise Invalid if a table has so many cells."""
        if cells > MOST_CELLS:
            raise fail("rows", f"has more than {MOST_CELLS:,} cells: send it in parts", file=self.name)


def check_bytes(path: Path, name: str) -> None:
    """Raise Invalid if a table has too many bytes."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise fail(
            "file", f"has {size:,} bytes; tables of at most {MOST_BYTES:,} are read: send it in parts", file=name
        )


def check_columns(columns: Sequence[str], name: str) -> None:
    """Raise Invalid if there are too many columns or one is repeated."""
    if len(columns) > MOST_COLUMNS:
        detail = f"the first line names {len(columns):,} columns; at most {MOST_COLUMNS:,} are read"
        raise fail("header", f"{detail}: a table has one row for each item", file=name)
    repeated = next((column for column, count in Counter(columns).items() if count > 1), None)
    if repeated is not None:
        raise fail("header", f"the column '{repeated[:100]}' is there twice", file=name)


@dataclass(frozen=True)
class Layout:
    """The encoding and the separator of a delimited file."""

    codec: str
    encoding: str
    separator: str
    first_line: int  # 1 where Excel's line with the separator is above the header

    @property
    def words(self) -> str:
        """The layout in words."""
        guessed = ", a guess: save it as UTF-8 if letters look wrong" if encodings.is_last_resort(self.codec) else ""
        return f"{self.encoding}{guessed}, separated by {SEPARATORS.get(self.separator, repr(self.separator))}"


def layout_of(path: Path, name: str) -> Layout:
    """Return encoding and separator of a delimited file."""
    codec, encoding = encodings.encoding_of(path, name)
    lines = list(itertools.islice(encodings.lines_of(path, codec, name), SNIFFED_LINES))
    if lines and (match := SEPARATOR_LINE.fullmatch(lines[0])):
        return Layout(codec, encoding, match[1], 1)
    return Layout(codec, encoding, _separator_of(lines), 0)


def _separator_of(lines: Sequence[str]) -> str:
    """Return the separator with which most rows are as wide as the header; of several the one with most columns."""
    text = "".join(lines)[:SNIFFED_CHARACTERS].splitlines(keepends=True)
    best, best_score = ",", (0.0, 0)
    for separator in SEPARATORS:
        try:
            widths = [len(cells) for cells in csv.reader(text, delimiter=separator) if cells]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
            if score > best_score:
                best, best_score = separator, score
    return best


def records(path: Path, layout: Layout, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a delimited file with their numbers, the header as row 0."""
    lines = encodings.lines_of(path, layout.codec, name)
    return csv_records(itertools.islice(lines, layout.first_line, None), name, layout.separator)


def read_delimited(path: Path, name: str) -> tuple[Table, Faults]:
    """Read a table of delimited text; rows of another width than the header are faults and left out."""
    check_bytes(path, name)
    layout = layout_of(path, name)
    rows = records(path, layout, name)
    _, header = next(rows, (0, []))
    columns = _columns_of(header, name)
    faults, budget = Faults(), Budget(name)
    table = Table(columns, [], f"{'TSV' if layout.separator == chr(9) else 'CSV'}, {layout.words}")
    for number, cells in rows:
        budget.spend(len(cells))
        fits = len(cells) == len(header)
        if not fits and any(cells):
            faults.add("row", f"{len(cells)} cells where the header names {len(header)} columns", row=number, file=name)
        table.rows.append(cells[: len(columns)] if fits else [""] * len(columns))
    return table, faults


def _columns_of(header: Sequence[str], name: str) -> list[str]:
    """Return the names of the columns without unnamed ones at the end, which spreadsheets leave."""
    names = [cell.strip() for cell in header]
    while names and not names[-1]:
        names.pop()
    columns = [column or f"column {place}" for place, column in enumerate(names, start=1)]
    if not columns:
        raise fail("header", "the first line must name the columns, but it is empty", file=name)
    check_columns(columns, name)
    return columns


def is_number(cell: Any) -> bool:
    """Return whether a cell holds a number."""
    if isinstance(cell, str):
        try:
            float(cell)
        except ValueError:
            return False
        return True
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def number_columns(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> set[str]:
    """Return the columns in which every cell holds a number."""
    numeric = set(range(len(columns)))
    for cells in rows:
        numeric = {place for place in numeric if is_number(cells[place])}
        if not numeric:
            break
    return {columns[place] for place in numeric}
