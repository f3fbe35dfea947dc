"""What another clustering shall differ from, as codes of items: clusters of earlier runs, columns of metadata."""

from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.clustering import results
from app.clustering.results import Array
from app.models import Item, Run
from app.storage import Storage

NOTHING = "CMBC needs to know what to differ from: give known_runs or known_columns, or method 'em' to avoid nothing"
UNKNOWN = -1


def names(parameters: dict[str, Any]) -> list[str]:
    """Name what is known as people read it, in the order of its columns."""
    return [*(f"run {number}" for number in parameters["known_runs"]), *parameters["known_columns"]]


def load(session: Session, storage: Storage, project_id: int, parameters: dict[str, Any], n: int) -> Array | None:
    """Give what is known about the first n items, (N, c) codes, -1 where it is not; None if nothing is."""
    runs = [run_codes(session, storage, project_id, number, n) for number in parameters["known_runs"]]
    columns = [column_codes(session, project_id, name, n)[0] for name in parameters["known_columns"]]
    return np.column_stack([*runs, *columns]) if runs or columns else None


def run_codes(session: Session, storage: Storage, project_id: int, number: int, n: int) -> Array:
    """Give the clusters of a run, (N,), numbered from 1; items that came later have none."""
    key = session.scalar(select(Run.result).where(Run.project_id == project_id, Run.number == number))
    if key is None:
        raise ValueError(f"known_runs: run {number} has no clusters")
    labels = results.load(storage, key).labels
    codes = np.full(n, UNKNOWN, dtype=np.int64)
    codes[: len(labels)] = labels[:n]
    return codes


def column_codes(session: Session, project_id: int, name: str, n: int) -> tuple[Array, list[str]]:
    """Give a column of metadata as codes, (N,), and the values that they stand for, in order."""
    details = select(Item.details).where(Item.project_id == project_id, Item.position < n).order_by(Item.position)
    given = [found.get(name) for found in session.scalars(details)]
    values = sorted({_written(value) for value in given if value is not None})
    if not values:
        raise ValueError(f"known_columns: no item has metadata '{name}'")
    code_of = {value: code for code, value in enumerate(values)}
    codes = [UNKNOWN if value is None else code_of[_written(value)] for value in given]
    return np.array(codes, dtype=np.int64), values


def absent_columns(session: Session, project_id: int, names: list[str]) -> list[str]:
    """Give those columns of metadata that no item has; the first item that has all ends the search."""
    absent = list(names)
    details = select(Item.details).where(Item.project_id == project_id).order_by(Item.position)
    for found in session.scalars(details.execution_options(yield_per=1_000)) if names else ():
        absent = [name for name in absent if found.get(name) is None]
        if not absent:
            break
    return absent


def _written(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
