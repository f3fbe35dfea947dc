"""Writes a project's answers page by page, so that a slow reader holds no session and memory stays small."""

import csv
import io
import json
from array import array
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np

from tercet.database import Database
from tercet.errors import FieldError, Invalid
from tercet.exchange import foreign, queries
from tercet.exchange.foreign import ForeignFormat
from tercet.exchange.queries import Exported
from tercet.items.queries import keys_in_order
from tercet.models import Project, QuestionKind
from tercet.web.csv_cells import guard
from tercet.web.parquet import parquet_pieces
from tercet.web.row_formats import RowFormat
from tercet.web.zip_stream import npz_pieces

PAGE = 2_000
TEXTS = ("id", "anchor", "left", "right", "answer", "labeler", "comment")
TYPES = {name: "string" if name in TEXTS else "time" if name.endswith("_at") else "int64" for name in Exported._fields}


def export(
    database: Database,
    project_id: int,
    form: RowFormat,
    *,
    after: int = 0,
    with_withdrawn: bool = True,
    with_names: bool = False,
) -> Iterator[str] | Iterator[bytes]:
    """Return the pieces of the project's answers behind a number, page by page; labelers by pseudonyms, or names."""
    pages = _pages(database, project_id, after, with_withdrawn=with_withdrawn, with_names=with_names)
    match form:
        case RowFormat.CSV:
            return _csv(pages)
        case RowFormat.JSON:
            return _json(pages)
        case RowFormat.NDJSON:
            return ("".join(json.dumps(_object(row), ensure_ascii=False) + "\n" for row in page) for page in pages)
        case RowFormat.NPZ:
            return npz_pieces(_arrays(pages))
        case RowFormat.PARQUET:
            return parquet_pieces(map(_columns, pages), TYPES)


def export_foreign(
    database: Database, project: Project, form: ForeignFormat, *, with_names: bool = False
) -> Iterator[bytes]:
    """Return the pieces of the project's answers as another program writes them: the yes and no that runs use.

    Raise Invalid where they answer the outlier question, for which those programs have no form.
    """
    if project.question_kind != QuestionKind.RELATIVE:
        detail = f"{form} has no form for answers to the outlier question: export csv or ndjson"
        raise Invalid("These answers have no such form.", [FieldError("format", detail)])
    with database.reading() as session:
        keys = keys_in_order(session, project.id)
    pages = _pages(database, project.id, 0, with_withdrawn=False, with_names=with_names)
    return foreign.written(form, pages, keys)


def _pages(
    database: Database, project_id: int, after: int, *, with_withdrawn: bool, with_names: bool
) -> Iterator[list[Exported]]:
    chosen = {"with_withdrawn": with_withdrawn, "with_names": with_names}
    while True:
        with database.reading() as session:
            page = queries.page_of_answers(session, project_id, after, PAGE, **chosen)
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
        "comment": row.comment,
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
    return [row.id, row.number, *texts, row.response_ms, *times, guard(row.comment)]


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def _columns(page: list[Exported]) -> dict[str, list[Any]]:
    columns = {name: [getattr(row, name) for row in page] for name in Exported._fields}
    return columns | {"id": [str(row.id) for row in page]}


def _arrays(pages: Iterable[list[Exported]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return all answers as arrays: triplets are positions in `keys`, labelers positions in `labeler_names`."""
    keys, people = _Places(), _Places()
    triplets, labelers, numbers, milliseconds, counts = (array("q") for _ in range(5))
    answers: list[str] = []
    for page in pages:
        for row in page:
            triplets.extend(map(keys.place, (row.anchor, row.left, row.right)))
            labelers.append(people.place(row.labeler))
            numbers.append(row.number)
            milliseconds.append(-1 if row.response_ms is None else row.response_ms)
            counts.append(row.withdrawn_at is None and row.set_aside_at is None)
            answers.append(row.answer)
    return {
        "keys": np.array(list(keys), dtype=str),
        "triplets": np.array(triplets, dtype=np.int32).reshape(-1, 3),
        "answers": np.array(answers, dtype="U3"),
        "labelers": np.array(labelers, dtype=np.int32),
        "labeler_names": np.array(list(people), dtype=str),
        "numbers": np.array(numbers),
        "response_ms": np.array(milliseconds),
        "counts": np.array(counts, dtype=bool),
    }


class _Places(dict[str, int]):
    """The positions of texts in the order in which they come."""

    def place(self, text: str) -> int:
        """Return the position of a text, the next one if it is new."""
        return self.setdefault(text, len(self))
