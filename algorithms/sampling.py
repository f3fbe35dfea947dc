"""A smaller problem with the same optimum, nearly: what a fit of very many items begins with.

Weights are few however many items there are, so a sample of the answers and of the other items tells them to two or
three digits, and the fit of everything has only the rest of the way to go.
"""

from typing import Any

import numpy as np

from algorithms.discriminative import LowerBound
from algorithms.mean_field import MeanField
from algorithms.patterns import Array

# Each sample is so much of the next larger one, down to so many items.
_SHARE = 1 / 4
_FEWEST = 50_000
# A start is only a start: K-means and its classifier see so many items at most.
_START_ITEMS = 10_000


def shares(n_items: int) -> list[float]:
    """Parts of all items to fit one after another before all of them are; none where items are not many."""
    found: list[float] = []
    while n_items * _SHARE ** (len(found) + 1) >= _FEWEST:
        found.insert(0, _SHARE ** (len(found) + 1))
    return found


def some_items(n_items: int, seed: int) -> slice | Array:
    """All items, or that many at random that a start needs."""
    if n_items <= _START_ITEMS:
        return slice(None)
    chosen: Array = np.sort(np.random.RandomState(seed).choice(n_items, _START_ITEMS, replace=False))
    return chosen


def sample(
    objective: LowerBound, log_likelihoods: Array, n_clusters: int, share: float, rng: np.random.RandomState
) -> LowerBound:
    """The bound for a share of the answers and of the other items, every term weighted as in the whole."""
    n_constrained, whole = objective.n_constrained, objective.field
    field, weight, rows = None, objective.weight / share, np.empty(0, dtype=np.int64)
    if whole is not None:
        n_answers = len(whole.triplets)
        chosen = np.sort(rng.choice(n_answers, max(int(share * n_answers), 1), replace=False))
        field = MeanField(whole.triplets[chosen], log_likelihoods[chosen], n_clusters, whole.dtype)
        rows, weight = field.items, objective.weight * n_answers / len(chosen)
    n_others = len(objective.X) - n_constrained
    others = n_constrained + np.sort(rng.choice(n_others, int(share * n_others), replace=False))
    rows = np.concatenate([rows, others])
    bags = None if objective.bags is None else objective.bags.of(rows)
    terms: dict[str, Any] = {"tau": objective.tau, "lam": objective.lam, "balance": objective.balance}
    return LowerBound(objective.X[rows], field, **terms, weight=weight, bags=bags)
