"""Reads feature files (.npy, .npz and .csv) into one checked array of numbers, its rows in the order of the items.

Pickles are never read. All numbers are checked before anything is stored, because a single NaN would silently spoil
every later run.
"""

import lzma
import struct
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.intake.faults import Faults, fail
from tercet.intake.tables import csv_records, read_header, utf8_lines
from tercet.web.texts import fault_of_name

Array = NDArray[np.float32] | NDArray[np.float64]
MOST_UNPACKED = 4 * 2**30  # unpacked bytes of an .npz; the file itself may be far smaller
ROWS_AT_ONCE = 65_536
# What numpy and zipfile raise on files that are damaged or whose headers have wrong sizes.
DAMAGED_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    OverflowError,
)
UNREADABLE = (*DAMAGED_ZIP, OSError, TypeError, SyntaxError, TokenError, MemoryError)


@dataclass(frozen=True)
class Features:
    """N x D numbers; `keys` names the item of each row, or is None where rows are in the order of the items."""

    values: Array
    keys: list[str] | None
    names: list[str]
    file: str


def read_features(path: Path, file: str) -> Features:
    """Read a feature file, recognised by its first bytes; raise Invalid with the row and column of each fault."""
    with path.open("rb") as stream:
        start = stream.read(8)
    if start.startswith(b"\x93NUMPY"):
        features = Features(_check(_load_npy(path, file), file), None, [], file)
    elif start.startswith(b"PK"):
        features = _read_npz(path, file)
    elif file.lower().endswith((".npy", ".npz")) or start.startswith(b"\x80"):
        beginning = " ".join(f"{byte:02X}" for byte in start[:4]) or "nothing"
        raise fail("features", f"is not a NumPy file (it begins with {beginning}); pickles are never read", file=file)
    else:
        with path.open("rb") as lines:
            return read_number_table(csv_records(utf8_lines(lines, file), file), file)
    _check_finite(features)
    return features


def in_item_order(features: Features, keys: Sequence[str]) -> Array:
    """Return the rows in the order of the items' keys; raise Invalid if they do not fit."""
    if features.keys is None:
        if len(features.values) != len(keys):
            detail = f"{len(features.values)} rows of features for {len(keys)} items"
            raise fail("rows", f"{detail}: one row for each item is expected, in their order", file=features.file)
        return features.values
    faults = Faults()
    item_keys = set(keys)
    rows_of_key = Counter(features.keys)
    for row, key in enumerate(features.keys, start=1):
        if key not in item_keys:
            faults.add("key", f"there is no item '{key}'", row=row, file=features.file)
        elif rows_of_key[key] > 1:
            faults.add("key", f"the key '{key}' is given {rows_of_key[key]} times", row=row, file=features.file)
    for key in keys:
        if key not in rows_of_key:
            faults.add("key", f"the item '{key}' has no features", file=features.file)
    faults.raise_any()
    row_of = {key: row for row, key in enumerate(features.keys)}
    ordered: Array = features.values[[row_of[key] for key in keys]]
    return ordered


def _load_npy(path: Path, file: str) -> NDArray[Any]:
    try:
        # A memory map cannot be larger than the file, whatever size its header claims.
        loaded: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise fail("features", _reason(error), file=file) from error
    return loaded


def _read_npz(path: Path, file: str) -> Features:
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(entry.file_size for entry in packed.infolist())
        if unpacked > MOST_UNPACKED:
            raise fail("features", f"unpacks to {unpacked:,} bytes; at most {MOST_UNPACKED:,} are read", file=file)
        with np.load(path, allow_pickle=False) as arrays:
            return _features_of_npz(arrays, file)
    except UNREADABLE as error:
        raise fail("features", _reason(error), file=file) from error


def _features_of_npz(arrays: Any, file: str) -> Features:
    name = next((name for name in ("X", "features") if name in arrays), None)
    if name is None:
        arrays_there = ", ".join(arrays.files) or "nothing"
        raise fail("features", f"must hold an array named 'X' or 'features'; there is: {arrays_there}", file=file)
    raw = arrays[name]
    if not isinstance(raw, np.ndarray):  # numpy returns bytes for an entry that does not begin as an array
        raise fail("features", f"holds no array under the name '{name}'", file=file)
    values = _check(raw, file)
    keys = [str(key) for key in np.ravel(arrays["keys"])] if "keys" in arrays else None
    if keys is not None and len(keys) != len(values):
        raise fail("keys", f"{len(keys)} keys for {len(values)} rows of '{name}'", file=file)
    names = [str(text) for text in np.ravel(arrays["feature_names"])] if "feature_names" in arrays else []
    return Features(values, keys, names if len(names) == values.shape[1] else [], file)


def _reason(error: Exception) -> str:
    if any(sign in str(error) for sign in ("allow_pickle", "Object arrays", "Python objects")):
        return "holds Python objects (a pickle), which are never read: save plain numbers"
    return f"cannot be read as a NumPy file: {error.args[0] if isinstance(error, TokenError) else error}"


def _check(raw: NDArray[Any], file: str) -> Array:
    if raw.dtype.kind not in "biuf":
        raise fail("features", f"holds {raw.dtype}, not numbers", file=file)
    if raw.ndim != 2 or 0 in raw.shape:
        raise fail("features", f"has the shape {raw.shape}; one row for each item is expected: N x D", file=file)
    if raw.dtype.kind == "f" and raw.dtype.itemsize <= 4:
        return np.ascontiguousarray(raw, dtype=np.float32)
    return np.ascontiguousarray(raw, dtype=np.float64)


def read_number_table(records: Iterator[tuple[int, list[str]]], file: str) -> Features:
    """Read features from the numbered rows of a table, header first; the first column may be `key`."""
    faults = Faults()
    numbers: array[float] = array("d")
    keys: list[str] = []
    header = read_header(records, file, [])
    with_keys = header[:1] == ["key"]
    columns = header[1:] if with_keys else header
    _check_columns(columns, file)
    for row, cells in records:
        if len(cells) != len(header):
            faults.add("row", f"{len(cells)} cells, the header has {len(header)}", row=row, file=file)
            continue
        if with_keys:
            keys.append(cells[0].strip())
        numbers.extend(_numbers(cells[len(header) - len(columns) :], columns, row, faults, file))
    faults.raise_any()
    values = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(columns))
    features = Features(_check(values, file), keys if with_keys else None, columns, file)
    _check_finite(features)
    return features


def _check_columns(columns: list[str], file: str) -> None:
    """Raise Invalid where the header has no names of columns."""
    if not columns:
        raise fail("header", "no column of numbers: the first line must name the columns", file=file)
    if all(_number(column) is not None for column in columns):
        raise fail("header", "the first line must name the columns, but it holds numbers", file=file)
    for column in columns:
        if fault := fault_of_name(column):
            raise fail("header", f"a column's name {fault}", file=file)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _numbers(cells: list[str], columns: list[str], row: int, faults: Faults, file: str) -> list[float]:
    numbers = []
    for column, cell in zip(columns, cells, strict=True):
        number = _number(cell)
        if number is None:
            faults.add(column, f"'{cell[:40]}' is not a number" if cell else "is empty", row=row, file=file)
        numbers.append(number or 0.0)
    return numbers


def _check_finite(features: Features) -> None:
    """Raise Invalid with every row that has NaN or infinity, and the first such column of each."""
    faults = Faults()
    for start in range(0, len(features.values), ROWS_AT_ONCE):
        wrong = ~np.isfinite(features.values[start : start + ROWS_AT_ONCE])
        for row in np.flatnonzero(wrong.any(axis=1)):
            column = int(wrong[row].argmax())
            value = features.values[start + row, column]
            name = features.names[column] if features.names else f"column {column + 1}"
            faults.add(name, f"{value} is not a finite number", row=int(start + row) + 1, file=features.file)
    faults.raise_any()
