"""Bregman projections, one constraint at a time: SKLR's Algorithm 1 and the corrected form that finds the optimum.

Projecting on one constraint has a closed form in p = d(a, b), q = d(a, e) and the inner product of the two
differences, so a sweep needs no eigenvalues. Constraints are taken in blocks: within a block only the small matrix
of inner products between its differences is kept up to date, and the large matrix follows once at its end.
"""

from typing import Protocol

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import Point, Problem

_BLOCK = 32
# Where nothing stops a multiplier (the answer cannot hold) it grows by so much, which ends the fit as infeasible.
_ENDLESS = 1e12
# The items' own inner products are kept while there are at most so many times more items than coordinates.
_FEW_ITEMS = 2.0


def sweeps(
    problem: Problem, point: Point, rng: np.random.RandomState, *, n_sweeps: int, corrected: bool, tol: float
) -> Array:
    """Multipliers after so many sweeps of projections on the constraints that need one, in random order.

    Corrected (Hildreth, Dykstra), a multiplier may move back as far as its bound, and satisfied constraints are
    visited while theirs is not zero. Uncorrected, only violated ones are visited, and what was done stays done:
    a feasible kernel, but neither the nearest nor independent of the order (the paper's Algorithm 1).
    """
    few = len(problem.items) <= _FEW_ITEMS * problem.coordinates.shape[1]
    products: _Products = _Items(problem, point) if few else _Space(problem, point)
    lam = point.lam.copy()
    for sweep in range(n_sweeps):
        p, q = products.distances() if sweep else (point.p, point.q)
        relative = problem.relative(p, q)
        down = (lam > problem.low) if corrected else (problem.low < 0)
        up = lam < problem.high
        queue = rng.permutation(np.flatnonzero((up & (relative > tol)) | (down & (relative < -tol))))
        for start in range(0, len(queue), _BLOCK):
            block = queue[start : start + _BLOCK]
            rows, G = products.block(block)
            before = lam[block]
            _project_block(problem, lam, block, G.copy(), corrected)
            change = lam[block] - before
            weights = np.stack([change * problem.g[block], -change * problem.h[block]], axis=1).ravel()
            moved = np.flatnonzero(weights)
            G, weights = G[np.ix_(moved, moved)], weights[moved]
            products.update(rows[moved], np.linalg.solve(np.eye(len(G)) + weights[:, None] * G, np.diag(weights)))
        if not len(queue):
            break
    return lam


class _Products(Protocol):
    """Inner products under the learned kernel, kept up to date."""

    def distances(self) -> tuple[Array, Array]:
        """d(a, b) and d(a, e) of every constraint."""
        ...

    def block(self, block: Array) -> tuple[Array, Array]:
        """Rows of the block's differences x, y in turn (2k, .), and their inner products (2k, 2k)."""
        ...

    def update(self, rows: Array, middle: Array) -> None:
        """Subtract rows' middle rows."""
        ...


class _Items:
    """Those between items: K (n, n)."""

    def __init__(self, problem: Problem, point: Point) -> None:
        self.places = problem.places
        self.K = point.rotated.T @ point.rotated

    def distances(self) -> tuple[Array, Array]:
        a, b, e = self.places.T
        size = np.diag(self.K)
        return size[a] + size[b] - 2 * self.K[a, b], size[a] + size[e] - 2 * self.K[a, e]

    def block(self, block: Array) -> tuple[Array, Array]:
        a, b, e = self.places[block].T
        one, other = np.repeat(a, 2), np.stack([b, e], axis=1).ravel()
        rows = self.K[one] - self.K[other]
        return rows, rows[:, one] - rows[:, other]

    def update(self, rows: Array, middle: Array) -> None:
        self.K = _less(self.K, rows, middle)


class _Space:
    """Those between coordinates: M (s, s)."""

    def __init__(self, problem: Problem, point: Point) -> None:
        self.places, self.coordinates = problem.places, problem.coordinates
        lower, _ = linalg.lapack.dpotri(point.root, lower=1)
        self.M = np.tril(lower) + np.tril(lower, -1).T

    def distances(self) -> tuple[Array, Array]:
        by_item = self.coordinates @ linalg.cholesky(self.M, lower=True)
        a, b, e = (by_item[self.places[:, role]] for role in range(3))
        return np.square(a - b).sum(axis=1), np.square(a - e).sum(axis=1)

    def block(self, block: Array) -> tuple[Array, Array]:
        a, b, e = (self.coordinates[self.places[block, role]] for role in range(3))
        differences = np.stack([a - b, a - e], axis=1).reshape(2 * len(block), -1)
        rows = differences @ self.M
        return rows, rows @ differences.T

    def update(self, rows: Array, middle: Array) -> None:
        self.M = _less(self.M, rows, middle)


def _less(symmetric: Array, rows: Array, middle: Array) -> Array:
    """The matrix minus rows' middle rows, in its own memory."""
    less: Array = linalg.blas.dgemm(-1.0, rows.T, middle @ rows, 1.0, symmetric.T, overwrite_c=1).T
    return less


def _project_block(problem: Problem, lam: Array, block: Array, G: Array, corrected: bool) -> None:
    """Project on each constraint of the block; G (2k, 2k) holds the inner products of its differences x, y."""
    endless = np.full(len(block), np.inf)
    low, high = (problem.low[block], problem.high[block]) if corrected else (-endless, endless)
    terms = (problem.g[block], problem.h[block], problem.t[block], low, high)
    for place, (c, g, h, t, least, most) in enumerate(zip(block.tolist(), *(v.tolist() for v in terms), strict=True)):
        x, y = 2 * place, 2 * place + 1
        p, q, s = G.item(x, x), G.item(y, y), G.item(x, y)
        if not corrected and problem.low[c] == 0 and g * p - h * q <= t:
            continue  # an earlier projection of this block has mended it
        was = lam.item(c)
        alpha = min(max(was + _best_step(g, h, t, p, q, s), least), most) - was
        if alpha == 0:
            continue
        lam[c] = was + alpha
        area = g * h * (p * q - s * s)
        determinant = 1 + alpha * (g * p - h * q) - alpha * alpha * area
        mixed = alpha * alpha * g * h * s
        T = np.array([[alpha * g * (1 - alpha * h * q), mixed], [mixed, -alpha * h * (1 + alpha * g * p)]])
        pair = G[x : y + 1]
        G -= pair.T @ (T / determinant) @ pair


def _best_step(g: float, h: float, t: float, p: float, q: float, s: float) -> float:
    """How far a multiplier must move for its constraint to hold with equality."""
    if h == 0:  # g p / (1 + alpha g p) = t
        return 1 / t - 1 / (g * p) if p > 0 else 0.0
    area = 2 * g * h * (p * q - s * s)
    excess = g * p - h * q
    if area <= abs(excess) / _ENDLESS:
        return float(np.copysign(_ENDLESS, excess))
    return excess / area
