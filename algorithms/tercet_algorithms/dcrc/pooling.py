"""Several models as one: their scores, linear in the same features, are added up once their clusters are matched.

That is a logarithmic opinion pool: where models agree it is sure, where they contradict each other it is not.
"""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from tercet_algorithms.answers.patterns import Array

# More rows match clusters no better.
_ROWS = 2000


def matching(W: Array, reference: Array, X: Array) -> Array:
    """Return for each cluster of the reference that of W (K, D + 1) which shares most of the rows of X (N, D + 1)."""
    X = X[:: max(len(X) // _ROWS, 1)]
    shared = softmax(X @ reference.T, axis=1).T @ softmax(X @ W.T, axis=1)
    clusters: Array = linear_sum_assignment(shared, maximize=True)[1]
    return clusters


def pool(models: Mapping[str, Array], shares: Mapping[str, float], X: Array) -> tuple[Array, dict[str, Array]]:
    """Return the sum (K, D + 1) of each model's weights times its share, and the clusters (K,) that each gives it.

    Clusters are numbered as in the first model.
    """
    reference = next(iter(models.values()))
    total, orders = np.zeros(reference.shape), {}
    for name, W in models.items():
        orders[name] = matching(W, reference, X)
        total += shares[name] * W[orders[name]]
    return total, orders


def widened(W: Array, columns: Array, width: int) -> Array:
    """Return the weights (K, d + 1) of some columns as (K, width + 1): 0 for features that they do not see."""
    wide = np.zeros((len(W), width + 1))
    wide[:, columns], wide[:, -1] = W[:, :-1], W[:, -1]
    return wide
