"""A run's items as JSON, NDJSON or CSV, row by row, so that a million of them take no more memory than a few."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum

import numpy as np

from app.clustering import queries, results
from app.clustering.results import Array
from app.database import Database
from app.exchange.csv_cells import guard
from app.models import Run
from app.storage import Storage

CHUNK = 2_000


class Format(StrEnum):
    """How rows are written."""

    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"


class Sort(StrEnum):
    """In which order: as the items are, or the least certain first."""

    POSITION = "position"
    CONFIDENCE = "confidence"


CONTENT_TYPES = {
    Format.JSON: "application/json",
    Format.CSV: "text/csv; charset=utf-8",
    Format.NDJSON: "application/x-ndjson",
}
Row = tuple[str, int, float]


def lines(
    database: Database, storage: Storage, run: Run, key: str, cluster: int | None, sort: Sort, form: Format
) -> Iterator[str]:
    """Write the items of a run, of one cluster or of all, chunk by chunk."""
    result = results.load_cached(storage, key)
    chosen = np.arange(len(result.labels)) if cluster is None else np.flatnonzero(result.labels == cluster)
    if sort == Sort.CONFIDENCE:
        chosen = chosen[np.argsort(result.confidence[chosen], kind="stable")]
    chunks = (chosen[start : start + CHUNK] for start in range(0, len(chosen), CHUNK))
    rows = ((keys, result.labels[some], result.confidence[some]) for some, keys in _with_keys(database, run, chunks))
    pages = (
        [(key, int(label), round(float(sure), 4)) for key, label, sure in zip(*columns, strict=True)]
        for columns in rows
    )
    if form == Format.CSV:
        return _csv(pages)
    return _json(pages, run) if form == Format.JSON else _ndjson(pages)


def _with_keys(database: Database, run: Run, chunks: Iterable[Array]) -> Iterator[tuple[Array, list[str]]]:
    """Each chunk with its items' keys; no session stays open while a slow reader reads."""
    for chunk in chunks:
        with database.reading() as session:
            found = queries.keys_at(session, run.project_id, chunk.tolist())
        yield chunk, found


def _csv(pages: Iterable[list[Row]]) -> Iterator[str]:
    yield "item,cluster,confidence\r\n"
    for page in pages:
        written = io.StringIO()
        csv.writer(written).writerows((guard(key), cluster, confidence) for key, cluster, confidence in page)
        yield written.getvalue()


def _ndjson(pages: Iterable[list[Row]]) -> Iterator[str]:
    for page in pages:
        yield "".join(_object(row) + "\n" for row in page)


def _json(pages: Iterable[list[Row]], run: Run) -> Iterator[str]:
    yield f'{{"run": {run.number}, "items": ['
    between = ""
    for page in pages:
        yield between + ", ".join(map(_object, page))
        between = ", "
    yield "]}"


def _object(row: Row) -> str:
    return json.dumps(dict(zip(("item", "cluster", "confidence"), row, strict=True)), ensure_ascii=False)
