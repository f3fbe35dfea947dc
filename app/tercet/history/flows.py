"""The flow of items from the clusters of one run to those of another, from nothing but the two arrays of clusters."""

from dataclasses import dataclass

import numpy as np

from tercet.runs.results import Array


@dataclass(frozen=True)
class Flow:
    """The items that were in the cluster `before` and are in the cluster `now`."""

    before: int
    now: int
    items: int
    moved: bool


@dataclass(frozen=True)
class Flows:
    """All flows between two runs, the positions of the items that moved, and the matched clusters, earlier to later."""

    flows: list[Flow]
    moved: Array  # (M,) positions, ascending
    matched: dict[int, int]
    items: int


def flows_between(before: Array, now: Array) -> Flows:
    """Compare two arrays of clusters (N,) from 1, below 1 for items that are in none.

    Items that only the longer array has are left out, and so are those without a cluster in either.
    """
    common = min(len(before), len(now))
    positions = np.flatnonzero((before[:common] > 0) & (now[:common] > 0))
    before, now = before[positions].astype(np.int64), now[positions].astype(np.int64)
    size = int(max(before.max(initial=0), now.max(initial=0)))
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (before - 1, now - 1), 1)
    matched = match(counts)
    partner = np.array([0, *(matched.get(cluster, 0) for cluster in range(1, size + 1))])
    flows = [
        Flow(row + 1, column + 1, int(counts[row, column]), matched.get(row + 1) != column + 1)
        for row, column in np.argwhere(counts).tolist()
    ]
    return Flows(flows, positions[partner[before] != now], matched, len(positions))


def match(counts: Array) -> dict[int, int]:
    """Match clusters, from 1, so that pairs share as many of the counted items (K, K) as possible.

    Where several matchings share as many, the one with more pairs of equal numbers is taken: people know clusters by
    their numbers.
    """
    from scipy.optimize import linear_sum_assignment  # 30 MB, which a web process does without until it is needed

    size = len(counts)
    # Less than one item for all equal numbers together, so that no item is given away for them.
    favoured = counts * (size + 1) + np.eye(size, dtype=np.int64) * (counts > 0)
    pairs = zip(*linear_sum_assignment(favoured, maximize=True), strict=True)
    return {int(row) + 1: int(column) + 1 for row, column in pairs if counts[row, column]}
