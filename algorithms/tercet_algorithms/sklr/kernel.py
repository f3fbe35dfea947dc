"""The kernel that SKLR starts from, its low-rank form K0 = Z Z', and the map from rows of X to rows of Z.

By default a Gaussian whose bandwidth follows the density of the data (Eq 19): sigma of an item is the distance to
its l-th nearest other item. Z comes from the eigenvectors of K0, or for many items from an incomplete Cholesky
factorisation or Nystroem's method, which compute a few columns of K0 only. All three extend to new items in the
same way, z(x) = P' k_x with the base items b whose columns were computed (the factor in Eq 18): P is V S^(-1/2) of
the eigenvectors of K_bb, or L^-T of its Cholesky factor, so that base items get the coordinates that they have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.feature_space import mean_and_variance, moments

KernelName = str | Callable[[Array, Array], float]
Criterion = Literal["trace", "frobenius"]
LowRank = Literal["eigen", "cholesky", "nystroem"]

# Above this many items, bandwidths are measured to a random sample of this size.
MAX_REFERENCES = 5000
# Up to so many items "auto" takes eigenvectors.
MOST_BY_EIGENVECTORS = 500
# Rank of the factorisations that do not compute all of K0 where `max_rank` is None.
DEFAULT_MAX_RANK = 300
# Incomplete Cholesky spends its columns on items that lie apart, so that it needs more of them than the best subspace
# has dimensions. So many columns for each dimension are computed, and their widest axes kept.
_COLUMNS_PER_DIMENSION = 5 / 3
# Kernels of distances alone, which are computed from the items' mean so that no digits are lost far from the origin.
_OF_DISTANCES = ("adaptive", "rbf", "laplacian")
# Up to so many items all of K0 is computed at once where only columns of it are needed: each column by itself reads all
# features again, which takes many times as long where they are many.
MOST_TABLED = 4000
_BLOCK = 4096
_FEW_ROWS = 256  # of distances, so that they stay in the processor's cache
_TINY = 1e-12


class BaseKernel(Protocol):
    """A positive semidefinite function of two items, or nearly so."""

    def __call__(self, X: Array, Y: Array) -> Array:
        """Return k(x, y) of all rows, shape (len(X), len(Y))."""
        ...

    def diagonal(self, X: Array) -> Array:
        """Return k(x, x) of all rows."""
        ...


@dataclass(frozen=True)
class NamedKernel:
    """A kernel named in scikit-learn, or a function of two rows."""

    metric: str | Callable[[Array, Array], float]

    def __call__(self, X: Array, Y: Array) -> Array:
        values: Array = np.asarray(pairwise_kernels(X, Y, metric=self.metric), dtype=np.float64)
        return values

    def diagonal(self, X: Array) -> Array:
        return np.concatenate([np.diag(self(X[i : i + 64], X[i : i + 64])) for i in range(0, len(X), 64)])


@dataclass(frozen=True)
class PrecomputedKernel:
    """A kernel given as a matrix (N, N); rows are positions in it."""

    values: Array

    def __call__(self, X: Array, Y: Array) -> Array:
        values: Array = self.values[np.ix_(X[:, 0], Y[:, 0])].astype(np.float64)
        return values

    def diagonal(self, X: Array) -> Array:
        diagonal: Array = np.diag(self.values)[X[:, 0]].astype(np.float64)
        return diagonal


@dataclass(frozen=True)
class AdaptiveKernel:
    """exp(-d(x, y)^2 / (sigma_x sigma_y)) (Eq 19); the last column of a row is its sigma."""

    references: Array  # (R, D) items that bandwidths are measured to
    n_neighbors: int
    floor: float  # smallest bandwidth allowed: the smallest positive one of the fitted items

    def __call__(self, X: Array, Y: Array) -> Array:
        squared = euclidean_distances(X[:, :-1], Y[:, :-1], squared=True)
        values: Array = np.exp(-squared / np.outer(X[:, -1], Y[:, -1]))
        return values

    def diagonal(self, X: Array) -> Array:
        return np.ones(len(X))

    def with_bandwidths(self, X: Array) -> Array:
        """Return the rows of X with their sigma appended."""
        sigma = np.maximum(neighbor_distances(X, self.references, self.n_neighbors), self.floor)
        return np.column_stack([X, sigma])


def adaptive_kernel(X: Array, n_neighbors: int, rng: np.random.RandomState) -> tuple[AdaptiveKernel, Array]:
    """Return the kernel of the items X (N, D) and their rows with bandwidths; `n_neighbors` may exceed N - 1."""
    references = X
    if len(X) > MAX_REFERENCES:
        references = X[np.sort(rng.permutation(len(X))[:MAX_REFERENCES])]
    sigma = neighbor_distances(X, references, n_neighbors)
    positive = sigma[sigma > 0]
    kernel = AdaptiveKernel(references, n_neighbors, float(positive.min()) if len(positive) else 1.0)
    return kernel, np.column_stack([X, np.maximum(sigma, kernel.floor)])


def neighbor_distances(X: Array, references: Array, n_neighbors: int) -> Array:
    """Return the distance from every row of X to its l-th nearest other reference, or the farthest of fewer than l.

    One reference at distance 0 is taken to be the row itself and is skipped, so that an item has the same bandwidth
    as a fitted item and as a new one.
    """
    sigma = np.empty(len(X))
    columns, norms = -2 * references.T, np.einsum("nd,nd->n", references, references)
    ranks = np.minimum([0, n_neighbors - 1, n_neighbors], len(references) - 1)
    for start in range(0, len(X), _FEW_ROWS):
        rows = X[start : start + _FEW_ROWS]
        size = np.einsum("nd,nd->n", rows, rows)[:, None]
        partial = rows @ columns
        partial += norms  # the squared distance without |x|^2
        squared = _values_at_ranks(partial, ranks) + size
        squared[squared <= 2 * _TINY * size] = 0
        meets_itself = squared[:, 0] == 0
        sigma[start : start + _FEW_ROWS] = np.sqrt(np.where(meets_itself, squared[:, 2], squared[:, 1]))
    return sigma


def _values_at_ranks(values: Array, ranks: Array) -> Array:
    """Return the values that would stand at the positions `ranks`, ascending, of every row if it were sorted.

    The minima of groups of columns give an upper bound of these values quickly; only values within it are sorted.
    """
    n_rows, n_columns = values.shape
    group_size = n_columns // (2 * (ranks[-1] + 1))
    if group_size > 1:
        minima = values[:, : n_columns // group_size * group_size].reshape(n_rows, group_size, -1).min(axis=1)
        minima.partition(ranks[-1], axis=1)
        within = values <= minima[:, ranks[-1], None]
        count = within.sum(axis=1)
        candidates = np.full((n_rows, count.max()), np.inf)
        candidates[np.arange(count.max()) < count[:, None]] = values[within]
        values = candidates
    ordered: Array = np.partition(values, np.unique(ranks), axis=1)[:, ranks]
    return ordered


@dataclass(frozen=True)
class Factor:
    """K0 ~ Z Z' of N items."""

    Z: Array  # (N, r)
    base: Array  # (b,) items whose columns of K0 give a new item's coordinates; all items for eigenvectors
    weights: Array  # (b, r) P of z(x) = P' k_x


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
    """Return Z of the items X, of the smallest rank that keeps the `share` of K0's trace (or Frobenius norm)."""
    rank_limit = min(len(X), max_rank or (len(X) if method == "eigen" else DEFAULT_MAX_RANK))
    if method == "eigen":
        values, vectors = _eigenvectors(kernel(X, X), criterion, share, rank_limit)
        return Factor(vectors * np.sqrt(values), np.arange(len(X)), vectors / np.sqrt(values))
    if method == "cholesky":
        norm = _frobenius_norm(kernel, X) if criterion == "frobenius" else 0.0
        return _cholesky(kernel, X, share, rank_limit, norm)
    base = np.sort(rng.permutation(len(X))[:rank_limit])
    values, vectors = _positive_eigen(kernel(X[base], X[base]), rank_limit)
    blocks = [kernel(X[start : start + _BLOCK], X[base]) for start in range(0, len(X), _BLOCK)]
    weights = vectors / np.sqrt(values)
    return Factor(np.concatenate(blocks) @ weights, base, weights)


def _positive_eigen(K: Array, rank_limit: int) -> tuple[Array, Array]:
    """Return up to `rank_limit` positive eigenvalues, descending, and their vectors; Eq 19 is not quite PSD."""
    values, vectors = linalg.eigh((K + K.T) / 2, overwrite_a=True, check_finite=False, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = min(int(np.sum(values > 1e-10 * max(values[0], 0))), rank_limit)
    if not rank:
        raise ValueError("the kernel has no positive eigenvalue: expected a positive semidefinite, non-zero kernel")
    return values[:rank], vectors[:, :rank]


def _eigenvectors(K: Array, criterion: Criterion, share: float, rank_limit: int) -> tuple[Array, Array]:
    values, vectors = _positive_eigen(K, len(K))
    # The Frobenius criterion compares norms, as the paper does: far weaker than the same share of the trace.
    retained = np.cumsum(values) if criterion == "trace" else np.sqrt(np.cumsum(np.square(values)))
    rank = min(int(np.searchsorted(retained, share * retained[-1] * (1 - _TINY))) + 1, rank_limit)
    return values[:rank], vectors[:, :rank]


def _cholesky(kernel: BaseKernel, X: Array, share: float, rank_limit: int, norm: float) -> Factor:
    """Return Z by incomplete Cholesky with the largest remaining diagonal as pivot, while pivots are positive.

    Where its rank would be above the limit it is that of the widest axes.
    """
    remaining = kernel.diagonal(X)
    total = float(remaining.sum())
    table = kernel(X, X) if len(X) <= MOST_TABLED and not _is_slow(kernel) else None
    most_columns = min(len(X), int(np.ceil(_COLUMNS_PER_DIMENSION * rank_limit)))
    Z = np.zeros((len(X), most_columns), order="F")
    base: list[int] = []
    while len(base) < most_columns:
        pivot, rank = int(np.argmax(remaining)), len(base)
        if remaining[pivot] <= _TINY * total:
            break
        column = kernel(X, X[pivot : pivot + 1])[:, 0] if table is None else table[:, pivot]
        column = column - Z[:, :rank] @ Z[pivot, :rank]
        Z[:, rank] = column / np.sqrt(remaining[pivot])
        remaining -= np.square(Z[:, rank])
        remaining[pivot] = 0
        base.append(pivot)
        if norm:
            columns = Z[:, : rank + 1]
            suffices = float(np.linalg.norm(columns.T @ columns)) >= share * norm
        else:
            suffices = float(np.maximum(remaining, 0).sum()) <= (1 - share) * total
        if suffices:
            break
    if not base:
        raise ValueError("the kernel has no positive diagonal: expected a positive semidefinite, non-zero kernel")
    return _widest_axes(Z[:, : len(base)], np.array(base), rank_limit)


def _widest_axes(Z: Array, base: Array, rank_limit: int) -> Factor:
    """Return the factor of the columns Z (N, b) of incomplete Cholesky, or the best of fewer dimensions.

    Z V, with the leading eigenvectors V of Z'Z, is the nearest to Z Z' of all factors of that rank (Eckart and Young).
    """
    weights = linalg.solve_triangular(Z[base], np.eye(len(base)), lower=True, trans="T", check_finite=False)
    if len(base) <= rank_limit:
        return Factor(np.ascontiguousarray(Z), base, weights)
    axes = linalg.eigh(Z.T @ Z, check_finite=False, driver="evd")[1][:, ::-1][:, :rank_limit]
    return Factor(np.ascontiguousarray(Z @ axes), base, weights @ axes)


def _is_slow(kernel: BaseKernel) -> bool:
    """Return whether each value of the kernel is a call of a function of the user's."""
    return isinstance(kernel, NamedKernel) and callable(kernel.metric)


def _frobenius_norm(kernel: BaseKernel, X: Array) -> float:
    squares = [np.square(kernel(X[start : start + _BLOCK], X)).sum() for start in range(0, len(X), _BLOCK)]
    return float(np.sqrt(np.sum(squares)))


@dataclass(frozen=True)
class KernelRecipe:
    """The parameters that determine the first kernel; it does not depend on answers."""

    kernel: KernelName
    n_neighbors: int
    standardize: bool
    low_rank: LowRank | Literal["auto"]
    criterion: Criterion
    rank: float
    max_rank: int | None


@dataclass(frozen=True)
class KernelMap:
    """Z of the fitted items, and how rows of X are mapped to coordinates in the same space."""

    kernel: BaseKernel | None  # None where the kernel is precomputed
    Z: Array  # (N, r)
    base: Array  # (b,) items that new ones are compared with
    base_rows: Array  # (b, D) their rows as the kernel takes them
    mean: Array  # (D,)
    scale: Array  # (D,)
    weights: Array  # (b, r) P of z(x) = P' k_x, for a kernel divided by the mean of its diagonal

    @property
    def n_features(self) -> int:
        return len(self.mean)

    def coordinates(self, X: Array) -> Array:
        """Return the coordinates (n, r) of rows of X; for fitted rows those in `Z`."""
        if self.kernel is None:
            columns = np.asarray(X[:, self.base], dtype=np.float64)
        else:
            rows = (X - self.mean) / self.scale
            if isinstance(self.kernel, AdaptiveKernel):
                rows = self.kernel.with_bandwidths(rows)
            columns = self.kernel(rows, self.base_rows)
        coordinates: Array = columns @ self.weights
        return coordinates

    def to_arrays(self) -> dict[str, Array]:
        """Return the map as plain arrays; the kernel's name is a parameter of the estimator."""
        arrays = {name: getattr(self, name) for name in ("base", "base_rows", "mean", "scale", "weights")}
        arrays["Z"] = self.Z.astype(np.float32)
        if isinstance(self.kernel, AdaptiveKernel):
            arrays["references"] = self.kernel.references
            arrays["bandwidth"] = np.array([self.kernel.n_neighbors, self.kernel.floor])
        return arrays

    @classmethod
    def from_arrays(cls, name: KernelName, arrays: dict[str, Array]) -> "KernelMap":
        """Return the map that `to_arrays` has written."""
        kernel: BaseKernel | None = None
        if name == "adaptive":
            n_neighbors, floor = arrays["bandwidth"]
            kernel = AdaptiveKernel(arrays["references"], int(n_neighbors), float(floor))
        elif name != "precomputed":
            kernel = NamedKernel(name)
        base, base_rows, mean, scale = (arrays[key] for key in ("base", "base_rows", "mean", "scale"))
        Z = arrays["Z"].astype(np.float64)
        # States of older versions have the mean of the diagonal in place of the weights.
        weights = arrays["weights"] if "weights" in arrays else linalg.pinv(Z[base]).T / arrays["unit"]
        return cls(kernel, Z, base, base_rows, mean, scale, weights)


def make_map(X: Array, recipe: KernelRecipe, rng: np.random.RandomState) -> KernelMap:
    """Return the first kernel of the items X and its low-rank form."""
    n_items, n_features = X.shape
    mean, scale = np.zeros(n_features), np.ones(n_features)
    kernel: BaseKernel
    rows: Array
    if recipe.kernel == "precomputed":
        _check_precomputed(X)
        kernel, rows = PrecomputedKernel(X), np.arange(n_items)[:, None]
    else:
        if recipe.standardize:
            mean, scale = moments(X)
        elif recipe.kernel in _OF_DISTANCES:
            mean = mean_and_variance(X)[0]
        standard = (X - mean) / scale
        if recipe.kernel == "adaptive":
            kernel, rows = adaptive_kernel(standard, recipe.n_neighbors, rng)
        else:
            kernel, rows = NamedKernel(recipe.kernel), standard
    method = recipe.low_rank
    if method == "auto":
        method = "eigen" if n_items <= MOST_BY_EIGENVECTORS else "cholesky"
    factor = factorise(
        kernel, rows, method, criterion=recipe.criterion, share=recipe.rank, max_rank=recipe.max_rank, rng=rng
    )
    unit = float(kernel.diagonal(rows).mean())
    # A saved state holds single precision; rounding Z here too makes a refit from it the same fit.
    Z = (factor.Z / np.sqrt(unit)).astype(np.float32).astype(np.float64)
    stored_kernel = None if recipe.kernel == "precomputed" else kernel
    weights = factor.weights / np.sqrt(unit)
    return KernelMap(stored_kernel, Z, factor.base, rows[factor.base], mean, scale, weights)


def _check_precomputed(K: Array) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel='precomputed' needs X of shape (N, N), got {K.shape}")
    size = float(np.abs(K).max())
    if not np.allclose(K, K.T, rtol=0, atol=1e-6 * size):
        row, column = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise ValueError(f"kernel='precomputed' needs a symmetric X; rows {row} and {column} disagree")
