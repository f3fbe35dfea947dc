"""Data with more features than items, in coordinates of the space that the items span.

N rows X = U S V' (thin singular value decomposition) span at most N directions V (D, r). Scores X w depend on V'w only.
With a penalty that is the same in all directions, |w|^2 = |V'w|^2 + |w - V V'w|^2, the part of w outside of the span
changes no score and is only penalised: it is 0 at every optimum, and L-BFGS, whose steps are sums of gradients X'g,
never leaves the span (representer theorem: B. Scholkopf, R. Herbrich and A. Smola, COLT 2001). So the bound as a
function of v = V'w, with the coordinates X V = U S in place of X, is the same function with the same optima, and the
weights of the features are V v. Distances between items, which starts depend on, are the same as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tercet_algorithms.answers.patterns import Array

# With more than this many features per item, an eigenvalue problem of N x N is worth its time.
_TIMES = 2
# Smaller eigenvalues of X X', as a share of the largest, are rounding errors of single precision.
_SMALLEST = 1e-10
_COLUMNS = 4096  # converted to double precision at once


@dataclass(frozen=True, eq=False)
class Span:
    """The coordinates of N items, and how to turn weights of the features into weights of the coordinates and back."""

    X: Array  # (N, D)
    coordinates: Array  # (N, r) U S, in descending order of their variance
    dual: Array  # (N, r) U S^-1, so that V = X' dual

    def narrowed(self, W: Array) -> Array:
        """Return the part of the features' weights W (K, D + 1) that lies in the span, (K, r + 1)."""
        scores = sum(W[:, columns] @ part.T for columns, part in _parts(self.X))
        return np.column_stack([scores @ self.dual, W[:, -1]])

    def widened(self, W: Array) -> Array:
        """Return weights (K, D + 1) of the features that equal these weights W (K, r + 1) of the coordinates."""
        of_items = W[:, :-1] @ self.dual.T
        return np.column_stack([*(of_items @ part for _, part in _parts(self.X)), W[:, -1]])


def span_of(X: Array) -> Span | None:
    """Return the span of the rows of X (N, D); None where D is not much larger than N."""
    if X.shape[1] <= _TIMES * len(X):
        return None
    products = np.zeros((len(X), len(X)))
    for _, part in _parts(X):
        products += part @ part.T
    values, U = linalg.eigh(products, overwrite_a=True, check_finite=False, driver="evd")
    wide = np.flatnonzero(values > _SMALLEST * values[-1])[::-1]
    sizes, U = np.sqrt(values[wide]), U[:, wide]
    return Span(X, U * sizes, U / sizes) if len(wide) else None


def narrow_rows(X: Array) -> Array:
    """Return the rows of X (N, D), or their coordinates where they have far more features than there are items."""
    span = span_of(X)
    return X if span is None else span.coordinates


def _parts(X: Array) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of columns, each as a slice and as values of X in double precision."""
    for start in range(0, X.shape[1], _COLUMNS):
        columns = slice(start, min(start + _COLUMNS, X.shape[1]))
        yield columns, X[:, columns].astype(np.float64)
