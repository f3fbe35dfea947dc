"""Answers on their way out, page by page: a reader may be slow without holding a session, and memory stays small."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any

from app.database import Database
from app.exchange import queries
from app.exchange.csv_cells import guard
from app.exchange.queries import Exported

PAGE = 2_000


class Format(StrEnum):
    """How rows are written."""

    NDJSON = "ndjson"
    CSV = "csv"
    JSON = "json"


CONTENT_TYPES = {
    Format.NDJSON: "application/x-ndjson",
    Format.CSV: "text/csv; charset=utf-8",
    Format.JSON: "application/json",
}


def export(
    database: Database, project_id: int, form: Format, *, after: int = 0, with_withdrawn: bool = True
) -> Iterator[str]:
    """Write the project's answers behind a number."""
    pages = _pages(database, project_id, after, with_withdrawn)
    match form:
        case Format.CSV:
            return _csv(pages)
        case Format.JSON:
            return _json(pages)
        case Format.NDJSON:
            return ("".join(json.dumps(_object(row), ensure_ascii=False) + "\n" for row in page) for page in pages)


def _pages(database: Database, project_id: int, after: int, with_withdrawn: bool) -> Iterator[list[Exported]]:
    while True:
        with database.reading() as session:
            page = queries.page_of_answers(session, project_id, after, PAGE, with_withdrawn=with_withdrawn)
        if not page:
            return
        yield page
        after = page[-1].number


def _object(row: Exported) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "number": row.number,
        "triplet": [row.anchor, row.left, row.right],
        "answer": row.answer,
        "labeler": row.labeler,
        "response_ms": row.response_ms,
        "created_at": _time(row.created_at),
        "withdrawn_at": _time(row.withdrawn_at),
        "set_aside_at": _time(row.set_aside_at),
    }


def _json(pages: Iterable[list[Exported]]) -> Iterator[str]:
    separator = "[\n"
    for page in pages:
        yield separator + ",\n".join(json.dumps(_object(row), ensure_ascii=False) for row in page)
        separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[]\n"


def _csv(pages: Iterable[list[Exported]]) -> Iterator[str]:
    for page in chain([None], pages):
        written = io.StringIO()
        writer = csv.writer(written)
        if page is None:
            writer.writerow(Exported._fields)
        else:
            writer.writerows(_cells(row) for row in page)
        yield written.getvalue()


def _cells(row: Exported) -> list[Any]:
    texts = [guard(text) for text in (row.anchor, row.left, row.right, row.answer, row.labeler)]
    times = [_time(moment) for moment in (row.created_at, row.withdrawn_at, row.set_aside_at)]
    return [row.id, row.number, *texts, row.response_ms, *times]


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")
