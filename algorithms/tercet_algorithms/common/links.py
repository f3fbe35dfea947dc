"""Links: pairs of items that are said to be in one cluster, or in two, as factors of the probability of all clusters.

Given scores s_i(k), the logarithms of how well cluster k explains item i, clusters c of all items have the probability

    p(c) ~ prod_i exp s_i(c_i)  prod_ij exp(a_ij [c_i = c_j]),

with a_ij > 0 for a must-link and a_ij < 0 for a cannot-link: a hidden Markov random field (Basu, Bilenko and Mooney,
2004). Both functions here climb from where they start: `mean_field` in sum_i sum_k q_ik (s_ik - log q_ik) + sum_ij a_ij
q_i'q_j, a lower bound of log sum_c p(c), and `most_probable` in log p(c) itself.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.reading import read_weighted_pairs

_TOL = 1e-9
_MOST_SWEEPS = 200
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class ItemLinks:
    """The strengths a of all pairs, and the linked items in groups in which no two are linked with each other.

    To update a group at once is then the same as one item after the other.
    """

    strengths: csr_array  # (N, N), symmetric, 0 where there is no link
    groups: tuple[Array, ...]

    @classmethod
    def of_pairs(cls, must: Array, cannot: Array, must_weights: Array, cannot_weights: Array, n_items: int) -> Self:
        """Return links whose strengths are the weights of the pairs (L, 2), negative for cannot-links."""
        pairs, weights = np.concatenate([must, cannot]), np.concatenate([must_weights, -cannot_weights])
        one_way = sparse.coo_array((weights, pairs.T), shape=(n_items, n_items))
        strengths = csr_array(one_way + one_way.T)
        strengths.eliminate_zeros()
        return cls(strengths, _groups(strengths))

    def times(self, unit: float) -> Self:
        """Return the links with strengths in another unit."""
        return replace(self, strengths=self.strengths * unit)

    @cached_property
    def rows(self) -> tuple[csr_array, ...]:
        """The strengths of the items of each group, with all items."""
        return tuple(self.strengths[items] for items in self.groups)

    def agreement(self, q: Array) -> float:
        """Return sum_ij a_ij q_i'q_j over pairs, for memberships q (N, K)."""
        return float(np.sum(q * (self.strengths @ q))) / 2


def read_links(
    must_link: Any, cannot_link: Any, must_weights: Any, cannot_weights: Any, n_items: int, names: Array | None
) -> ItemLinks | None:
    """Return the links that `fit` was given, None where there are none; raise ValueError for what is no pair."""
    must, weights = read_weighted_pairs("must_link", must_link, must_weights, n_items, names)
    cannot, cannot_factors = read_weighted_pairs("cannot_link", cannot_link, cannot_weights, n_items, names)
    links = ItemLinks.of_pairs(must, cannot, weights, cannot_factors, n_items)
    return links if links.groups else None


def read_start(start: Any, n_items: int, n_clusters: int) -> Array | None:
    """Return the clusters that `fit` shall go on from; raise ValueError where they are none."""
    if start is None:
        return None
    labels = np.asarray(start)
    if labels.shape != (n_items,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"start must be {n_items} integers, the cluster of each item; got {labels.dtype} {labels.shape}"
        )
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise ValueError(f"start must be clusters from 0 to {n_clusters - 1}, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int64)


def _groups(strengths: csr_array) -> tuple[Array, ...]:
    """Return the linked items by colour: each gets the first colour that no item linked with it has."""
    colours = np.full(strengths.shape[0], -1)
    linked = np.flatnonzero(np.diff(strengths.indptr))
    for item in linked:
        neighbours = strengths.indices[strengths.indptr[item] : strengths.indptr[item + 1]]
        taken = set(colours[neighbours].tolist())
        colours[item] = next(colour for colour in range(len(neighbours) + 1) if colour not in taken)
    return tuple(np.flatnonzero(colours == colour) for colour in range(colours.max(initial=-1) + 1))


def memberships(labels: Array, n_clusters: int) -> Array:
    """Return q (N, K), 1 where an item is."""
    return np.eye(n_clusters)[labels]


def mean_field(scores: Array, links: ItemLinks, start: Array | None = None) -> Array:
    """Return the q (N, K) that climbing reaches from `start`, for linked items, or else from what the scores say."""
    q = _softmax(scores)
    if start is not None:
        for items in links.groups:
            q[items] = start[items]
    for _ in range(_MOST_SWEEPS):
        change = 0.0
        for items, rows in zip(links.groups, links.rows, strict=True):
            moved = _softmax(scores[items] + rows @ q)
            change = max(change, float(np.abs(moved - q[items]).max()))
            q[items] = moved
        if change < _TOL:
            break
    return q


def lower_bound(scores: Array, links: ItemLinks, q: Array) -> float:
    """Return the value in which `mean_field` climbs."""
    return float(np.sum(q * (scores - np.log(np.maximum(q, _TINY))))) + links.agreement(q)


def most_probable(scores: Array, links: ItemLinks, start: Array | None = None) -> Array:
    """Return clusters (N,) that moving no single item would improve, reached by climbing from `start`.

    An item moves only to a better cluster.
    """
    labels: Array = scores.argmax(axis=1)
    if start is not None:
        for items in links.groups:
            labels[items] = start[items]
    q = memberships(labels, scores.shape[1])
    for _ in range(_MOST_SWEEPS):
        before = labels.copy()
        for items, rows in zip(links.groups, links.rows, strict=True):
            total = scores[items] + rows @ q
            best = total.argmax(axis=1)
            places = np.arange(len(items))
            is_better = total[places, best] > total[places, labels[items]]
            labels[items] = np.where(is_better, best, labels[items])
            q[items] = memberships(labels[items], scores.shape[1])
        if np.array_equal(before, labels):
            break
    return labels


def _softmax(scores: Array) -> Array:
    q: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return q
