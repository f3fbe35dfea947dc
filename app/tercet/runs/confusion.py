"""Pairs of clusters that a run confuses: items that it puts into one or the other, and is sure of neither."""

from typing import NamedTuple

import numpy as np

from tercet.runs.results import Array, Result

# As of questions about what is confused: an item is between clusters while no cluster has this probability.
SURE = 0.9
MOST_PAIRS = 3


class ConfusedPair(NamedTuple):
    """Two clusters, the smaller number first, and how many items lie between them."""

    first: int
    second: int
    items: int


def confused_pairs(result: Result) -> list[ConfusedPair]:
    """Return up to three pairs of clusters, those first between which the largest number of items is probably wrong."""
    if result.n_clusters < 2:
        return []
    pairs = _two_likeliest(result)
    is_between = _is_between(result)
    wrong = 1 - result.confidence[is_between].astype(np.float64)
    names, place, items = np.unique(pairs[is_between], axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-np.bincount(place.ravel(), wrong, minlength=len(names)), kind="stable")[:MOST_PAIRS]
    return [ConfusedPair(int(names[row, 0]), int(names[row, 1]), int(items[row])) for row in order]


def items_between(result: Result, first: int, second: int) -> Array:
    """Return the positions of the items between two clusters, the most doubtful first."""
    if result.n_clusters < 2:
        return np.empty(0, dtype=np.int64)
    is_pair: Array = (_two_likeliest(result) == sorted((first, second))).all(axis=1)
    positions = np.flatnonzero(is_pair & _is_between(result))
    return positions[np.argsort(result.confidence[positions], kind="stable")]


def _two_likeliest(result: Result) -> Array:
    """Return the two likeliest clusters of each item, the smaller number first, (N, 2)."""
    likeliest = np.argpartition(-result.posterior, 1, axis=1)[:, :2]
    return np.sort(likeliest, axis=1) + 1


def _is_between(result: Result) -> Array:
    """Return which items in use are not sure, (N,)."""
    doubtful: Array = (result.confidence < SURE) & (result.labels > 0)
    return doubtful
