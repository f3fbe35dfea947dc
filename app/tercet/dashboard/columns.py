"""What items can be coloured by: bags, labelers, columns of metadata, features; and which items are alike."""

from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from tercet.dashboard import queries
from tercet.dashboard.schemas import ColumnValues, ItemColumn
from tercet.errors import Conflict, FieldError, Invalid
from tercet.items.queries import item_count, latest_features, positions_set_aside
from tercet.models import FeatureSet, Project
from tercet.runs.results import Array
from tercet.storage import Storage

MOST_GROUPS = 80  # as many as colours and shapes tell apart
FEWEST_NUMBERS = 9  # fewer different numbers are groups
MOST_FEATURES = 64  # that are offered
ROWS = 50_000  # of features, looked at together


def offered(session: Session, project: Project) -> list[ItemColumn]:
    """Return what the items of a project can be coloured by."""
    features = latest_features(session, project.id)
    return [
        *([ItemColumn(by="bag", title="bag")] if queries.has_bags(session, project.id) else []),
        ItemColumn(by="labelers", title="labelers asked"),
        *(ItemColumn(by=f"column:{name}", title=name) for name in queries.metadata_columns(session, project.id)),
        *(ItemColumn(by=f"feature:{number}", title=name) for number, name in enumerate(_feature_names(features))),
    ]


def _feature_names(features: FeatureSet | None) -> list[str]:
    if features is None:
        return []
    names = features.feature_names or [f"feature {number + 1}" for number in range(features.d)]
    return names[:MOST_FEATURES]


def values(session: Session, storage: Storage, project: Project, by: str) -> ColumnValues:
    """Return the value of every item, in item order; raise Invalid for what nothing can be coloured by."""
    kind, _, name = by.partition(":")
    n = item_count(session, project.id)
    if kind == "bag" and not name:
        return _groups(by, _placed(queries.bags_of_items(session, project.id), n))
    if kind == "labelers" and not name:
        counts = queries.labelers_of_items(session, project.id)
        return ColumnValues(by=by, groups=None, values=[float(counts.get(place, 0)) for place in range(n)])
    if kind == "column":
        return _of_column(by, _placed(queries.cells(session, project.id, name), n))
    if kind == "feature" and name.isascii() and name.isdigit():
        return _of_feature(session, storage, project, by, int(name[:9]), n)
    raise _unknown(by)


def _unknown(by: str) -> Invalid:
    return Invalid("There is no such column.", [FieldError("by", f"'{by}' is none of GET .../columns")])


def _placed(value_at: dict[int, Any], n: int) -> list[Any]:
    return [value_at.get(position) for position in range(n)]


def _of_column(by: str, cells: list[Any]) -> ColumnValues:
    present = [cell for cell in cells if cell is not None]
    if not present:
        raise _unknown(by)
    numbers = [_number(cell) for cell in cells]
    if all(_number(cell) is not None for cell in present) and len(set(numbers) - {None}) >= FEWEST_NUMBERS:
        return ColumnValues(by=by, groups=None, values=numbers)
    return _groups(by, [None if cell is None else str(cell) for cell in cells])


def _groups(by: str, names: list[str | None]) -> ColumnValues:
    groups = sorted({name for name in names if name is not None})
    if len(groups) > MOST_GROUPS:
        fault = f"has {len(groups):,} different values, more than {MOST_GROUPS} that colours tell apart"
        raise Invalid("This column cannot be shown in colours.", [FieldError("by", fault)])
    code_of = {name: float(code) for code, name in enumerate(groups)}
    return ColumnValues(by=by, groups=groups, values=[None if name is None else code_of[name] for name in names])


def _number(cell: Any) -> float | None:
    """Return a finite number, which may be stored as text; None for anything else."""
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _of_feature(session: Session, storage: Storage, project: Project, by: str, number: int, n: int) -> ColumnValues:
    features = latest_features(session, project.id)
    if features is None or number >= features.d:
        raise _unknown(by)
    column = np.asarray(storage.memory_map(features.blob)[:n, number], dtype=float).tolist()
    return ColumnValues(by=by, groups=None, values=[_number(value) for value in column] + [None] * (n - len(column)))


def similar(session: Session, storage: Storage, project: Project, position: int, limit: int) -> list[int]:
    """Return the positions of the items nearest to one, itself first, by features scaled to one spread."""
    features = latest_features(session, project.id)
    if features is None:
        raise Conflict("Items have no features yet by which they could be alike.")
    rows = storage.memory_map(features.blob)
    if not 0 <= position < len(rows):
        raise Invalid("There is no such item.", [FieldError("at", f"no item has features at the position {position}")])
    distances = _distances(rows, position)
    aside = np.array(positions_set_aside(session, project.id), dtype=np.int64)
    distances[aside[aside < len(rows)]] = np.inf
    distances[position] = -1.0
    order = np.argsort(distances, kind="stable")[:limit]
    return [int(place) for place in order if np.isfinite(distances[place])]


def _distances(rows: Array, position: int) -> Array:
    spread = np.asarray(rows[:: max(1, len(rows) // ROWS)], dtype=float).std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    anchor = np.asarray(rows[position], dtype=float)
    parts = [
        (((np.asarray(rows[start : start + ROWS], dtype=float) - anchor) * scale) ** 2).sum(axis=1)
        for start in range(0, len(rows), ROWS)
    ]
    return np.concatenate(parts)
