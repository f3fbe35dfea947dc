"""Numbers clusters as in the run before, so that "cluster 4" stays what the analyst called cluster 4."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from tercet_algorithms.answers.patterns import Array


def match_clusters(previous_labels: Any, labels: Any, n_clusters: int) -> Array:
    """Return new numbers of the clusters of `labels`, a permutation of range(n_clusters): new label = result[label].

    Matches by the most items shared with the clusters of `previous_labels`, which may have had more or fewer of
    them, may be shorter (items were added since) and may hold -1 for items it says nothing about. Clusters that
    share nothing with an old one get the numbers that are left over.
    """
    before, now = np.array(previous_labels, dtype=np.int64), np.array(labels, dtype=np.int64)
    n_common = min(len(before), len(now))
    before, now = before[:n_common], now[:n_common]
    matched = before >= 0
    n_before = max(int(before.max(initial=-1)) + 1, n_clusters)
    shared = np.zeros((n_clusters, n_before), dtype=np.int64)
    np.add.at(shared, (now[matched], before[matched]), 1)
    numbers = np.full(n_clusters, -1)
    for cluster, number in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        if shared[cluster, number] and number < n_clusters:
            numbers[cluster] = number
    numbers[numbers < 0] = np.setdiff1d(np.arange(n_clusters), numbers)
    return numbers
