"""What to ask next: candidate triplets scored by what an answer is expected to tell under the new posteriors."""

import numpy as np
from numpy.random import Generator

from algorithms.patterns import Kind, answer_table, expected_information
from algorithms.simulate import random_triplets
from app.clustering.results import Array

DRAWN = 20_000
AIMED = 5_000
# Enough for the labelers until the next run refills the queue.
WANTED = 150
# One run's questions are spread over items: a second question about an item tells less once the first is answered.
MOST_PER_ITEM = 3


def informative(posterior: Array, kind: str, epsilon: float, rng: Generator) -> tuple[Array, Array]:
    """Give triplets (n, 3) of positions and the information (n,) in nats expected of each, best first."""
    n_items = len(posterior)
    if n_items < 3:
        return np.empty((0, 3), np.int64), np.empty(0)
    name: Kind = "outlier" if kind == "outlier" else "relative"
    drawn = random_triplets(n_items, min(DRAWN, n_items * (n_items - 1) * (n_items - 2) // 2), rng)
    candidates = np.concatenate([drawn, _aimed(posterior, rng)])
    # An outlier question has no anchor: any order of the three is the same question.
    candidates[:, 0 if name == "outlier" else 1 :].sort(axis=1)
    candidates = np.unique(candidates, axis=0)
    scores = expected_information(posterior, candidates, answer_table(name, epsilon))
    order = np.argsort(-scores, kind="stable")
    chosen = _spread(candidates[order], n_items)
    return candidates[order][chosen], scores[order][chosen]


def _aimed(posterior: Array, rng: Generator) -> Array:
    """Triplets of an uncertain item with a likely member of each of its two most probable clusters."""
    n_items, n_clusters = posterior.shape
    if n_clusters < 2:
        return np.empty((0, 3), np.int64)
    least = np.argsort(posterior.max(axis=1), kind="stable")[: max(n_items // 10, 1)]
    anchors = rng.choice(least, AIMED)
    best_two = np.argsort(-posterior[anchors], axis=1)[:, :2]
    members = np.cumsum(posterior, axis=0, dtype=np.float64)
    heights = rng.random((AIMED, 2)) * members[-1, best_two]
    others = np.empty((AIMED, 2), np.int64)
    for cluster in range(n_clusters):
        mine = best_two == cluster
        others[mine] = np.searchsorted(members[:, cluster], heights[mine]).clip(max=n_items - 1)
    aimed = np.column_stack([anchors, others])
    different = (aimed != np.roll(aimed, 1, axis=1)).all(axis=1)
    kept: Array = aimed[different]
    return kept


def _spread(triplets: Array, n_items: int) -> Array:
    """Rows to keep so that no item comes too often; small projects have no choice but to repeat."""
    limit = max(MOST_PER_ITEM, 3 * WANTED // n_items + 1)
    used = [0] * n_items
    kept: list[int] = []
    for row, (anchor, left, right) in enumerate(triplets.tolist()):
        if used[anchor] < limit and used[left] < limit and used[right] < limit:
            used[anchor] += 1
            used[left] += 1
            used[right] += 1
            kept.append(row)
            if len(kept) == WANTED:
                break
    return np.array(kept, dtype=np.int64)
