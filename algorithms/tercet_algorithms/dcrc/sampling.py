"""A smaller problem with the same optimum, nearly: what a fit of very many items begins with.

Weights are few however many items there are, so a sample of the answers and of the other items determines them to two
or three digits, from where the fit of everything has a short way to go.
"""

from typing import Any

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField

# Each sample is so much of the next larger one, down to so many items.
_SHARE = 1 / 4
_FEWEST = 50_000
# A start is only a start: K-means and its classifier see so many items at most.
_START_ITEMS = 10_000


def shares(n_items: int) -> list[float]:
    """Return the shares of all items to fit one after another before all of them; none where items are not many."""
    parts: list[float] = []
    while n_items * _SHARE ** (len(parts) + 1) >= _FEWEST:
        parts.insert(0, _SHARE ** (len(parts) + 1))
    return parts


def some_items(n_items: int, seed: int) -> slice | Array:
    """Return rows of all items, or of as many random ones as a start needs."""
    if n_items <= _START_ITEMS:
        return slice(None)
    chosen: Array = np.sort(np.random.RandomState(seed).choice(n_items, _START_ITEMS, replace=False))
    return chosen


def sample(objective: LowerBound, log_likelihoods: Array, share: float, rng: np.random.RandomState) -> LowerBound:
    """Return the bound for a share of the answers and of the other items, every term weighted as for all of them."""
    n_constrained, field_of_all = objective.n_constrained, objective.field
    field, weight, rows = None, objective.weight / share, np.empty(0, dtype=np.int64)
    if field_of_all is not None:
        n_answers = len(field_of_all.triplets)
        chosen = np.sort(rng.choice(n_answers, max(int(share * n_answers), 1), replace=False))
        field = MeanField(field_of_all.triplets[chosen], log_likelihoods[chosen], field_of_all.dtype)
        rows, weight = field.items, objective.weight * n_answers / len(chosen)
    n_others = len(objective.X) - n_constrained
    others = n_constrained + np.sort(rng.choice(n_others, int(share * n_others), replace=False))
    rows = np.concatenate([rows, others])
    bags = None if objective.bags is None else objective.bags.of(rows)
    terms: dict[str, Any] = {"tau": objective.tau, "lam": objective.lam, "balance": objective.balance}
    return LowerBound(objective.X[rows], field, **terms, weight=weight, bags=bags)
