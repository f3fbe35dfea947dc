"""Import and export of answers in the formats of two other programs: CSV of Salmon, and arrays for cblearn.

Both write a yes as (anchor, nearer, farther), both name items by their positions from 0, and neither can express "don't
know". Salmon also writes what its pages showed, which names the items better than positions do, and who answered.
cblearn has no files of its own; its users keep the arguments of `fit`, triplets and responses, in an .npz.
"""

import csv
import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, BinaryIO

import numpy as np

from tercet.exchange.queries import Exported
from tercet.exchange.rows import Fault, Numbered, Raw
from tercet.intake.faults import fail
from tercet.intake.feature_files import UNREADABLE
from tercet.web.csv_cells import guard, unguard

FILE = "constraints"
ROLES = ("head", "winner", "loser")
SALMON_COLUMNS = ("head", "left", "right", "winner", "loser", "puid", "response_time", "time_received")
SHOWN = ("head", "left", "right", "winner", "loser")
_SOURCE = re.compile(r"""\bsrc=["']([^"']+)["']""")
# Names of the arrays in an .npz, the first of each as we write them.
TRIPLETS, RESPONSES, NAMES, PEOPLE = (
    ("triplets", "triplet", "queries", "query", "data", "X"),
    ("responses", "response", "answers", "y"),
    ("items", "names", "keys", "objects"),
    ("labelers", "labeler", "workers", "worker", "users", "user"),
)
MOST_ROWS = 1_000_000
MOST_UNPACKED = 256 * 2**20
_RESPONSES = {1: "yes", -1: "no", 0: "dnk"}


class ForeignFormat(StrEnum):
    """The program whose files are written."""

    CBLEARN = "cblearn"
    SALMON = "salmon"

    @property
    def content_type(self) -> str:
        """Return the content type of the response."""
        return "application/octet-stream" if self == ForeignFormat.CBLEARN else "text/csv; charset=utf-8"

    @property
    def suffix(self) -> str:
        """Return the ending of the file name."""
        return "npz" if self == ForeignFormat.CBLEARN else "csv"


def is_salmon(header: Sequence[str]) -> bool:
    """Return whether a CSV file with this header is one of Salmon's."""
    columns = set(header)
    return {"head", "winner"} <= columns and ("loser" in columns or {"left", "right"} <= columns)


def salmon_rows(
    header: Sequence[str], records: Iterable[tuple[int, list[str]]], keys: Sequence[str]
) -> Iterator[Numbered]:
    """Yield the rows of Salmon's CSV; `keys` are those of the items by position.

    An item is named by what its page showed where an item has that key, else by its position.
    """
    by_name = set(keys)
    for number, cells in records:
        if len(cells) == len(header):
            yield number, _salmon_row(dict(zip(header, map(unguard, cells), strict=True)), keys, by_name)
        else:
            yield number, Fault("row", f"{len(cells)} cells where the header names {len(header)} columns")


def _salmon_row(cells: dict[str, str], keys: Sequence[str], by_name: set[str]) -> Raw:
    if "loser" not in cells:
        sides = [cells["left"], cells["right"]]
        if cells["winner"] not in sides:
            return Fault("winner", f"'{cells['winner'][:60]}' is neither left nor right")
        loser = "right" if cells["winner"] == cells["left"] else "left"
        cells = cells | {
            name.replace(loser, "loser", 1): cell for name, cell in cells.items() if name.startswith(loser)
        }
    row: dict[str, Any] = {"triplet": [_item(cells, role, keys, by_name) for role in ROLES], "answer": "yes"}
    if cells.get("puid"):
        row["labeler"] = cells["puid"]
    milliseconds = _milliseconds(cells.get("response_time", ""))
    return row if milliseconds is None else row | {"response_ms": milliseconds}


def _item(cells: dict[str, str], role: str, keys: Sequence[str], by_name: set[str]) -> str:
    """Return the key of the item in a role; the cell as it is where there is no such item."""
    for column in (f"{role}_filename", f"{role}_html"):
        text = cells.get(column, "")
        source = _SOURCE.search(text)
        path = PurePosixPath(source[1] if source else text)
        names = (text, path.name, path.stem)
        if match := next((name for name in names if name in by_name), None):
            return match
    return _at(cells[role], keys)


def _at(position: str, keys: Sequence[str]) -> str:
    """Return the key at a position; the text as it is where that is no position."""
    is_position = position.isascii() and position.isdigit() and len(position) < 10
    return keys[int(position)] if is_position and int(position) < len(keys) else position


def _milliseconds(seconds: str) -> int | None:
    """Return a time that Salmon gives in seconds; None where it knows none, which it writes as -1."""
    try:
        time = float(seconds)
    except ValueError:
        return None
    return round(1000 * time) if math.isfinite(time) and time >= 0 else None


def npz_rows(stream: BinaryIO, keys: Sequence[str]) -> Iterator[Numbered]:
    """Yield the rows of an .npz with `triplets` (M, 3), and `responses` (M,) unless all are anchor, nearer, farther.

    A response is True or 1 where the first of the two is nearer, False or -1 where the second is, 0 for "don't know".
    Positions are those of the array `items` of names, where there is one, else the project's.
    """
    arrays = _arrays(stream)
    triplets = _array(arrays, TRIPLETS)
    if triplets is None or triplets.ndim != 2 or triplets.shape[1] != 3 or triplets.dtype.kind not in "iu":
        there = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise fail("triplets", f"an array 'triplets' of whole numbers, shape (M, 3), is expected; there are: {there}")
    if len(triplets) > MOST_ROWS:
        raise fail("triplets", f"there are {len(triplets)} rows; at most {MOST_ROWS} come in one file")
    responses = _column(arrays, RESPONSES, len(triplets))
    if responses is not None and responses.dtype.kind not in "biuf":
        raise fail("responses", "responses must be True and False, or 1, -1 and 0")
    names = _array(arrays, NAMES)
    people = _column(arrays, PEOPLE, len(triplets))
    items = keys if names is None else [str(name) for name in names.ravel().tolist()]
    for number, positions in enumerate(triplets.tolist(), start=1):
        response = 1 if responses is None else responses[number - 1]
        row: Raw = _npz_row(positions, response, items)
        if people is not None and isinstance(row, dict):
            row["labeler"] = str(people[number - 1])
        yield number, row


def _npz_row(positions: list[int], response: Any, items: Sequence[str]) -> Raw:
    beyond = [position for position in positions if not 0 <= position < len(items)]
    if beyond:
        return Fault("triplets", f"{beyond[0]} is no position of an item: there are 0 to {len(items) - 1}")
    value = (1 if response else -1) if isinstance(response, np.bool_) else float(response)
    if value not in _RESPONSES:
        return Fault("responses", f"{response} is no response: True and False, or 1, -1 and 0 are expected")
    return {"triplet": [items[position] for position in positions], "answer": _RESPONSES[int(value)]}


def _arrays(stream: BinaryIO) -> dict[str, np.ndarray[Any, Any]]:
    try:
        with zipfile.ZipFile(stream) as packed:
            unpacked = sum(member.file_size for member in packed.infolist())
        if unpacked > MOST_UNPACKED:
            raise fail("body", f"the arrays take {unpacked} bytes unpacked; at most {MOST_UNPACKED} are read")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as loaded:
            return {name: loaded[name] for name in loaded.files}
    except UNREADABLE as error:
        raise fail("body", f"is no .npz of plain arrays: {error}", file=FILE) from error


def _array(arrays: dict[str, np.ndarray[Any, Any]], names: Sequence[str]) -> np.ndarray[Any, Any] | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _column(arrays: dict[str, np.ndarray[Any, Any]], names: Sequence[str], n_rows: int) -> np.ndarray[Any, Any] | None:
    array = _array(arrays, names)
    if array is not None and array.shape != (n_rows,):
        raise fail(names[0], f"has shape {array.shape}: one for each of the {n_rows} triplets is expected")
    return array


def written(form: ForeignFormat, pages: Iterable[list[Exported]], keys: Sequence[str]) -> Iterator[bytes]:
    """Return the pieces of a file with the yes and no answers; the items lie at the positions of their `keys`."""
    decided = ([_decided(row) for row in page if row.answer in ("yes", "no")] for page in pages)
    places = {key: position for position, key in enumerate(keys)}
    return _npz(decided, places) if form == ForeignFormat.CBLEARN else _salmon(decided, places)


def _decided(row: Exported) -> tuple[Exported, str, str]:
    """Return an answer with its nearer and its farther item."""
    return (row, row.left, row.right) if row.answer == "yes" else (row, row.right, row.left)


def _npz(pages: Iterable[list[tuple[Exported, str, str]]], places: dict[str, int]) -> Iterator[bytes]:
    triplets: list[tuple[int, int, int]] = []
    people: list[str] = []
    for page in pages:
        triplets += [(places[row.anchor], places[nearer], places[farther]) for row, nearer, farther in page]
        people += [row.labeler for row, _, _ in page]
    file = io.BytesIO()
    np.savez_compressed(
        file,
        triplets=np.array(triplets, dtype=np.int64).reshape(-1, 3),
        responses=np.ones(len(triplets), dtype=bool),
        items=np.array(list(places), dtype=str),
        labelers=np.array(people, dtype=str),
    )
    yield file.getvalue()


def _salmon(pages: Iterable[list[tuple[Exported, str, str]]], places: dict[str, int]) -> Iterator[bytes]:
    yield _lines([[*SALMON_COLUMNS, *(f"{role}_html" for role in SHOWN)]])
    for page in pages:
        yield _lines([_salmon_cells(*entry, places) for entry in page])


def _salmon_cells(row: Exported, nearer: str, farther: str, places: dict[str, int]) -> list[Any]:
    items = (row.anchor, row.left, row.right, nearer, farther)
    seconds = -1 if row.response_ms is None else row.response_ms / 1000
    about = (guard(row.labeler), seconds, row.created_at.timestamp())
    return [*(places[item] for item in items), *about, *map(guard, items)]


def _lines(rows: Iterable[list[Any]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()
