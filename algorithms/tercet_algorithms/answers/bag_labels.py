"""Reads which items are in which bags and which labels the bags have, into checked sparse matrices.

People label recordings and pictures, not the sounds and regions in them. Bags may come as names, as numbers or not at
all, and labels as lists or as a table; this module turns them into one form.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from tercet_algorithms.answers.patterns import Array

# A csr_array; its stubs distinguish more types than the code needs.
Sparse: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Bags:
    """M checked bags with C labels; an item may be in none, and a bag without labels is unlabelled."""

    bag_of_item: Array  # (N,) position of the bag, -1 for none
    labels: Sparse  # (M, C), 1 where a bag has a label
    names: tuple[Any, ...]  # (C,) the labels

    @cached_property
    def members(self) -> Sparse:
        """B of the paper, (N, M): 1 where an item is in a bag."""
        items = np.flatnonzero(self.bag_of_item >= 0)
        shape = len(self.bag_of_item), self.labels.shape[0]
        return csr_array((np.ones(len(items)), (items, self.bag_of_item[items])), shape=shape)

    @cached_property
    def n_labels(self) -> Array:
        """Number of labels of every bag, (M,)."""
        return np.asarray(self.labels.sum(axis=1)).ravel()

    @cached_property
    def shares(self) -> Sparse:
        """Y of the paper transposed, (M, C): one divided by the bag's number of labels, at each of them."""
        return csr_array(sparse.diags_array(1 / np.maximum(self.n_labels, 1)) @ self.labels)

    @cached_property
    def labels_of_items(self) -> Sparse:
        """The labels of every item's bag, (N, C)."""
        return csr_array(self.members @ self.labels)


def read_bags(bags: Any, bag_labels: Any, *, n_items: int) -> Bags:
    """Return the bags of `n_items` items, given in the forms of `BagSpectralClustering.fit`.

    Raises ValueError with the row and value that is wrong.
    """
    if bags is None:
        if bag_labels is not None:
            raise ValueError("bag_labels are given without bags: expected the bag of each item too")
        return Bags(np.full(n_items, -1), csr_array((0, 0)), ())
    if not isinstance(bags, Iterable):
        raise ValueError(f"bags is {bags!r}: expected the bag of each of {n_items} items")
    bag_of_rows = list(bags.tolist() if isinstance(bags, np.ndarray) else bags)
    if len(bag_of_rows) != n_items:
        raise ValueError(f"bags has {len(bag_of_rows)} rows, X has {n_items}")
    if bag_labels is None or isinstance(bag_labels, Mapping):
        return _read_named(bag_of_rows, {} if bag_labels is None else bag_labels)
    return _read_table(bag_of_rows, np.asarray(bag_labels))


def is_sparse(matrix: Any) -> bool:
    """Return `scipy.sparse.issparse(matrix)` as a plain bool, which does not narrow the type of the matrix."""
    return bool(sparse.issparse(matrix))


def is_missing(bag: Any) -> bool:
    """Return whether an item is in no bag: its bag is None or NaN."""
    return bag is None or (isinstance(bag, float | np.floating) and bool(np.isnan(bag)))


def _read_named(bag_of_rows: list[Any], bag_labels: Mapping[Any, Any]) -> Bags:
    seen: dict[Any, int] = {}
    codes = np.empty(len(bag_of_rows), dtype=np.int64)
    for row, bag in enumerate(bag_of_rows):
        try:
            codes[row] = -1 if is_missing(bag) else seen.setdefault(bag, len(seen))
        except TypeError:
            raise ValueError(f"bags row {row} is {bag!r}: expected a hashable name, None or NaN") from None
    labels_of_bags = [_labels_of(bag, bag_labels.get(bag)) for bag in seen]
    names = _in_order({label for labels in labels_of_bags for label in labels})
    columns = {label: column for column, label in enumerate(names)}
    pairs = [(row, columns[label]) for row, labels in enumerate(labels_of_bags) for label in labels]
    where = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    table = csr_array((np.ones(where.shape[1]), (where[0], where[1])), shape=(len(seen), len(names)))
    return Bags(codes, table, names)


def _labels_of(bag: Any, labels: Any) -> list[Any]:
    """Return the different labels of a bag; a string is one label, not a list of letters."""
    if labels is None:
        return []
    if isinstance(labels, str):
        return [labels]
    if not isinstance(labels, Iterable):
        raise ValueError(f"bag_labels of bag {bag!r} is {labels!r}: expected several labels, or a string")
    try:
        return list(dict.fromkeys(labels.tolist() if isinstance(labels, np.ndarray) else labels))
    except TypeError:
        raise ValueError(f"bag_labels of bag {bag!r} is {labels!r}: expected hashable labels") from None


def _in_order(labels: set[Any]) -> tuple[Any, ...]:
    """Return the labels sorted: by value, or where labels cannot be compared, by type and then by their repr."""
    try:
        return tuple(sorted(labels))
    except TypeError:
        return tuple(sorted(labels, key=lambda label: (type(label).__name__, repr(label))))


def _read_table(bag_of_rows: list[Any], table: Array) -> Bags:
    if table.ndim != 2:
        raise ValueError(f"bag_labels must be a mapping or have shape (bags, labels), got shape {table.shape}")
    wrong = ~np.isin(table, (0, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = table[row, column]
        raise ValueError(f"bag_labels row {row}, column {column} is {value}: expected 0 or 1")
    codes = np.array([_row_of(bag, row, len(table)) for row, bag in enumerate(bag_of_rows)], dtype=np.int64)
    used, places = np.unique(codes[codes >= 0], return_inverse=True)
    codes[codes >= 0] = places
    return Bags(codes, csr_array(table[used].astype(np.float64)), tuple(range(table.shape[1])))


def _row_of(bag: Any, row: int, n_bags: int) -> int:
    if is_missing(bag):
        return -1
    if not (isinstance(bag, int | float | np.integer | np.floating) and 0 <= bag < n_bags and int(bag) == bag):
        raise ValueError(f"bags row {row} is {bag!r}: expected a row of bag_labels, 0 to {n_bags - 1}, or None")
    return int(bag)
