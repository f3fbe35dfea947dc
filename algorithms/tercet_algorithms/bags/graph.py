"""The affinity graph that spectral clustering cuts: of all pairs of items, or of nearest neighbours only.

The affinity of two items is exp(-d^2 / (2 sigma_p sigma_q)), where an item's sigma is the distance to its t-th nearest
other item (local scaling; Zelnik-Manor and Perona, 2004), so that dense and sparse regions count the same. Without a
number of neighbours all pairs are kept, as in the paper, up to some thousand items, and beyond the nearest neighbours.
"""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from tercet_algorithms.answers.bag_labels import Sparse, is_sparse
from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.links import ItemLinks

Graph: TypeAlias = Any  # Array or Sparse

# Above this many items only nearest neighbours are kept: all pairs of 6,000 items take 288 MB.
MOST_DENSE = 6000
# Number of neighbours above MOST_DENSE items.
AUTO_NEIGHBORS = 20
# Squared distances below this share of the squared norms are rounding.
_TINY = 1e-12
# A new item farther away than fitted ones by this factor is as good as infinitely far.
_FARTHEST = 1e100
# A precomputed affinity may differ from its transpose by this share of its largest value.
_ASYMMETRY = 1e-8
_BLOCK = 512


@dataclass(frozen=True)
class Frame:
    """Where items lie and how far apart: their coordinates in it are about 1, whatever those of X are.

    Distances are differences of squared lengths, and lose as many digits as items are farther from the origin than from
    each other. The centre is a median, which single items far off do not move; units are powers of two, which round
    nothing.
    """

    size: float  # of the numbers in X
    center: Array  # (D,) in units of `size`
    width: float  # of the items about the centre, in units of `size`

    @classmethod
    def of(cls, X: Array) -> Self:
        """Return the frame of the items X (N, D)."""
        size = _power_of_two(np.abs(X).max())
        center = np.median(X / size, axis=0)
        return cls(size, center, _power_of_two(np.abs(X / size - center).max()))

    @property
    def unit(self) -> float:
        """What a distance of 1 in the frame is in X."""
        return self.size * self.width

    @np.errstate(over="ignore", under="ignore")
    def place(self, X: Array) -> Array:
        """Return the coordinates of rows of X (n, D)."""
        placed: Array = np.clip((X / self.size - self.center) / self.width, -_FARTHEST, _FARTHEST)
        return placed


def _power_of_two(value: float) -> float:
    """Return the power of two next above a number, 1 for 0."""
    return float(np.ldexp(1.0, min(int(np.frexp(value)[1]), 1023))) if value > 0 else 1.0


def dense_graph(X: Array, local_k: int) -> tuple[Array, Array]:
    """Return the affinities of all pairs, (N, N) with ones on the diagonal, and sigma (N,)."""
    squared = euclidean_distances(X, squared=True)
    size = np.einsum("nd,nd->n", X, X)
    for row, values in enumerate(squared):
        values[values <= _TINY * (size[row] + size)] = 0
    t = min(local_k, len(X) - 1)
    sigma = np.array([_sigma(values, t) for values in squared])
    sigma = _positive(sigma)
    for row, values in enumerate(squared):
        np.exp(values / (-2 * sigma[row] * sigma), out=values)
    return squared, sigma


def _sigma(squared: Array, t: int) -> float:
    """Return the distance to the t-th nearest other item; to the nearest that is no duplicate where that is 0."""
    value = np.partition(squared, t)[t]
    if value == 0 and squared.any():
        value = squared[squared > 0].min()
    return float(np.sqrt(value))


def _positive(sigma: Array) -> Array:
    """Return sigma with the zeros of items that have only duplicates replaced by the smallest sigma of the others."""
    return np.where(sigma > 0, sigma, sigma[sigma > 0].min(initial=np.inf) if (sigma > 0).any() else 1.0)


def neighbor_graph(X: Array, n_neighbors: int, local_k: int) -> tuple[Sparse, Array]:
    """Return the affinities of nearest neighbours, (N, N) with ones on the diagonal, and sigma (N,)."""
    n_items = len(X)
    k = min(n_neighbors, n_items - 1)
    n_searched = min(max(k, local_k), n_items - 1)
    distances, neighbors = NearestNeighbors(n_neighbors=n_searched).fit(X).kneighbors()
    squared = np.square(distances)
    size = np.einsum("nd,nd->n", X, X)
    squared[squared <= _TINY * (size[:, None] + size[neighbors])] = 0
    t = min(local_k, n_items - 1)
    # Each row begins with the item itself, as in `dense_graph`.
    sigma = _positive(np.array([_sigma(values, t) for values in np.column_stack([np.zeros(n_items), squared])]))
    neighbors, squared = neighbors[:, :k], squared[:, :k]
    values = np.exp(-squared / (2 * sigma[:, None] * sigma[neighbors]))
    starts = np.arange(0, n_items * k + 1, k)
    one_way = csr_array((values.ravel(), neighbors.ravel(), starts), shape=(n_items, n_items))
    both_ways = one_way.maximum(one_way.T) + sparse.eye_array(n_items)
    return csr_array(both_ways), sigma


def precomputed_graph(X: Any) -> Graph:
    """Return a copy of a precomputed affinity, dense or sparse, as float64; raise ValueError where it is none."""
    W: Graph = csr_array(X).astype(np.float64) if is_sparse(X) else np.array(X, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"a precomputed affinity must be square, got shape {W.shape}")
    values = W.data if is_sparse(W) else W
    if not np.isfinite(values).all():
        raise ValueError("a precomputed affinity must be finite numbers; a row holds NaN or inf")
    if values.min(initial=0.0) < 0:
        row, column = (place[0] for place in (W < 0).nonzero())
        raise ValueError(f"Negative values in data: affinity row {row}, column {column}, expected at least 0")
    if not values.any():
        raise ValueError("a precomputed affinity must have positive entries, got none")
    for start in range(0, W.shape[0], _BLOCK):
        rows = slice(start, start + _BLOCK)
        off, columns = (abs(W[rows] - W[:, rows].T) > _ASYMMETRY * values.max(initial=0.0)).nonzero()
        if len(off):
            raise ValueError(f"affinity row {start + off[0]}, column {columns[0]} differs from its mirror image")
    return W


def linked_graph(W: Graph, links: ItemLinks) -> Graph:
    """Return W with the affinities of must-linked pairs raised towards 1, and those of cannot-linked pairs towards 0.

    A weight below 1 is the share of the way there; from weight 1 on the affinity is 1 or 0, as of pairs that bag labels
    link.
    """
    edges = links.strengths.tocoo()
    p, q = edges.coords
    share, alike = np.minimum(np.abs(edges.data), 1), edges.data > 0
    before = np.asarray(W[p, q]).ravel()
    values = (1 - share) * before + share * alike
    if is_sparse(W):
        changed = csr_array(W + sparse.coo_array((values - before, (p, q)), shape=W.shape))
        changed.eliminate_zeros()
        return changed
    W[p, q] = values
    return W


def degrees(W: Graph) -> Array:
    """Return the row sums, (N,)."""
    return np.asarray(W.sum(axis=1)).ravel()
