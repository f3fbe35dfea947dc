"""How many clusters answers support: as many as are left when those are merged that no answer tells apart.

A model with too many clusters puts one class into two of them, or leaves some nearly empty. Merged, such clusters
predict each answer by all others no worse, or even better; merged classes that answers have told apart predict them far
worse. Few answers say neither, and then nothing is merged.
"""

from itertools import combinations
from typing import Any

import numpy as np

from tercet_algorithms.answers.independence import left_out
from tercet_algorithms.answers.patterns import Array, pattern_probabilities

# Strong evidence, by the usual scale of Bayes factors.
STRONG = 20.0
# A cluster with a smaller part of an even share of the items is nearly empty.
NEARLY_EMPTY = 0.1
# Below this a probability is not told from rounding.
_LEAST = 1e-9


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

    def score(P: Array) -> float:
        patterns = left_out(pattern_probabilities(P, triplets), columns, table, weights)
        probabilities = (patterns @ table)[np.arange(len(columns)), columns]
        return float(counts @ np.log(np.maximum(probabilities, _LEAST)))

    unmerged = score(P)
    while len(groups) > 2:
        gains = {pair: score(_merged(P, *pair)) - unmerged for pair in combinations(range(len(groups)), 2)}
        allowed = {
            (a, b): gain
            for (a, b), gain in gains.items()
            if gain >= np.log(STRONG) or (min(sizes[a], sizes[b]) < least_size and gain > -np.log(STRONG))
        }
        if not allowed:
            break
        a, b = max(allowed, key=lambda pair: allowed[pair])
        P, unmerged = _merged(P, a, b), unmerged + allowed[a, b]
        sizes[a] += sizes[b]
        sizes = np.delete(sizes, b)
        groups[a] += groups.pop(b)
    return [sorted(group) for group in groups]


def _merged(P: Array, a: int, b: int) -> Array:
    """Return the posteriors with cluster b in cluster a, where a < b."""
    merged = np.delete(P, b, axis=1)
    merged[:, a] += P[:, b]
    return merged
