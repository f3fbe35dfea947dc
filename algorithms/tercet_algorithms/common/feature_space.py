"""From the rows that a user gives to those that the model sees: standardised columns, then a kernel's features.

Data may be large, single precision, or a file that is only mapped into memory. So every pass here goes over blocks
of rows: X is read, never copied whole and never changed, and what is kept is one single-precision matrix.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.graph import MOST_POINTS, GraphMap, graph_map
from tercet_algorithms.common.kernels import APPROXIMATE, FeatureMap, Kernel, approximate_map, check_size, exact_map

# So many rows at a time: their double-precision copy stays in the processor's cache.
_BLOCK = 8192


def blocks(n_rows: int) -> Iterator[slice]:
    """Return slices of at most a block that cover n_rows."""
    return (slice(start, min(start + _BLOCK, n_rows)) for start in range(0, n_rows, _BLOCK))


def moments(X: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation (D,) of the columns; 1 for a constant column, which centred is all zeros."""
    mean, variance = mean_and_variance(X)
    spread = np.sqrt(variance)
    return mean, np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)


def mean_and_variance(X: Array) -> tuple[Array, Array]:
    mean: Array = sum(X[rows].sum(axis=0, dtype=np.float64) for rows in blocks(len(X))) / len(X)
    squares = sum(np.square(X[rows] - mean).sum(axis=0) for rows in blocks(len(X)))
    return mean, squares / len(X)


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The coordinates that a model's weights belong to."""

    mean: Array  # (D,)
    scale: Array  # (D,)
    kernel: FeatureMap | GraphMap | None = None

    @property
    def width(self) -> int:
        """Number of features that the model sees."""
        return len(self.mean) if self.kernel is None else self.kernel.width

    @property
    def plain(self) -> "FeatureSpace":
        """The same space without eigenvectors of a graph."""
        return FeatureSpace(self.mean, self.scale) if isinstance(self.kernel, GraphMap) else self

    @property
    def without_eigenvectors(self) -> "FeatureSpace":
        """The same space without eigenvectors of a graph, but with what else is a column of its points."""
        if not isinstance(self.kernel, GraphMap):
            return self
        return FeatureSpace(self.mean, self.scale, self.kernel.without_eigenvectors())

    def of(self, columns: Array) -> "FeatureSpace":
        """Return the space of some of the columns alone."""
        return FeatureSpace(self.mean[columns], self.scale[columns])

    def with_graph(self, X: Array, n_vectors: int) -> "FeatureSpace":
        """Return this space and so many eigenvectors of a graph over the rows of X, or over some of very many."""
        return FeatureSpace(self.mean, self.scale, graph_map(self.points_of(X), n_vectors))

    def points_of(self, X: Array) -> Array:
        """Return the rows of X in this space, or some of very many, for a graph to join."""
        rows = np.arange(len(X))
        if len(X) > MOST_POINTS:
            rows = np.sort(np.random.RandomState(0).permutation(len(X))[:MOST_POINTS])
        return self.transform(X[rows])

    def has_graph_of(self, other: "FeatureSpace") -> bool:
        """Return whether both have the same eigenvectors of the same rows."""
        ours, theirs = self.kernel, other.kernel
        if not isinstance(ours, GraphMap) or not isinstance(theirs, GraphMap):
            return False
        return np.array_equal(ours.points, theirs.points) and np.array_equal(ours.vectors, theirs.vectors)

    def transform(self, X: Array) -> Array:
        """Return features of a block of rows, (n, width) in double precision."""
        standard: Array = (X - self.mean) / self.scale
        return standard if self.kernel is None else self.kernel.transform(standard)

    def design(self, X: Array, order: Array) -> Array:
        """Return features of the rows of X in an order and a column of ones, (N, width + 1) in single precision."""
        out = np.empty((len(order), self.width + 1), np.float32)
        out[:, -1] = 1
        for rows in blocks(len(order)):
            out[rows, :-1] = self.transform(X[order[rows]])
        return out


@dataclass(frozen=True)
class SpacePlan:
    """How an estimator's parameters make the space of its data."""

    standardize: bool
    kernel: Kernel | None
    gamma: float | None
    params: Mapping[str, Any]
    n_components: int

    def fit(self, X: Array, previous: FeatureSpace | None, rng: np.random.RandomState) -> FeatureSpace:
        """Return the space of the rows of X, or the previous one where a kernel's features can stay what they are."""
        n_features = X.shape[1]
        mean, scale = moments(X) if self.standardize else (np.zeros(n_features), np.ones(n_features))
        plain = FeatureSpace(mean, scale)
        if self.kernel is None:
            return plain
        if self.kernel in APPROXIMATE:
            if previous is not None:
                return previous
            sample = X[np.sort(rng.permutation(len(X))[: self.n_components])]
            kernel = approximate_map(plain.transform(sample), self.kernel, self.gamma, self.n_components, rng)
            return FeatureSpace(mean, scale, kernel)
        check_size(len(X), self.kernel)
        Z = plain.transform(X)
        if previous is not None and previous.kernel is not None and np.array_equal(previous.kernel.points, Z):
            return previous
        return FeatureSpace(mean, scale, exact_map(Z, self.kernel, self.gamma, self.params))

    def check(self, previous: FeatureSpace) -> None:
        """Raise ValueError where the previous space belongs to another kernel."""
        kernel, current = previous.kernel, (self.kernel, self._gamma(len(previous.mean)))
        before = (kernel.kernel, kernel.gamma) if isinstance(kernel, FeatureMap) else (None, None)
        if before != current:
            raise ValueError(
                f"a warm start needs the same kernel and gamma: the previous fit has {before}, this one {current}; "
                "fit without warm_start"
            )

    def _gamma(self, n_features: int) -> float | None:
        if self.kernel in APPROXIMATE and self.gamma is None:
            return 1 / n_features
        return self.gamma if self.kernel is not None else None
