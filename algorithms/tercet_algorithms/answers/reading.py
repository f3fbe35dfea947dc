"""Turns triplets, answers and links in any accepted form into checked integer arrays.

Estimators learn different things from answers but accept them in the same forms, so reading is done once: names or
numbers, both kinds of questions, optional labelers and weights. Errors are reported with the row and the value before
anything is computed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import ANSWERS, KINDS, Array, Errors, Kind, answer_table

_RELATIVE = {"yes": 0, "1": 0, "+1": 0, "True": 0, "no": 1, "-1": 1, "False": 1, "dnk": 2, "0": 2}
_OUTLIER = {"1": 0, "2": 1, "3": 2, "dnk": 3, "0": 3}
_COLUMNS: dict[Kind, dict[str, int]] = {"relative": _RELATIVE, "outlier": _OUTLIER}
_EXPECTED: dict[Kind, str] = {
    "relative": "'yes', 'no', 'dnk', or 1, -1, 0, or True, False",
    "outlier": "1, 2, 3 or 'dnk' (or 0)",
}
# The column of the same answer once left and right have changed places.
_MIRRORED: dict[Kind, Array] = {"relative": np.array([1, 0, 2]), "outlier": np.array([0, 2, 1, 3])}


@dataclass(frozen=True)
class Constraints:
    """M checked answers to triplets with left < right."""

    triplets: Array  # (M, 3) item positions
    answers: Array  # (M,) column of the answer in its kind's table
    kinds: Array  # (M,) 0 relative, 1 outlier
    labelers: Array | None = None  # (M,) position in `names`; None: the first labeler gave all answers
    names: tuple[object, ...] = (None,)
    weights: Array | None = None  # (M,) how many answers each counts as; None: one

    def __len__(self) -> int:
        return len(self.triplets)

    def labeler_codes(self) -> Array:
        """Return the position in `names` of every row's labeler, shape (M,)."""
        return np.zeros(len(self), dtype=np.int64) if self.labelers is None else self.labelers

    def counts(self) -> Array:
        """Return how many answers each row counts as, shape (M,)."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def select(self, rows: Array) -> "Constraints":
        """Return some of the rows; `rows` is a mask or positions."""
        labelers = None if self.labelers is None else self.labelers[rows]
        weights = None if self.weights is None else self.weights[rows]
        return Constraints(self.triplets[rows], self.answers[rows], self.kinds[rows], labelers, self.names, weights)

    def likelihoods(self, epsilon: Errors) -> Array:
        """Return P(observed answer | pattern), shape (M, 5)."""
        out = np.empty((len(self), 5))
        for code, kind in enumerate(KINDS):
            rows = self.kinds == code
            out[rows] = answer_table(kind, epsilon).T[self.answers[rows]]
        return out

    def is_dnk(self) -> Array:
        """Return whether each answer is "don't know", shape (M,)."""
        last = np.array([len(ANSWERS[kind]) - 1 for kind in KINDS])
        dont_know: Array = self.answers == last[self.kinds]
        return dont_know

    def fit_arguments(self) -> dict[str, Any]:
        """Return the answers as arguments of an estimator's `fit`."""
        words = np.empty(len(self), dtype="<U3")
        for code, kind in enumerate(KINDS):
            rows = self.kinds == code
            words[rows] = np.array(ANSWERS[kind])[self.answers[rows]]
        return {
            "triplets": self.triplets,
            "answers": words,
            "kinds": np.array(KINDS)[self.kinds],
            "labelers": [self.names[code] for code in self.labeler_codes()],
            "weights": self.weights,
        }

    def counted_once(self) -> Array:
        """Return weights (M,) in which identical rows of one labeler count once.

        The first of them has the largest of their weights, the others have 0.
        """
        keys = np.column_stack([self.triplets, self.kinds, self.answers, self.labeler_codes()])
        order = np.lexsort(keys.T)  # stable, so the first of equal rows leads its group
        leads = np.ones(len(order), dtype=bool)
        leads[1:] = (keys[order][1:] != keys[order][:-1]).any(axis=1)
        largest = np.maximum.reduceat(self.counts()[order], np.flatnonzero(leads)) if len(order) else np.empty(0)
        weights = np.zeros(len(order))
        weights[order[leads]] = largest
        return weights

    def merged(self) -> "Constraints":
        """Return the rows that count: identical rows of one labeler merged, rows of weight 0 left out."""
        weights = self.counted_once()
        rows = np.flatnonzero(weights)
        merged = self.select(rows)
        return merged if self.weights is None else replace(merged, weights=weights[rows])


class Placements(NamedTuple):
    """Links of items with others that stand for a cluster: they say where the first is, and nothing of the second."""

    pairs: Array  # (S, 2)
    weights: Array  # (S,) how many links each counts as; negative where the first item is not in that cluster


NO_PLACEMENTS = Placements(np.empty((0, 2), np.int64), np.empty(0))


def read_constraints(
    triplets: object,
    answers: object,
    kinds: object = None,
    labelers: Iterable[object] | None = None,
    weights: object = None,
    *,
    n_items: int,
    item_names: Array | None = None,
    merge: bool = True,
) -> Constraints:
    """Return checked answers with left < right; where left and right are exchanged for that, so is the answer.

    Parameters
    ----------
    triplets : array-like of shape (M, 3)
        Anchor, left and right of each question: positions of items, or their names where there are `item_names`.
    answers : array-like of shape (M,)
        "yes", "no", "dnk", or 1, -1, 0, or True, False (yes, no); 1, 2, 3 or "dnk" (0) to outlier questions.
    kinds : str or array-like of str, shape (M,), optional
        "relative" (all of them where None) or "outlier".
    labelers : iterable of hashables, M of them, optional
        Who gave each answer; where None, all are of one labeler.
    weights : array-like of shape (M,), optional
        How many answers each counts as: finite and not negative; 0 leaves the answer out.
    n_items : int
        Number of items.
    item_names : array of shape (n_items,), optional
        Names of the items, such as the index of a DataFrame. Integers are positions even so.
    merge : bool
        Whether identical rows of one labeler become one, with the largest of their weights, and rows of weight 0
        are left out. Otherwise all rows are kept.

    Returns
    -------
    Constraints

    Raises
    ------
    ValueError
        With the row and value that is wrong.
    """
    places = read_triplets(triplets, n_items, item_names)
    codes = read_kinds(kinds, len(places))
    columns = _read_answers(answers, codes, len(places))
    swapped = places[:, 1] > places[:, 2]
    places[swapped, 1:] = places[swapped, :0:-1]
    for code, kind in enumerate(KINDS):
        rows = swapped & (codes == code)
        columns[rows] = _MIRRORED[kind][columns[rows]]
    people, names = _read_labelers(labelers, len(places))
    constraints = Constraints(
        places, columns, codes, people, names, _read_weights("weights", weights, len(places), "answers")
    )
    return constraints.merged() if merge else constraints


def read_triplets(triplets: object, n_items: int, item_names: Array | None = None) -> Array:
    """Return a new (M, 3) integer array with three different positions below `n_items` in each row.

    Raises ValueError with the row that is wrong.
    """
    places = _read_places("triplets", triplets, ("anchor", "left", "right"), n_items, item_names)
    anchor, left, right = places.T
    _refuse("triplets", (anchor == left) | (anchor == right) | (left == right), places, "three different items")
    return places


def read_pairs(name: str, pairs: object, n_items: int, item_names: Array | None = None) -> Array:
    """Return must-link or cannot-link pairs as an (L, 2) array of different rows, the smaller position first.

    Raises ValueError with the `name` of the pairs and the row that is wrong.
    """
    places = _read_places(name, pairs, ("one item", "the other"), n_items, item_names)
    low, high = np.sort(places, axis=1).T
    _refuse(name, low == high, places, "two different items")
    different: Array = np.unique(np.column_stack([low, high]), axis=0)
    return different


def read_weighted_pairs(
    name: str, pairs: object, weights: object, n_items: int, item_names: Array | None = None
) -> tuple[Array, Array]:
    """Return what `read_pairs` does, and how much each pair counts, (L,): 1, or the largest weight of its rows.

    Raises ValueError where `read_pairs` does, and where a weight is missing, negative or not finite.
    """
    places = _read_places(name, pairs, ("one item", "the other"), n_items, item_names)
    different = read_pairs(name, places, n_items)
    counts = _read_weights(name.replace("link", "weights"), weights, len(places), "pairs")
    if counts is None:
        return different, np.ones(len(different))
    _, rows = np.unique(np.sort(places, axis=1), axis=0, return_inverse=True)
    largest = np.zeros(len(different))
    np.maximum.at(largest, rows.ravel(), counts)
    return different, largest


def read_placements(stand_ins: object, weights: object, n_items: int, item_names: Array | None = None) -> Placements:
    """Return checked links of items with others that stand for a cluster.

    Pairs of weight 0 are left out. Raises ValueError with the row that is wrong.
    """
    pairs = _read_places("stand_ins", stand_ins, ("an item", "one that stands for a cluster"), n_items, item_names)
    _refuse("stand_ins", pairs[:, 0] == pairs[:, 1], pairs, "two different items")
    counts = np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape != (len(pairs),) or not np.isfinite(counts).all():
        raise ValueError(f"stand_in_weights must be {len(pairs)} finite numbers, got shape {counts.shape}")
    return Placements(pairs[counts != 0], counts[counts != 0])


def _read_places(name: str, rows: object, columns: tuple[str, ...], n_items: int, item_names: Array | None) -> Array:
    """Return a new array of item positions below `n_items`; rows may hold names where there are `item_names`."""
    places = np.array([] if rows is None else rows)
    if places.size == 0:
        return np.empty((0, len(columns)), dtype=np.int64)
    if places.ndim != 2 or places.shape[1] != len(columns):
        raise ValueError(f"{name} must have shape (M, {len(columns)}): {', '.join(columns)}; got {places.shape}")
    if not np.issubdtype(places.dtype, np.integer):
        if item_names is None or np.issubdtype(places.dtype, np.floating):
            raise ValueError(f"{name} must be integer item positions, got {places.dtype}")
        places = _positions_of(name, places, item_names)
    places = places.astype(np.int64)
    _refuse(name, ((places < 0) | (places >= n_items)).any(axis=1), places, f"positions from 0 to {n_items - 1}")
    return places


def _positions_of(name: str, rows: Array, item_names: Array) -> Array:
    """Return the positions of named items."""
    positions: dict[Any, int] = {}
    for position, item in enumerate(item_names.tolist()):
        if positions.setdefault(item, position) != position:
            raise ValueError(f"{name} hold names of items, but two items are named {item!r}: use positions")
    unknown = [row for row, items in enumerate(rows.tolist()) if any(item not in positions for item in items)]
    if unknown:
        row = unknown[0]
        raise ValueError(f"{name} row {row} is {rows[row].tolist()}: expected names from the index of X")
    return np.array([[positions[item] for item in items] for items in rows.tolist()], dtype=np.int64)


def _refuse(name: str, bad: Any, places: Array, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} row {row} is {places[row].tolist()}: expected {expected}")


def read_kinds(kinds: object, n_rows: int) -> Array:
    """Return the code of every row's question kind, shape (n_rows,): 0 relative (also where None), 1 outlier."""
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


def read_kind(kinds: object, n_rows: int) -> Kind:
    """Return the one kind of all rows; raises ValueError where kinds differ."""
    codes = read_kinds(kinds, n_rows)
    if len(set(codes.tolist())) > 1:
        raise ValueError("kinds must all be the same here: relative and outlier questions have different answers")
    return KINDS[codes[0]] if len(codes) else KINDS[0]


def _read_answers(answers: object, codes: Array, n_rows: int) -> Array:
    """Return the column of every answer in the table of its kind, shape (n_rows,)."""
    values = _as_values(answers)
    _check_length("answers", values.size, n_rows)
    if np.issubdtype(values.dtype, np.floating) and np.all(values == np.round(values)):
        values = values.astype(np.int64)
    columns = np.empty(n_rows, dtype=np.int64)
    for code, kind in enumerate(KINDS):
        rows = np.flatnonzero(codes == code)
        distinct, where = np.unique(values[rows], return_inverse=True)
        column_of = np.array([_COLUMNS[kind].get(str(value), -1) for value in distinct], dtype=np.int64)
        columns[rows] = column_of[where]
        if (column_of < 0).any():
            row = int(rows[np.argmax(column_of[where] < 0)])
            raise ValueError(f"answers row {row} is {values[row].item()!r}: expected {_EXPECTED[kind]}")
    return columns


def _as_values(answers: object) -> Array:
    """Return the answers as one array, with True as "True": numpy would turn it into 1 among numbers."""
    if isinstance(answers, list | tuple) and any(isinstance(answer, bool | np.bool_) for answer in answers):
        return np.array([str(answer) for answer in answers])
    values = np.asarray([] if answers is None else answers)
    return values.astype(str) if values.dtype == object else values


def _read_labelers(labelers: Iterable[object] | None, n_rows: int) -> tuple[Array, tuple[object, ...]]:
    """Return the code of every row's labeler and the labelers by code."""
    if labelers is None:
        return np.zeros(n_rows, dtype=np.int64), (None,)
    codes, names = number_labelers(labelers)
    _check_length("labelers", len(codes), n_rows)
    return codes, names


def number_labelers(labelers: Iterable[Any]) -> tuple[Array, tuple[Any, ...]]:
    """Return the code of each labeler, (M,), and the labelers by code, in the order of their first answers."""
    code_of: dict[Any, int] = {}
    plain = labelers.tolist() if isinstance(labelers, np.ndarray) else labelers
    codes = np.array([code_of.setdefault(labeler, len(code_of)) for labeler in plain], dtype=np.int64)
    return codes, tuple(code_of)


def _read_weights(name: str, weights: object, n_rows: int, rows: str) -> Array | None:
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must have one number for each of the {n_rows} {rows}, got shape {values.shape}")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} row {row} is {values[row]}: expected a finite number of at least 0")
    return values


def _check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(f"{name} has {length} rows, triplets has {n_rows}")


def read_labels(labels: object, n_items: int, n_clusters: int) -> Array:
    """Return clusters of all items as an (N,) integer array; raises ValueError with the row and value that is wrong."""
    clusters = np.asarray(labels)
    if clusters.shape != (n_items,):
        raise ValueError(f"init must have one cluster for each of the {n_items} items, got shape {clusters.shape}")
    bad = ~np.isin(clusters, np.arange(n_clusters))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"init row {row} is {clusters[row].item()!r}: expected a cluster from 0 to {n_clusters - 1}")
    return clusters.astype(np.int64)
