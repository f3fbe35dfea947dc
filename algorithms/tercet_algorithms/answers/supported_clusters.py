"""How many clusters answers support: as many as are left after merging those that no answer tells apart.

A model with too many clusters puts one class into two of them, or leaves some nearly empty. If such clusters are
merged, each answer is predicted from all others as well as before, or even better. If classes that answers have told
apart are merged, answers are predicted far worse. A few answers show neither, and then nothing is merged.
"""

from itertools import combinations
from typing import Any

import numpy as np

from tercet_algorithms.answers.independence import left_out
from tercet_algorithms.answers.patterns import (
    ALL_ALIKE,
    ALL_DIFFERENT,
    ANCHOR_APART,
    LEFT_APART,
    RIGHT_APART,
    Array,
)

# Strong evidence, by the usual scale of Bayes factors.
STRONG = 20.0
# A cluster with a smaller part of an even share of the items is nearly empty.
NEARLY_EMPTY = 0.1
# Below this a probability is not told from rounding.
_LEAST = 1e-9
# Questions whose patterns change by less are passed over: most are, since most are not about both clusters.
_NEGLIGIBLE = 1e-5


def supported_clusters(
    posterior: Any, triplets: Any, columns: Any, table: Array, weights: Array, counts: Array
) -> list[list[int]]:
    """Return the clusters, from 0, in groups that answers do not tell apart; at least two groups.

    Two clusters are merged where that makes the answers 20 times as probable, each by all others; and a nearly empty
    cluster with another one unless that makes them 20 times less probable.

    Parameters
    ----------
    posterior : array of shape (N, K)
    triplets : array of int, shape (M, 3)
    columns : array of int, shape (M,)
        The column of each answer in the table.
    table : array of shape (5, A)
        P(answer | pattern).
    weights : array of shape (M,)
        How much each answer counted in the fit, which is left out when it is predicted.
    counts : array of shape (M,)
        How much each counts here.
    """
    P = np.asarray(posterior, dtype=np.float64)
    groups = [[cluster] for cluster in range(P.shape[1])]
    sizes = np.bincount(P.argmax(axis=1), minlength=len(groups))
    least_size = NEARLY_EMPTY * len(P) / len(groups)
    # Of the three items of each question: the posterior of each cluster, (3, K, M).
    asked = np.ascontiguousarray(P[np.asarray(triplets)].transpose(1, 2, 0))

    def log_scores(pairs: Array, rows: Array) -> Array:
        patterns = left_out(_patterns(*pairs), columns[rows], table, weights[rows])
        probabilities = (patterns @ table)[np.arange(len(rows)), columns[rows]]
        scores: Array = counts[rows] * np.log(np.maximum(probabilities, _LEAST))
        return scores

    while len(groups) > 2:
        alike = _alike(asked)
        unmerged = log_scores(alike, np.arange(len(columns)))
        gains = {}
        for a, b in combinations(range(len(groups)), 2):
            rows, merged = _merged(asked, alike, a, b)
            gain = float((log_scores(merged, rows) - unmerged[rows]).sum())
            nearly_empty = min(sizes[a], sizes[b]) < least_size
            if gain >= np.log(STRONG) or (nearly_empty and gain > -np.log(STRONG)):
                gains[a, b] = gain
        if not gains:
            break
        a, b = max(gains, key=lambda pair: gains[pair])
        asked[:, a] += asked[:, b]
        asked = np.delete(asked, b, axis=1)
        sizes[a] += sizes[b]
        sizes = np.delete(sizes, b)
        groups[a] += groups.pop(b)
    return [sorted(group) for group in groups]


def _alike(asked: Array) -> Array:
    """Return the probabilities that all three items are in one cluster, and each two of them, (4, m).

    The two are left and right, anchor and right, anchor and left: in this order the third one is apart.
    """
    anchor, left, right = asked
    pairs = ((left, right), (anchor, right), (anchor, left))
    return np.stack([(anchor * left * right).sum(axis=0), *((one * other).sum(axis=0) for one, other in pairs)])


def _merged(asked: Array, alike: Array, a: int, b: int) -> tuple[Array, Array]:
    """Return the rows (m,) that change if clusters a and b are one, and their probabilities then, (4, m)."""
    of_a, of_b = asked[:, a], asked[:, b]
    crossed = np.stack([of_a[i] * of_b[j] + of_b[i] * of_a[j] for i, j in ((1, 2), (0, 2), (0, 1))])
    rows = np.flatnonzero(crossed.sum(axis=0) > _NEGLIGIBLE)
    of_a, of_b = of_a[:, rows], of_b[:, rows]
    merged = alike[:, rows]
    merged[0] += np.prod(of_a + of_b, axis=0) - np.prod(of_a, axis=0) - np.prod(of_b, axis=0)
    merged[1:] += crossed[:, rows]
    return rows, merged


def _patterns(all_three: Array, anchor_apart: Array, left_apart: Array, right_apart: Array) -> Array:
    """Return P(pattern), (m, 5), from the probabilities that all, and each two of the items, are in one cluster."""
    patterns = np.empty((len(all_three), 5))
    patterns[:, ALL_ALIKE] = all_three
    patterns[:, ANCHOR_APART] = anchor_apart - all_three
    patterns[:, LEFT_APART] = left_apart - all_three
    patterns[:, RIGHT_APART] = right_apart - all_three
    patterns[:, ALL_DIFFERENT] = 1 - anchor_apart - left_apart - right_apart + 2 * all_three
    return np.clip(patterns, 0, 1)
