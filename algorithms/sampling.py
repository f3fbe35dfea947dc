"""A smaller problem with the same optimum, nearly: what a fit of very many items begins with.

Weights are few however many items there are, so a sample of the answers and of the other items tells them to two or
three digits, and the fit of everything has only the rest of the way to go.
"""

import numpy as np

from algorithms.discriminative import LowerBound
from algorithms.mean_field import MeanField
from algorithms.patterns import Array

# Each sample is so much of the next larger one, down to so many items.
_SHARE = 1 / 4
_FEWEST = 50_000


def shares(n_items: int) -> list[float]:
    """Parts of all items to fit one after another before all of them are; none where items are not many."""
    found: list[float] = []
    while n_items * _SHARE ** (len(found) + 1) >= _FEWEST:
        found.insert(0, _SHARE ** (len(found) + 1))
    return found


def sample(
    objective: LowerBound, log_likelihoods: Array, n_clusters: int, share: float, rng: np.random.RandomState
) -> LowerBound:
    """The bound for a share of the answers and of the free items, every term weighted as in the whole."""
    n_constrained, whole = objective.n_constrained, objective.field
    field, weight, rows = None, 0.0, np.empty(0, dtype=np.int64)
    if whole is not None:
        n_answers = len(whole.triplets)
        chosen = np.sort(rng.choice(n_answers, max(int(share * n_answers), 1), replace=False))
        field = MeanField(whole.triplets[chosen], log_likelihoods[chosen], n_clusters, whole.dtype)
        rows, weight = field.items, objective.weight * n_answers / len(chosen)
    free = n_constrained + np.sort(rng.choice(objective.n_free, int(share * objective.n_free), replace=False))
    X = objective.X[np.concatenate([rows, free])]
    return LowerBound(X, field, tau=objective.tau, lam=objective.lam, balance=objective.balance, weight=weight)
