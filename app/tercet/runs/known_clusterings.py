"""Known clusterings, which CMBC shall differ from, as codes of items: clusters of earlier runs, columns of metadata."""

from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import Item, Run
from tercet.runs import results
from tercet.runs.results import Array
from tercet.storage import Storage

NOTHING_KNOWN = (
    "CMBC needs to know what to differ from: give known_runs or known_columns, or method 'em' to avoid nothing"
)
UNKNOWN = -1


def names(parameters: dict[str, Any]) -> list[str]:
    """Return names of the known clusterings for people, in the order of the columns that `load` returns."""
    return [*(f"run {number}" for number in parameters["known_runs"]), *parameters["known_columns"]]


def load(session: Session, storage: Storage, project_id: int, parameters: dict[str, Any], n: int) -> Array | None:
    """Return the known clusterings of the first n items as codes (N, c), -1 where unknown; None if there are none."""
    runs = [run_codes(session, storage, project_id, number, n) for number in parameters["known_runs"]]
    columns = [column_codes(session, project_id, name, n)[0] for name in parameters["known_columns"]]
    return np.column_stack([*runs, *columns]) if runs or columns else None


def run_codes(session: Session, storage: Storage, project_id: int, number: int, n: int) -> Array:
    """Return the clusters of a run, (N,), numbered from 1; items that came later have none."""
    key = session.scalar(select(Run.result).where(Run.project_id == project_id, Run.number == number))
    if key is None:
        raise ValueError(f"known_runs: run {number} has no clusters")
    labels = results.load(storage, key).labels
    codes = np.full(n, UNKNOWN, dtype=np.int64)
    codes[: len(labels)] = labels[:n]
    return codes


def column_codes(session: Session, project_id: int, name: str, n: int) -> tuple[Array, list[str]]:
    """Return a column of metadata as codes, (N,), and the values that they stand for, in order."""
    details = select(Item.details).where(Item.project_id == project_id, Item.position < n).order_by(Item.position)
    cells = [metadata.get(name) for metadata in session.scalars(details)]
    values = sorted({_as_text(cell) for cell in cells if cell is not None})
    if not values:
        raise ValueError(f"known_columns: no item has metadata '{name}'")
    code_of = {value: code for code, value in enumerate(values)}
    codes = [UNKNOWN if cell is None else code_of[_as_text(cell)] for cell in cells]
    return np.array(codes, dtype=np.int64), values


def absent_columns(session: Session, project_id: int, names: list[str]) -> list[str]:
    """Return those of the named columns of metadata that no item has."""
    absent = list(names)
    details = select(Item.details).where(Item.project_id == project_id).order_by(Item.position)
    if not names:
        return absent
    with session.scalars(details.execution_options(yield_per=1_000)) as rows:
        for metadata in rows:
            absent = [name for name in absent if metadata.get(name) is None]
            if not absent:
                break
    return absent


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
