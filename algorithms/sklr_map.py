"""From the rows that a user gives to coordinates in SKLR's first kernel, for the fitted items and for new ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.feature_space import moments
from algorithms.patterns import Array
from algorithms.sklr_kernel import (
    MOST_EIGEN,
    AdaptiveKernel,
    BaseKernel,
    Criterion,
    Factor,
    LowRank,
    NamedKernel,
    PrecomputedKernel,
    adaptive_kernel,
    factorise,
)

KernelName = str | Callable[[Array, Array], float]


@dataclass(frozen=True)
class Recipe:
    """The parameters that decide about the first kernel; no answers among them."""

    kernel: KernelName
    n_neighbors: int
    standardize: bool
    low_rank: LowRank | Literal["auto"]
    criterion: Criterion
    rank: float
    max_rank: int | None


@dataclass(frozen=True)
class KernelMap:
    """Z of the fitted items, and what new items need to get theirs."""

    kernel: BaseKernel | None  # None: precomputed
    Z: Array  # (N, r)
    base: Array  # (b,) items that new ones are compared with
    base_rows: Array  # (b, D) as the kernel wants them
    mean: Array  # (D,)
    scale: Array  # (D,)
    unit: float  # mean of the kernel's diagonal; Z belongs to the kernel divided by it

    @property
    def n_features(self) -> int:
        return len(self.mean)

    def place(self, X: Array) -> Array:
        """Coordinates (n, r) of new rows; those of the fitted items for the fitted rows."""
        if self.kernel is None:
            columns = np.asarray(X[:, self.base], dtype=np.float64)
        else:
            rows = _prepared(self.kernel, (X - self.mean) / self.scale)
            columns = self.kernel(rows, self.base_rows)
        return Factor(self.Z, self.base).place(columns / self.unit)

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays; which kernel it is, the estimator's parameters say."""
        arrays = {name: getattr(self, name) for name in ("base", "base_rows", "mean", "scale")}
        arrays |= {"Z": self.Z.astype(np.float32), "unit": np.array(self.unit)}
        if isinstance(self.kernel, AdaptiveKernel):
            arrays["references"] = self.kernel.references
            arrays["bandwidth"] = np.array([self.kernel.n_neighbors, self.kernel.floor])
        return arrays

    @classmethod
    def from_arrays(cls, kernel: KernelName, arrays: dict[str, Array]) -> "KernelMap":
        found: BaseKernel | None = None
        if kernel == "adaptive":
            n_neighbors, floor = arrays["bandwidth"]
            found = AdaptiveKernel(arrays["references"], int(n_neighbors), float(floor))
        elif kernel != "precomputed":
            found = NamedKernel(kernel)
        base, base_rows, mean, scale = (arrays[name] for name in ("base", "base_rows", "mean", "scale"))
        return cls(found, arrays["Z"].astype(np.float64), base, base_rows, mean, scale, float(arrays["unit"]))


def make_map(X: Array, recipe: Recipe, rng: np.random.RandomState) -> KernelMap:
    """The first kernel of the items X and its low-rank form."""
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
        standard = (X - mean) / scale
        if recipe.kernel == "adaptive":
            kernel, rows = adaptive_kernel(standard, recipe.n_neighbors, rng)
        else:
            kernel, rows = NamedKernel(recipe.kernel), standard
    method = recipe.low_rank
    if method == "auto":
        method = "eigen" if n_items <= MOST_EIGEN else "cholesky"
    found = factorise(
        kernel, rows, method, criterion=recipe.criterion, share=recipe.rank, max_rank=recipe.max_rank, rng=rng
    )
    unit = float(kernel.diagonal(rows).mean())
    # Rounded to what a saved state keeps, so that a refit from it is the same fit.
    Z = (found.Z / np.sqrt(unit)).astype(np.float32).astype(np.float64)
    shown = None if recipe.kernel == "precomputed" else kernel
    return KernelMap(shown, Z, found.base, rows[found.base], mean, scale, unit)


def _prepared(kernel: BaseKernel, standard: Array) -> Array:
    return kernel.with_bandwidths(standard) if isinstance(kernel, AdaptiveKernel) else standard


def _check_precomputed(K: Array) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel='precomputed' needs X of shape (N, N), got {K.shape}")
    size = float(np.abs(K).max())
    if not np.allclose(K, K.T, rtol=0, atol=1e-6 * size):
        row, column = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise ValueError(f"kernel='precomputed' needs a symmetric X; rows {row} and {column} disagree")
