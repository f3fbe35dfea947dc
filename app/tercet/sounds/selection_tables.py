"""Tables with a header: Raven, BirdNET-Analyzer, Kaleidoscope, and any with a column for begin and one for end.

Columns are recognised by their names, whatever their order, case and language of units: Begin Time (s), start, onset,
tmin, ... A duration may stand for the end, milliseconds for seconds and kilohertz for hertz, if the name says so.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import NamedTuple

from tercet.sounds.selection import Selection, SelectionFault, checked

Names = tuple[str, ...]

# Names without units, the first one there is counts.
BEGIN: Names = ("begin time", "begin", "start time", "start", "onset", "tmin", "t start", "time start", "offset")
END: Names = ("end time", "end", "stop time", "stop", "tmax", "t end", "time end", "offset")
DURATION: Names = ("duration", "delta time", "dur")
LOW: Names = ("low freq", "low frequency", "low", "min freq", "min frequency", "minimum frequency", "fmin", "low f")
LOW += ("freq low", "frequency low", "freq min", "lower freq", "lowest frequency")
HIGH: Names = ("high freq", "high frequency", "high", "max freq", "max frequency", "maximum frequency", "fmax")
HIGH += ("high f", "freq high", "frequency high", "freq max", "upper freq", "highest frequency")
LABEL: Names = ("annotation", "label", "manual id", "common name", "species", "class", "call type", "call", "type")
LABEL += ("tag", "top1match", "auto id", "scientific name", "species code", "name", "text", "notes")
RECORDING: Names = ("begin path", "begin file", "filepath", "file path", "path", "in file", "file", "filename")
RECORDING += ("file name", "recording", "audio file", "sound file", "sound", "wav", "audio")
FILE_OFFSET: Names = ("file offset",)
FOLDER: Names = ("folder",)
UNIT = re.compile(r"[\s_.(\[]+(ms|s|sec|secs|seconds|khz|hz)[)\]]?$")
SCALES = {"ms": 1e-3, "khz": 1e3}
CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)")
NOTHING_CALLED = "nocall"  # BirdNET-Analyzer's row for a file without a detection


class TableColumn(NamedTuple):
    """Where a value of the selections stands: number and name of the column, and what its unit is worth."""

    place: int
    name: str
    scale: float


@dataclass(frozen=True)
class SelectionColumns:
    """The columns of a table that describe selections."""

    begin: TableColumn
    end: TableColumn | None
    duration: TableColumn | None
    low: TableColumn | None
    high: TableColumn | None
    label: TableColumn | None
    recording: TableColumn | None
    folder: TableColumn | None
    file_offset: TableColumn | None
    selection: TableColumn | None


def format_of(text: str) -> str | None:
    """Return which program wrote a table, from its first lines; None if it has no columns of begin and end numbers."""
    rows = _rows(text)
    header = next(rows, [])
    columns = _columns_of(header)
    if columns is None:
        return None
    first = next(rows, None)
    if first is not None and columns.begin.place < len(first):
        try:
            _number(first, columns.begin)
        except ValueError:
            return None
    return _program({_plain(name)[0] for name in header})


def _program(names: set[str]) -> str:
    if {"selection", "begin time", "end time"} <= names:
        return "BirdNET-Analyzer selection table" if "species code" in names else "Raven selection table"
    if {"indir", "folder", "in file"} <= names:
        return "Kaleidoscope table"
    if {"start", "end", "scientific name", "common name", "confidence"} <= {name.replace("_", " ") for name in names}:
        return "BirdNET-Analyzer table"
    return "table with begin and end"


def read(text: str) -> list[Selection]:
    """Return the selections of a table; the rows that Raven writes for several views of one selection are one.

    A table of a header alone, as programs write where nothing was selected, has none.
    """
    rows = _rows(text)
    columns = _columns_of(next(rows))
    assert columns is not None
    faults: list[SelectionFault] = []
    selections: dict[tuple[object, ...], Selection] = {}
    for number, row in enumerate(rows, start=1):
        if not any(field.strip() for field in row):
            continue
        try:
            selection = _selection(row, number, columns)
        except ValueError as error:
            faults.append(SelectionFault(number, str(error.args[0]), str(error.args[1])))
            continue
        view = _text(row, columns.selection)
        place = (view, selection.begin_s, selection.end_s, selection.recording) if view else (None, number)
        selections.setdefault(place, selection)
    return checked(list(selections.values()), faults)


def _rows(text: str) -> Iterator[list[str]]:
    first_line = text.lstrip("\n").partition("\n")[0]
    separator = "\t" if "\t" in first_line else max(",;", key=first_line.count)
    rows = csv.reader(io.StringIO(text.lstrip("\n")), delimiter=separator, quotechar='"')
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(f"line {rows.line_num} is no row of a table: {error}") from error


def _columns_of(header: list[str]) -> SelectionColumns | None:
    """Return the columns of selections; None without a begin, or without an end or a duration."""
    places: dict[str, TableColumn] = {}
    for place, name in enumerate(header):
        plain, scale = _plain(name)
        places.setdefault(plain, TableColumn(place, name.strip(), scale))

    def first(names: Names) -> TableColumn | None:
        return next((places[name] for name in names if name in places), None)

    begin, end, duration = first(BEGIN), first(END), first(DURATION)
    if end is not None and end == begin:  # 'offset' beside a duration is the begin, beside an onset the end
        end = None
    if begin is None or (end is None and duration is None):
        return None
    return SelectionColumns(
        begin,
        end,
        duration,
        first(LOW),
        first(HIGH),
        first(LABEL),
        first(RECORDING),
        first(FOLDER),
        first(FILE_OFFSET),
        first(("selection",)) if "view" in places else None,
    )


def _plain(name: str) -> tuple[str, float]:
    """Return a column's name in small letters without its unit, and what the unit is worth in seconds or hertz."""
    name = name.strip().strip("\ufeff").lower()
    unit = UNIT.search(name)
    plain = name[: unit.start()] if unit else name
    return " ".join(re.split(r"[\s_\-.]+", plain.strip(" _-."))), SCALES.get(unit[1] if unit else "", 1.0)


def _selection(row: list[str], number: int, columns: SelectionColumns) -> Selection:
    """Return the selection of a row; raise ValueError(column, sentence) if a number is none."""
    begin = _required(row, columns.begin)
    if columns.end is not None:
        seconds = _required(row, columns.end) - begin
    else:
        assert columns.duration is not None
        seconds = _required(row, columns.duration)
    recording = _text(row, columns.recording)
    # In a table of several files Raven counts the begin through all of them, and the file offset within one.
    offset = _number(row, columns.file_offset) if columns.file_offset and recording else None
    begin = begin if offset is None else offset
    return Selection(
        begin,
        begin + seconds,
        _number(row, columns.low) if columns.low else None,
        _number(row, columns.high) if columns.high else None,
        _text(row, columns.label),
        _path(_text(row, columns.folder), recording),
        number,
    )


def _path(folder: str | None, file: str | None) -> str | None:
    """Return the path of a recording with slashes instead of backslashes."""
    path = f"{folder}/{file}" if folder and file else file
    return PureWindowsPath(path).as_posix() if path and "\\" in path else path


def _required(row: list[str], column: TableColumn) -> float:
    value = _number(row, column)
    if value is None:
        raise ValueError(column.name, "is empty: a number has to stand there")
    return value


def _number(row: list[str], column: TableColumn) -> float | None:
    """Return a number, in seconds or hertz; times may be written as hours:minutes:seconds."""
    field = _text(row, column)
    if field is None:
        return None
    if clock := CLOCK.fullmatch(field):
        return 3600.0 * int(clock[1] or 0) + 60.0 * int(clock[2]) + float(clock[3])
    try:
        return column.scale * float(field if "." in field else field.replace(",", "."))
    except ValueError:
        raise ValueError(column.name, f"'{field[:40]}' is no number") from None


def _text(row: list[str], column: TableColumn | None) -> str | None:
    if column is None or column.place >= len(row):
        return None
    return row[column.place].strip() or None
