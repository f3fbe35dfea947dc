"""Exports a run's items and their clusters in every row format, in chunks of constant memory."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import numpy as np

from tercet.database import Database
from tercet.items.queries import BETWEEN_TAGS, tags_by_position
from tercet.models import Run
from tercet.runs import queries, results
from tercet.runs.in_use import labels_in_use
from tercet.runs.results import Array
from tercet.storage import Storage
from tercet.web.csv_cells import guard
from tercet.web.parquet import parquet_pieces
from tercet.web.row_formats import RowFormat
from tercet.web.zip_stream import npz_pieces

CHUNK = 2_000


class Sort(StrEnum):
    """The order of the rows: that of the items, or the least certain first."""

    POSITION = "position"
    CONFIDENCE = "confidence"


Row = tuple[str, int, float, list[str]]
TYPES = {"item": "string", "cluster": "int32", "confidence": "double", "tags": "string"}
COLUMNS = tuple(TYPES)


def lines(
    database: Database, storage: Storage, run: Run, key: str, cluster: int | None, sort: Sort, form: RowFormat
) -> Iterator[str] | Iterator[bytes]:
    """Return the pieces of a run's items, of one cluster or of all, chunk by chunk."""
    result = results.load_cached(storage, key)
    with database.reading() as session:
        labels = labels_in_use(session, run.project_id, result.labels)
    positions = np.flatnonzero(labels > 0) if cluster is None else np.flatnonzero(labels == cluster)
    if sort == Sort.CONFIDENCE:
        positions = positions[np.argsort(result.confidence[positions], kind="stable")]
    chunks = (positions[start : start + CHUNK] for start in range(0, len(positions), CHUNK))
    columns = (
        (keys, result.labels[chunk].tolist(), np.round(result.confidence[chunk].astype(float), 4).tolist(), tags)
        for chunk, keys, tags in _with_names(database, run, chunks)
    )
    pages = (list(zip(*page, strict=True)) for page in columns)
    match form:
        case RowFormat.CSV:
            return _csv(pages)
        case RowFormat.NDJSON:
            return _ndjson(pages)
        case RowFormat.JSON:
            return _json(pages, run)
        case RowFormat.NPZ:
            return npz_pieces(_arrays(pages))
        case RowFormat.PARQUET:
            return parquet_pieces(map(_columns, pages), TYPES)


def _with_names(
    database: Database, run: Run, chunks: Iterable[Array]
) -> Iterator[tuple[Array, list[str], list[list[str]]]]:
    """Yield each chunk of positions with its items' keys and tags; no session stays open while a slow client reads."""
    for chunk in chunks:
        with database.reading() as session:
            keys = queries.keys_at(session, run.project_id, chunk.tolist())
            tags = tags_by_position(session, run.project_id, chunk)
        yield chunk, keys, [tags.get(position, []) for position in chunk.tolist()]


def _csv(pages: Iterable[list[Row]]) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    for page in pages:
        lines = io.StringIO()
        csv.writer(lines).writerows(
            (guard(key), *figures, guard(BETWEEN_TAGS.join(tags))) for key, *figures, tags in page
        )
        yield lines.getvalue()


def _ndjson(pages: Iterable[list[Row]]) -> Iterator[str]:
    for page in pages:
        yield "".join(_object(row) + "\n" for row in page)


def _json(pages: Iterable[list[Row]], run: Run) -> Iterator[str]:
    yield f'{{"run": {run.number}, "items": ['
    separator = ""
    for page in pages:
        yield separator + ", ".join(map(_object, page))
        separator = ", "
    yield "]}"


def _object(row: Row) -> str:
    return json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False)


def _columns(page: list[Row]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [row[place] for row in page] for place, name in enumerate(COLUMNS)}
    return {**columns, "tags": [BETWEEN_TAGS.join(tags) for tags in columns["tags"]]}


def _arrays(pages: Iterable[list[Row]]) -> dict[str, Array]:
    """Return all rows as arrays, named as those of feature files are."""
    rows = [row for page in pages for row in page]
    return {
        "keys": np.array([row[0] for row in rows], dtype=str),
        "clusters": np.array([row[1] for row in rows], dtype=np.int32),
        "confidence": np.array([row[2] for row in rows], dtype=np.float64),
        "tags": np.array([BETWEEN_TAGS.join(row[3]) for row in rows], dtype=str),
    }
