"""The kernel that SKLR starts from and its low-rank form K0 = Z Z'.

By default a Gaussian whose bandwidth follows the density of the data (Eq 19): sigma of an item is the distance to
its l-th nearest other item. Z comes from the eigenvectors of K0, or for many items from an incomplete Cholesky
factorisation or Nystroem's method, which look at a few columns of K0 only. All three extend to new items in the
same way, z(x) = (Z_b' Z_b)^-1 Z_b' k_x with the items b whose columns were looked at (Eq 18's factor).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from algorithms.patterns import Array

Criterion = Literal["trace", "frobenius"]
LowRank = Literal["eigen", "cholesky", "nystroem"]

# Bandwidths of more items than this are distances within a random sample of so many.
MOST_REFERENCES = 5000
# Above this many items "auto" factorises without looking at all of K0.
MOST_EIGEN = 2000
# Rank of those factorisations where `max_rank` is None.
DEFAULT_MAX_RANK = 500
_BLOCK = 4096
_FEW_ROWS = 256  # of distances, so that they stay in the processor's cache
_TINY = 1e-12


class BaseKernel(Protocol):
    """A positive semidefinite function of two items, or nearly so."""

    def __call__(self, X: Array, Y: Array) -> Array:
        """k(x, y) of all rows, shape (len(X), len(Y))."""
        ...

    def diagonal(self, X: Array) -> Array:
        """k(x, x) of all rows."""
        ...


@dataclass(frozen=True)
class NamedKernel:
    """A kernel that scikit-learn knows by name, or a function of two rows."""

    metric: str | Callable[[Array, Array], float]

    def __call__(self, X: Array, Y: Array) -> Array:
        values: Array = np.asarray(pairwise_kernels(X, Y, metric=self.metric), dtype=np.float64)
        return values

    def diagonal(self, X: Array) -> Array:
        return np.concatenate([np.diag(self(X[i : i + 64], X[i : i + 64])) for i in range(0, len(X), 64)])


@dataclass(frozen=True)
class PrecomputedKernel:
    """A given (N, N) matrix; rows are positions in it."""

    values: Array

    def __call__(self, X: Array, Y: Array) -> Array:
        values: Array = self.values[np.ix_(X[:, 0], Y[:, 0])].astype(np.float64)
        return values

    def diagonal(self, X: Array) -> Array:
        diagonal: Array = np.diag(self.values)[X[:, 0]].astype(np.float64)
        return diagonal


@dataclass(frozen=True)
class AdaptiveKernel:
    """exp(-d(x, y)^2 / (sigma_x sigma_y)) (Eq 19); rows carry their sigma in the last column."""

    references: Array  # (R, D) items that bandwidths are measured to
    n_neighbors: int
    floor: float  # a bandwidth is never smaller: the smallest positive one of the items

    def __call__(self, X: Array, Y: Array) -> Array:
        squared = euclidean_distances(X[:, :-1], Y[:, :-1], squared=True)
        values: Array = np.exp(-squared / np.outer(X[:, -1], Y[:, -1]))
        return values

    def diagonal(self, X: Array) -> Array:
        return np.ones(len(X))

    def with_bandwidths(self, X: Array) -> Array:
        """Rows of X with their sigma appended."""
        sigma = np.maximum(neighbor_distances(X, self.references, self.n_neighbors), self.floor)
        return np.column_stack([X, sigma])


def adaptive_kernel(X: Array, n_neighbors: int, rng: np.random.RandomState) -> tuple[AdaptiveKernel, Array]:
    """The kernel of the items X (N, D), and its rows of them; `n_neighbors` may be more than there are."""
    references = X
    if len(X) > MOST_REFERENCES:
        references = X[np.sort(rng.permutation(len(X))[:MOST_REFERENCES])]
    sigma = neighbor_distances(X, references, n_neighbors)
    positive = sigma[sigma > 0]
    kernel = AdaptiveKernel(references, n_neighbors, float(positive.min()) if len(positive) else 1.0)
    return kernel, np.column_stack([X, np.maximum(sigma, kernel.floor)])


def neighbor_distances(X: Array, references: Array, n_neighbors: int) -> Array:
    """Distance from every row of X to its l-th nearest other reference, or to the farthest where there are fewer.

    A reference at distance 0 is taken for the row itself and passed over once, so an item has the same bandwidth
    whether it is met as one of the references or again later.
    """
    out = np.empty(len(X))
    columns, norms = -2 * references.T, np.einsum("nd,nd->n", references, references)
    wanted = np.minimum([0, n_neighbors - 1, n_neighbors], len(references) - 1)
    for start in range(0, len(X), _FEW_ROWS):
        rows = X[start : start + _FEW_ROWS]
        size = np.einsum("nd,nd->n", rows, rows)[:, None]
        less_size = rows @ columns
        less_size += norms
        squared = _smallest(less_size, wanted) + size
        squared[squared <= 2 * _TINY * size] = 0
        itself = squared[:, 0] == 0
        out[start : start + _FEW_ROWS] = np.sqrt(np.where(itself, squared[:, 2], squared[:, 1]))
    return out


def _smallest(values: Array, wanted: Array) -> Array:
    """The values at places `wanted` of every row, were it sorted, the last place being the largest.

    The least of a few values each are a quick bound of what can be there; only what is within it is looked at.
    """
    n_rows, n_columns = values.shape
    few = n_columns // (2 * (wanted[-1] + 1))
    if few > 1:
        least = values[:, : n_columns // few * few].reshape(n_rows, few, -1).min(axis=1)
        least.partition(wanted[-1], axis=1)
        within = values <= least[:, wanted[-1], None]
        count = within.sum(axis=1)
        kept = np.full((n_rows, count.max()), np.inf)
        kept[np.arange(count.max()) < count[:, None]] = values[within]
        values = kept
    found: Array = np.partition(values, np.unique(wanted), axis=1)[:, wanted]
    return found


@dataclass(frozen=True)
class Factor:
    """K0 ~ Z Z' of N items."""

    Z: Array  # (N, r)
    base: Array  # (b,) items whose columns of K0 place a new item; all of them for eigenvectors

    def place(self, columns: Array) -> Array:
        """z(x) (n, r) of new items from their kernel values (n, b) with the base items; exact for the items."""
        Z = self.Z[self.base]
        solved: Array = linalg.solve(Z.T @ Z, Z.T @ columns.T, assume_a="pos").T
        return solved


def factorise(
    kernel: BaseKernel,
    X: Array,
    method: LowRank,
    *,
    criterion: Criterion,
    share: float,
    max_rank: int | None,
    rng: np.random.RandomState,
) -> Factor:
    """Z of the items X, of the smallest rank that keeps the `share` of K0's trace (or Frobenius norm)."""
    most = min(len(X), max_rank or (len(X) if method == "eigen" else DEFAULT_MAX_RANK))
    if method == "eigen":
        return Factor(_eigenvectors(kernel(X, X), criterion, share, most), np.arange(len(X)))
    if method == "cholesky":
        norm = _frobenius_norm(kernel, X) if criterion == "frobenius" else 0.0
        return _cholesky(kernel, X, share, most, norm)
    base = np.sort(rng.permutation(len(X))[:most])
    values, vectors = _positive_eigen(kernel(X[base], X[base]), most)
    blocks = [kernel(X[start : start + _BLOCK], X[base]) for start in range(0, len(X), _BLOCK)]
    return Factor(np.concatenate(blocks) @ (vectors / np.sqrt(values)), base)


def _positive_eigen(K: Array, most: int) -> tuple[Array, Array]:
    """The largest eigenvalues, descending, and their vectors; negative ones (Eq 19 is not quite PSD) are clipped."""
    values, vectors = linalg.eigh((K + K.T) / 2, overwrite_a=True, check_finite=False, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = min(int(np.sum(values > 1e-10 * max(values[0], 0))), most)
    if not kept:
        raise ValueError("the kernel has no positive eigenvalue: expected a positive semidefinite, non-zero kernel")
    return values[:kept], vectors[:, :kept]


def _eigenvectors(K: Array, criterion: Criterion, share: float, most: int) -> Array:
    values, vectors = _positive_eigen(K, len(K))
    # The Frobenius criterion compares norms, as the paper does: far weaker than the same share of the trace.
    kept = np.cumsum(values) if criterion == "trace" else np.sqrt(np.cumsum(np.square(values)))
    rank = min(int(np.searchsorted(kept, share * kept[-1] * (1 - _TINY))) + 1, most)
    Z: Array = vectors[:, :rank] * np.sqrt(values[:rank])
    return Z


def _cholesky(kernel: BaseKernel, X: Array, share: float, most: int, norm: float) -> Factor:
    """Incomplete Cholesky with the largest remaining diagonal as pivot; stops at pivots that are not positive."""
    left = kernel.diagonal(X)
    total = float(left.sum())
    Z = np.zeros((len(X), most), order="F")
    base: list[int] = []
    while len(base) < most:
        pivot, rank = int(np.argmax(left)), len(base)
        if left[pivot] <= _TINY * total:
            break
        column = kernel(X, X[pivot : pivot + 1])[:, 0] - Z[:, :rank] @ Z[pivot, :rank]
        Z[:, rank] = column / np.sqrt(left[pivot])
        left -= np.square(Z[:, rank])
        left[pivot] = 0
        base.append(pivot)
        if norm:
            small = Z[:, : rank + 1]
            done = float(np.linalg.norm(small.T @ small)) >= share * norm
        else:
            done = float(np.maximum(left, 0).sum()) <= (1 - share) * total
        if done:
            break
    if not base:
        raise ValueError("the kernel has no positive diagonal: expected a positive semidefinite, non-zero kernel")
    return Factor(np.ascontiguousarray(Z[:, : len(base)]), np.array(base))


def _frobenius_norm(kernel: BaseKernel, X: Array) -> float:
    squares = [np.square(kernel(X[start : start + _BLOCK], X)).sum() for start in range(0, len(X), _BLOCK)]
    return float(np.sqrt(np.sum(squares)))
