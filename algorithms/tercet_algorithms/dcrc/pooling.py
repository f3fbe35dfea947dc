"""Pooling of models: their clusters are matched, and their scores, linear in the same features, are added up.

That is a logarithmic opinion pool: it is sure where the models agree, and unsure where they contradict each other.
"""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from tercet_algorithms.answers.patterns import Array

# With more rows the matching of clusters gets no better.
_ROWS = 2000


def matching(W: Array, reference: Array, X: Array) -> Array:
    """Return the cluster of W (K, D + 1) matched to each of the reference, by the rows of X (N, D + 1) they share."""
    X = X[:: max(len(X) // _ROWS, 1)]
    shared = softmax(X @ reference.T, axis=1).T @ softmax(X @ W.T, axis=1)
    clusters: Array = linear_sum_assignment(shared, maximize=True)[1]
    return clusters


def pool(models: Mapping[str, Array], shares: Mapping[str, float], X: Array) -> tuple[Array, dict[str, Array]]:
    """Return the sum (K, D + 1) of each model's weights times its share, and the order of each model's clusters, (K,).

    Clusters are numbered as in the first model.
    """
    reference = next(iter(models.values()))
    total, orders = np.zeros(reference.shape), {}
    for name, W in models.items():
        orders[name] = matching(W, reference, X)
        total += shares[name] * W[orders[name]]
    return total, orders


def widened(W: Array, columns: Array, width: int) -> Array:
    """Return the weights (K, d + 1) of some columns as weights (K, width + 1) of all, 0 for the others."""
    wide = np.zeros((len(W), width + 1))
    wide[:, columns], wide[:, -1] = W[:, :-1], W[:, -1]
    return wide
