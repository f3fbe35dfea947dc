"""How alike items are: the graph that spectral clustering cuts, whole or of nearest neighbours only.

Two items are alike by exp(-d^2 / (2 sigma_p sigma_q)), where an item's sigma is the distance to its t-th nearest
other item (local scaling; Zelnik-Manor and Perona, 2004): dense and sparse regions then count the same. Up to some
thousand items all pairs are kept, which is what the paper does; beyond, each item's nearest neighbours.
"""

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from algorithms.bag_labels import Sparse, is_sparse
from algorithms.patterns import Array

Graph: TypeAlias = Any  # Array or Sparse

# Of more items than this only nearest neighbours are kept: all pairs of so many take 288 MB.
MOST_DENSE = 6000
# So many neighbours then.
AUTO_NEIGHBORS = 20
# Squared distances below this share of the squared sizes are rounding.
_TINY = 1e-12
# A given affinity may differ from its mirror image by so much of its largest value.
_ASYMMETRY = 1e-8
_BLOCK = 512


def dense_graph(X: Array, local_k: int) -> tuple[Array, Array]:
    """All pairs, (N, N) with ones on the diagonal, and sigma (N,)."""
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
    """Distance to the t-th nearest other item, or to the nearest that is no duplicate where that is farther."""
    value = np.partition(squared, t)[t]
    if value == 0 and squared.any():
        value = squared[squared > 0].min()
    return float(np.sqrt(value))


def _positive(sigma: Array) -> Array:
    """Items that have met nothing but duplicates get the smallest sigma of the others."""
    return np.where(sigma > 0, sigma, sigma[sigma > 0].min(initial=np.inf) if (sigma > 0).any() else 1.0)


def neighbor_graph(X: Array, n_neighbors: int, local_k: int) -> tuple[Sparse, Array]:
    """Pairs in which one is among the other's nearest, (N, N) with ones on the diagonal, and sigma (N,)."""
    n_items = len(X)
    k = min(n_neighbors, n_items - 1)
    most = min(max(k, local_k), n_items - 1)
    distances, neighbors = NearestNeighbors(n_neighbors=most).fit(X).kneighbors()
    squared = np.square(distances)
    size = np.einsum("nd,nd->n", X, X)
    squared[squared <= _TINY * (size[:, None] + size[neighbors])] = 0
    t = min(local_k, n_items - 1)
    # Each row begins with the item itself, as a row of all pairs does.
    sigma = _positive(np.array([_sigma(values, t) for values in np.column_stack([np.zeros(n_items), squared])]))
    neighbors, squared = neighbors[:, :k], squared[:, :k]
    values = np.exp(-squared / (2 * sigma[:, None] * sigma[neighbors]))
    starts = np.arange(0, n_items * k + 1, k)
    one_way = csr_array((values.ravel(), neighbors.ravel(), starts), shape=(n_items, n_items))
    both_ways = one_way.maximum(one_way.T) + sparse.eye_array(n_items)
    return csr_array(both_ways), sigma


def given_graph(X: Any) -> Graph:
    """A copy of a precomputed affinity, dense or sparse, as float64; raises ValueError where it is none."""
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


def degrees(W: Graph) -> Array:
    """Row sums, (N,)."""
    return np.asarray(W.sum(axis=1)).ravel()
