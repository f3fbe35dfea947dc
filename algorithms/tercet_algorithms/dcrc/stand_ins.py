"""Links of items with others that only stand for a cluster.

An analyst who moves ten items into a cluster says something about these ten, and nothing about the few items that stand
for the cluster. A must-link is about both of its items: ten must-links with one item draw it to where the ten were, and
the surer the model is of every item, the likelier it is that the few go to the many. So each of these links is about a
copy of the item that stands for the cluster. A copy has the features of its item, and no answer or link but this one.
Summing over the cluster of the copy of item j leaves a factor for item i, which is put where j is:

    P(link | y_i = k) = P(link | alike) p(y = k | x_j) + P(link | apart) (1 - p(y = k | x_j)).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from tercet_algorithms.answers.patterns import Array


@dataclass(frozen=True)
class StandIns:
    """Links of the n constrained items with S that stand for clusters; one with links of both kinds is there twice."""

    others: Array  # (S,) rows of the items that stand for clusters
    if_alike: Array  # (S,) P(link | both in one cluster)
    if_apart: Array  # (S,)
    counts: csr_array  # (n, S) how many links each item has with each

    @classmethod
    def of_links(cls, pairs: Array, if_alike: Array, if_apart: Array, counts: Array, n_items: int) -> Self:
        """Return L links, by the rows (L, 2) of an item and of what stands for a cluster; each counts so often."""
        different, columns = np.unique(np.column_stack([pairs[:, 1], if_alike, if_apart]), axis=0, return_inverse=True)
        of_items = csr_array((counts, (pairs[:, 0], columns.ravel())), (n_items, len(different)))
        return cls(different[:, 0].astype(np.int64), different[:, 1], different[:, 2], of_items)

    def add_factors(self, log_p: Array, P: Array) -> None:
        """Add the logarithms of the factors, under p(y | x) of the items (K, n), to `log_p` (n, K), in place."""
        log_p += self.counts @ np.log(self._factors(P))

    def expected(self, q: Array, P: Array) -> tuple[float, Array]:
        """Return E_q[log P(links | y)] for posteriors q (n, K), and its derivative by the items' logits, (K, n)."""
        factors, linked = self._factors(P), self.counts.T @ q
        p = P.T[self.others]
        by_p = linked * (self.if_alike - self.if_apart)[:, None] / factors
        derivative = np.zeros(P.T.shape)
        np.add.at(derivative, self.others, p * (by_p - (by_p * p).sum(axis=1, keepdims=True)))
        return float(np.vdot(linked, np.log(factors))), derivative.T

    def _factors(self, P: Array) -> Array:
        """Return P(link | y_i = k), (S, K)."""
        p = P.T[self.others].astype(np.float64)
        factors: Array = self.if_apart[:, None] + (self.if_alike - self.if_apart)[:, None] * p
        return factors
