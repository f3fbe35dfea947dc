"""An import as a program makes it: a table, the files that it names and features, checked and stored on the server."""

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.client.errors import ClientError
from tercet.client.frames import rows_of

TABLE, FEATURES = "items.ndjson", "features.npz"
# Sent in parts, so that a lost connection loses no more than one.
PART = 4 * 2**20


@dataclass(frozen=True)
class Package:
    """The files of an import by their paths in it: bytes, or a path on this machine."""

    files: dict[str, bytes | Path]

    def size_of(self, path: str) -> int:
        """Return the size of a file in bytes."""
        content = self.files[path]
        return len(content) if isinstance(content, bytes) else content.stat().st_size

    def part_at(self, path: str, offset: int) -> bytes:
        """Return the part of a file that begins at an offset."""
        content = self.files[path]
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
            file.seek(offset)
            return file.read(PART)


def pack(table: Any, media: str | None, X: ArrayLike | None) -> Package:
    """Return the files of an import of a table of items, of the media that its column names, and of their features.

    Raises ValueError for a table without the column `key`, unless the server can name the items by their media, or with
    another number of rows than X, and FileNotFoundError for media that are not there.
    """
    rows = rows_of(table)
    named_by_media = media is not None and X is None and not any("key" in row for row in rows)
    if not rows or (any(row.get("key") is None for row in rows) and not named_by_media):
        raise ValueError("a table of items has at least one row and a column `key` without gaps")
    files: dict[str, bytes | Path] = {}
    if media is not None:
        files |= _take_media(rows, media)
    files[TABLE] = "".join(json.dumps(_without_gaps(row), default=str) + "\n" for row in rows).encode()
    if X is not None:
        files[FEATURES] = _features([str(row["key"]) for row in rows], X)
    return Package(files)


def _take_media(rows: list[dict[str, Any]], column: str) -> dict[str, bytes | Path]:
    """Put the files' paths below their common folder into the rows' column `media`; return the files by these paths."""
    places = {n: Path(row.pop(column)).absolute() for n, row in enumerate(rows) if row.get(column) is not None}
    missing = [str(place) for place in places.values() if not place.is_file()]
    if missing:
        raise FileNotFoundError(f"{len(missing)} files of the column {column!r} are missing, the first is {missing[0]}")
    if not places:
        raise ClientError(f"The column {column!r} names no file.")
    folder = os.path.commonpath([place.parent for place in places.values()])
    for n, place in places.items():
        rows[n]["media"] = place.relative_to(folder).as_posix()
    return {place.relative_to(folder).as_posix(): place for place in places.values()}


def _without_gaps(row: dict[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if cell is not None}


def _features(keys: list[str], X: ArrayLike) -> bytes:
    values = np.asarray(X)
    if values.ndim != 2 or len(values) != len(keys):
        raise ValueError(f"X has the shape {values.shape}: a row for each of the {len(keys)} items was expected")
    written = io.BytesIO()
    np.savez(written, keys=np.array(keys, dtype=str), X=values)
    return written.getvalue()
