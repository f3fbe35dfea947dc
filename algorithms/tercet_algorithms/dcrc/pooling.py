"""Several models as one: their scores, linear in the same features, are added up once their clusters are matched.

That is a logarithmic opinion pool: where models agree it is sure, where they contradict each other it is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.search import ArrayRecord

# Answers about the same items hang together, so that each counts half where models are weighed.
COUNT = 0.5
# A model with a smaller share of what the best has is left out.
_LEAST_SHARE = 0.02
# More rows match clusters no better.
_ROWS = 2000


@dataclass(frozen=True)
class StartPool(ArrayRecord):
    """The good starts of a search, added up; each counts by how probable its bound makes it."""

    W: Array  # (K, D + 1), the sum
    mass: float  # what has been added up, where the best start counts 1
    bound: float  # of the best start

    @property
    def mean(self) -> Array:
        """The weights (K, D + 1) of the pooled model."""
        mean: Array = self.W / self.mass
        return mean

    def joined_by(self, W: Array, bound: float, weight: float, X: Array) -> "StartPool":
        """Return the pool with another start, whose bound has the log likelihood times `weight`, over items X."""
        log_share = COUNT * (bound - self.bound) / weight
        if log_share < np.log(_LEAST_SHARE):
            return self
        if log_share > -np.log(_LEAST_SHARE):
            return StartPool(W, 1.0, bound)
        share = float(np.exp(log_share))
        if share <= 1:
            return StartPool(self.W + share * W[matching(W, self.mean, X)], self.mass + share, self.bound)
        return StartPool(W + self.W[matching(self.mean, W, X)] / share, 1 + self.mass / share, bound)


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


def widened(W: Array, width: int) -> Array:
    """Return the weights (K, D + 1) as (K, width + 1): 0 for features that they do not see."""
    return np.column_stack([W[:, :-1], np.zeros((len(W), width + 1 - W.shape[1])), W[:, -1]])
