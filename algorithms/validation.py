"""Turns triplets and answers in any accepted form into checked integer arrays.

Estimators differ in what they learn from answers but not in how answers are written, so the reading is done
once: names or numbers, both question kinds, optional labelers. Whatever is wrong is reported with the row and
the value before anything is computed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from algorithms.patterns import ANSWERS, KINDS, Array, Kind, answer_table

_RELATIVE = {"yes": 0, "1": 0, "+1": 0, "no": 1, "-1": 1, "dnk": 2, "0": 2}
_OUTLIER = {"1": 0, "2": 1, "3": 2, "dnk": 3, "0": 3}
_NAMES: dict[Kind, dict[str, int]] = {"relative": _RELATIVE, "outlier": _OUTLIER}
_EXPECTED: dict[Kind, str] = {
    "relative": "'yes', 'no', 'dnk' or 1, -1, 0",
    "outlier": "1, 2, 3 or 'dnk' (or 0)",
}
# The column of the same answer once left and right have changed places.
_TURNED: dict[Kind, Array] = {"relative": np.array([1, 0, 2]), "outlier": np.array([0, 2, 1, 3])}


@dataclass(frozen=True)
class Constraints:
    """M checked constraints: left < right, identical rows of one labeler merged."""

    triplets: Array  # (M, 3) item positions
    answers: Array  # (M,) column of the answer in its kind's table
    kinds: Array  # (M,) 0 relative, 1 outlier
    labelers: Array | None = None  # (M,) position in `names`; None: all are the first one's
    names: tuple[object, ...] = (None,)

    def __len__(self) -> int:
        return len(self.triplets)

    def labeler_codes(self) -> Array:
        """Position in `names` of every row's labeler, shape (M,)."""
        return np.zeros(len(self), dtype=np.int64) if self.labelers is None else self.labelers

    def select(self, mask: Array) -> "Constraints":
        labelers = None if self.labelers is None else self.labelers[mask]
        return Constraints(self.triplets[mask], self.answers[mask], self.kinds[mask], labelers, self.names)

    def likelihoods(self, epsilon: float) -> Array:
        """P(observed answer | pattern), shape (M, 5)."""
        out = np.empty((len(self), 5))
        for code, kind in enumerate(KINDS):
            rows = self.kinds == code
            out[rows] = answer_table(kind, epsilon).T[self.answers[rows]]
        return out

    def is_dnk(self) -> Array:
        last = np.array([len(ANSWERS[kind]) - 1 for kind in KINDS])
        dont_know: Array = self.answers == last[self.kinds]
        return dont_know


def read_constraints(
    triplets: object,
    answers: object,
    kinds: object = None,
    labelers: Iterable[object] | None = None,
    *,
    n_items: int,
) -> Constraints:
    """Check, canonicalise (left < right, the answer turned round) and merge repeated rows of one labeler.

    Without `labelers` all rows count as one labeler's. Raises ValueError with the row and value that is wrong.
    """
    places = read_triplets(triplets, n_items)
    codes = read_kinds(kinds, len(places))
    columns = _read_answers(answers, codes, len(places))
    swapped = places[:, 1] > places[:, 2]
    places[swapped, 1:] = places[swapped, :0:-1]
    for code, kind in enumerate(KINDS):
        rows = swapped & (codes == code)
        columns[rows] = _TURNED[kind][columns[rows]]
    people, names = _read_labelers(labelers, len(places))
    kept = _first_of_each(places, codes, columns, people)
    return Constraints(places[kept], columns[kept], codes[kept], people[kept], names)


def read_triplets(triplets: object, n_items: int) -> Array:
    """A new (M, 3) integer array of three different positions below `n_items` in each row."""
    places = np.array([] if triplets is None else triplets)
    if places.size == 0:
        return np.empty((0, 3), dtype=np.int64)
    if places.ndim != 2 or places.shape[1] != 3:
        raise ValueError(f"triplets must have shape (M, 3): anchor, left, right; got {places.shape}")
    if not np.issubdtype(places.dtype, np.integer):
        raise ValueError(f"triplets must be integer item positions, got {places.dtype}")
    places = places.astype(np.int64)
    _refuse((places < 0) | (places >= n_items), places, f"expected positions from 0 to {n_items - 1}")
    anchor, left, right = places.T
    _refuse((anchor == left) | (anchor == right) | (left == right), places, "expected three different items")
    return places


def _refuse(bad: Array, places: Array, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad.any(axis=1) if bad.ndim == 2 else bad))
        raise ValueError(f"triplets row {row} is {places[row].tolist()}: {expected}")


def read_kinds(kinds: object, n_rows: int) -> Array:
    """Code of every row's question kind, shape (n_rows,): 0 relative (also where None is given), 1 outlier."""
    names = np.full(n_rows, "relative") if kinds is None else np.asarray(kinds, dtype=str)
    names = np.full(n_rows, str(names)) if names.ndim == 0 else names
    _check_length("kinds", len(names), n_rows)
    codes = np.full(n_rows, -1, dtype=np.int64)
    for code, kind in enumerate(KINDS):
        codes[names == kind] = code
    if (codes < 0).any():
        row = int(np.argmin(codes))
        raise ValueError(f"kinds row {row} is {str(names[row])!r}: expected 'relative' or 'outlier'")
    return codes


def _read_answers(answers: object, codes: Array, n_rows: int) -> Array:
    values = np.asarray([] if answers is None else answers)
    _check_length("answers", values.size, n_rows)
    if np.issubdtype(values.dtype, np.floating) and np.all(values == np.round(values)):
        values = values.astype(np.int64)
    if values.dtype == object:
        values = values.astype(str)
    columns = np.empty(n_rows, dtype=np.int64)
    for code, kind in enumerate(KINDS):
        rows = np.flatnonzero(codes == code)
        distinct, where = np.unique(values[rows], return_inverse=True)
        found = np.array([_NAMES[kind].get(str(value), -1) for value in distinct], dtype=np.int64)
        columns[rows] = found[where]
        if (found < 0).any():
            row = int(rows[np.argmax(found[where] < 0)])
            raise ValueError(f"answers row {row} is {values[row].item()!r}: expected {_EXPECTED[kind]}")
    return columns


def _read_labelers(labelers: Iterable[object] | None, n_rows: int) -> tuple[Array, tuple[object, ...]]:
    """Code of every row's labeler and the labelers by code."""
    if labelers is None:
        return np.zeros(n_rows, dtype=np.int64), (None,)
    seen: dict[object, int] = {}
    plain = labelers.tolist() if isinstance(labelers, np.ndarray) else labelers
    codes = np.array([seen.setdefault(labeler, len(seen)) for labeler in plain], dtype=np.int64)
    _check_length("labelers", len(codes), n_rows)
    return codes, tuple(seen)


def _first_of_each(places: Array, codes: Array, columns: Array, labelers: Array) -> Array:
    """Indices of the first of identical rows, ascending."""
    keys = np.column_stack([places, codes, columns, labelers])
    order = np.lexsort(keys.T)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (keys[order][1:] != keys[order][:-1]).any(axis=1)
    kept: Array = np.sort(order[fresh])  # lexsort is stable, so the first of equal rows leads its group
    return kept


def _check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(f"{name} has {length} rows, triplets has {n_rows}")


def read_labels(labels: object, n_items: int, n_clusters: int) -> Array:
    """Clusters of all items as an (N,) integer array; raises ValueError with the row and value that is wrong."""
    clusters = np.asarray(labels)
    if clusters.shape != (n_items,):
        raise ValueError(f"init must have one cluster for each of the {n_items} items, got shape {clusters.shape}")
    bad = ~np.isin(clusters, np.arange(n_clusters))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"init row {row} is {clusters[row].item()!r}: expected a cluster from 0 to {n_clusters - 1}")
    return clusters.astype(np.int64)


def check_features(X: object) -> Array:
    """X as a finite (N, D) array, single precision if it is so, else double; names what is wrong otherwise.

    An array that is good as it is, a memory map too, is not copied.
    """
    features: Array = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False)
    bad = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = features[row, column]
        raise ValueError(f"X row {row}, column {column} is {value}: expected a finite number, neither NaN nor inf")
    return features


def check_features_of(estimator: Any, X: object) -> Array:
    """`check_features`, and that there are as many columns as the estimator was fitted with."""
    features = check_features(X)
    expected = estimator.n_features_in_
    if features.shape[1] != expected:
        name = type(estimator).__name__
        raise ValueError(f"X has {features.shape[1]} features, but {name} is expecting {expected} features as input")
    return features
