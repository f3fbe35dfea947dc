"""Samples of very many items: smaller problems with nearly the same optimum, which a fit begins with.

There are few weights however many items there are, so a sample of the answers and of the other items determines them to
two or three digits, and the fit of everything needs few steps from there.
"""

from typing import Any

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField

# Size of each sample as a share of the next larger one, and of the smallest sample in items.
_SHARE = 1 / 4
_FEWEST = 50_000
# The K-means of a start and its classifier see this share of the items, though no fewer than the first number and no
# more than the second. A start need not be precise: with 5,000 items the bounds are those of starts from all of them.
_START_SHARE, _START_FEWEST, _START_MOST = 0.4, 2_000, 10_000


def shares(n_items: int) -> list[float]:
    """Return the sizes of the samples to fit before all items, as shares, ascending; none where items are not many."""
    parts: list[float] = []
    while n_items * _SHARE ** (len(parts) + 1) >= _FEWEST:
        parts.insert(0, _SHARE ** (len(parts) + 1))
    return parts


def some_items(n_items: int, seed: int) -> slice | Array:
    """Return all rows, or random ones where there are more than a start needs."""
    n_seen = int(np.clip(_START_SHARE * n_items, _START_FEWEST, _START_MOST))
    if n_items <= n_seen:
        return slice(None)
    chosen: Array = np.sort(np.random.RandomState(seed).choice(n_items, n_seen, replace=False))
    return chosen


def sample(objective: LowerBound, log_likelihoods: Array, share: float, rng: np.random.RandomState) -> LowerBound:
    """Return the bound for a share of the answers and other items, each term with its weight in the full bound."""
    n_constrained, field_of_all = objective.n_constrained, objective.field
    field, weight, rows = None, objective.weight / share, np.empty(0, dtype=np.int64)
    if field_of_all is not None:
        n_answers = len(field_of_all.triplets)
        chosen = np.sort(rng.choice(n_answers, max(int(share * n_answers), 1), replace=False))
        n_others = n_answers - len(field_of_all.stand_in_counts)
        counts = field_of_all.stand_in_counts[chosen[chosen >= n_others] - n_others]
        field = MeanField(field_of_all.triplets[chosen], log_likelihoods[chosen], field_of_all.dtype, counts)
        rows, weight = field.items, objective.weight * n_answers / len(chosen)
    n_others = len(objective.X) - n_constrained
    others = n_constrained + np.sort(rng.choice(n_others, int(share * n_others), replace=False))
    rows = np.concatenate([rows, others])
    bags = None if objective.bags is None else objective.bags.of(rows)
    terms: dict[str, Any] = {"tau": objective.tau, "lam": objective.lam, "balance": objective.balance}
    return LowerBound(objective.X[rows], field, **terms, weight=weight, bags=bags)
