"""Items that are put where others are which stand for a cluster.

Whoever moves ten items into a cluster says something of these ten, and nothing of the few items by which the cluster is
named. A must-link is about both of its items: ten of them to the same item draw it to where the ten were, and the surer
the model is of every item, the likelier it is that the few go to the many. So each of these links is about a copy of
the item that stands for the cluster. A copy has the item's features, and no answer or link but this one; summed out, it
leaves a factor of the item i that is put where j is,

    P(link | y_i = k) = P(link | alike) p(y = k | x_j) + P(link | apart) (1 - p(y = k | x_j)).
"""

from dataclasses import dataclass

import numpy as np

from tercet_algorithms.answers.patterns import Array


@dataclass(frozen=True)
class StandIns:
    """L links of items with others that stand for clusters, by their rows among the n constrained items."""

    items: Array  # (L,)
    others: Array  # (L,)
    if_alike: Array  # (L,) P(link | both in one cluster)
    if_apart: Array  # (L,)
    counts: Array  # (L,) how many links each counts as

    def add_factors(self, log_p: Array, P: Array) -> None:
        """Add the logarithms of the factors, under p(y | x) of the items (K, n), to `log_p` (n, K), in place."""
        np.add.at(log_p, self.items, self.counts[:, None] * np.log(self._factors(P)))

    def expected(self, q: Array, P: Array) -> tuple[float, Array]:
        """Return E_q[log P(links | y)] for posteriors q (n, K), and its derivative by the items' logits, (K, n)."""
        factors, of_items = self._factors(P), self.counts[:, None] * q[self.items]
        p = P.T[self.others]
        by_p = of_items * (self.if_alike - self.if_apart)[:, None] / factors
        by_logits = p * (by_p - (by_p * p).sum(axis=1, keepdims=True))
        derivative = np.zeros(P.T.shape)
        np.add.at(derivative, self.others, by_logits)
        return float(np.vdot(of_items, np.log(factors))), derivative.T

    def _factors(self, P: Array) -> Array:
        """Return P(link | y_i = k), (L, K)."""
        p = P.T[self.others].astype(np.float64)
        factors: Array = self.if_apart[:, None] + (self.if_alike - self.if_apart)[:, None] * p
        return factors
