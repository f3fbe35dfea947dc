"""Bregman projections: SKLR's Algorithm 1 and the corrected form that finds the optimum.

The projection on one constraint has a closed form in p = d(a, b), q = d(a, e) and the inner product of the two
differences, so a sweep needs no eigenvalues. All constraints on the same three items i, j, k involve the same two
differences u = i - j and v = i - k: they are projected on in turn by arithmetic on the three inner products of u and v.
The kernel is updated once for a block of such triples; within the block only the small matrix of inner products
between its differences is.
"""

from typing import Protocol

import numpy as np
from scipy import linalg

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.sklr.dual import DualPoint, DualProblem, GramMatrix
from tercet_algorithms.sklr.loops import Terms, project_block

# Triples of items that are projected on between two updates of the kernel.
_BLOCK = 32
# Tolerance below which the kernel of many items is kept in double precision.
_SINGLE = 1e-5


def sweeps(
    problem: DualProblem,
    point: DualPoint,
    rng: np.random.RandomState,
    *,
    n_sweeps: int,
    corrected: bool,
    tol: float,
    sufficient: float = 0.0,
    relaxation: float = 1.0,
) -> DualPoint:
    """Project on the violated constraints, in random order, in up to `n_sweeps` sweeps; return the point reached.

    Corrected (Hildreth, Dykstra), a multiplier may move back as far as its bound, and satisfied constraints are
    visited while their multiplier is not zero. Uncorrected (the paper's Algorithm 1), only violated constraints are
    visited and multipliers never move back: the kernel is feasible, but neither the nearest one nor independent of the
    order. Constraints violated by no more than `tol` are skipped; no further sweep begins once no constraint is
    violated by more than `sufficient`. With a `relaxation` of 1 to 2 a multiplier of an answer moves so many times as
    far as its optimum, which takes fewer sweeps where constraints depend on each other. f still never goes down: along
    one multiplier it is the logarithm of a parabola with its top at the optimum, and as high at twice the way there.
    """
    triples = _Triples(problem, corrected)
    products = _inner_products(problem, point, tol)
    lam, value = point.lam.copy(), point.value
    for sweep in range(n_sweeps):
        p, q = products.distances() if sweep else (point.p, point.q)
        relative = problem.relative(p, q)
        if problem.largest_free_gradient(lam, relative) <= sufficient:
            break
        queue = rng.permutation(triples.to_visit(relative, lam, tol))
        for start in range(0, len(queue), _BLOCK):
            block = queue[start : start + _BLOCK]
            rows, G = products.differences(triples.items[block])
            mixing, signs, gain = _project_block(block, triples.terms, lam, G, relaxation)
            value += gain
            mixing = mixing.astype(rows.dtype, copy=False)
            products.update(mixing[signs > 0] @ rows, mixing[signs < 0] @ rows)
        if not len(queue):
            break
    return products.point(lam, value) or point


class _Triples:
    """The triples of items that constraints involve."""

    def __init__(self, problem: DualProblem, corrected: bool) -> None:
        self.problem, self.corrected = problem, corrected
        n, (i, j, k) = len(problem.items), np.sort(problem.places, axis=1).T
        codes, self.triple_of = np.unique((i * n + j) * n + k, return_inverse=True)
        self.items = np.column_stack([codes // (n * n), codes // n % n, codes % n])
        rank = np.argsort(np.argsort(problem.places, axis=1, kind="stable"), axis=1)
        ab, ae = (rank[:, 0] + rank[:, role] - 1 for role in (1, 2))
        unbounded = np.where(problem.high > 0, np.inf, 0.0)  # multipliers that are held at 0 stay there
        bounds = (problem.low, problem.high) if corrected else (-unbounded, unbounded)
        only_violated = (problem.low >= 0) & (not corrected)
        order = np.argsort(self.triple_of, kind="stable")
        starts = np.searchsorted(self.triple_of[order], np.arange(len(codes) + 1))
        columns = (problem.g, problem.h, problem.t, ab, ae, *bounds, only_violated)
        self.terms = Terms(starts, order, *(column[order] for column in columns))

    def to_visit(self, relative: Array, lam: Array, tol: float) -> Array:
        """Return the triples with a constraint whose multiplier must move."""
        can_fall = (lam > self.problem.low) if self.corrected else (self.problem.low < 0)
        moves = ((lam < self.problem.high) & (relative > tol)) | (can_fall & (relative < -tol))
        return np.unique(self.triple_of[moves])


class _InnerProducts(Protocol):
    """Inner products under the learned kernel, updated after every block."""

    def distances(self) -> tuple[Array, Array]:
        """Return d(a, b) and d(a, e) of every constraint."""
        ...

    def differences(self, triples: Array) -> tuple[Array, Array]:
        """Return rows (2k, .) of the differences i - j and i - k of triples (k, 3), and their inner products."""
        ...

    def update(self, subtracted: Array, added: Array) -> None:
        """Subtract the rows `subtracted`' `subtracted` from the matrix and add `added`' `added`."""
        ...

    def point(self, lam: Array, value: float) -> DualPoint | None:
        """Return the point of lam with dual objective `value`, or None where rounding has left no kernel."""
        ...


def _inner_products(problem: DualProblem, point: DualPoint, tol: float) -> _InnerProducts:
    """Return the form in which an update takes fewer operations."""
    n_items, n_coordinates = problem.coordinates.shape
    kernel = point.kernel
    if isinstance(kernel, GramMatrix) and n_items**2 <= 2 * n_coordinates**2:
        return _GramProducts(problem, kernel)
    root = problem.value(point.lam)[1] if isinstance(kernel, GramMatrix) else kernel.root
    assert root is not None, "learning only visits positive definite kernels"
    return _FactoredProducts(problem, root, tol)


class _GramProducts:
    """Inner products between items: K (n, n)."""

    def __init__(self, problem: DualProblem, kernel: GramMatrix) -> None:
        self.problem, self.upper = problem, kernel.upper.copy()

    def distances(self) -> tuple[Array, Array]:
        return self.problem.distances(self.upper)

    def differences(self, triples: Array) -> tuple[Array, Array]:
        items = triples.ravel()
        rows = self.upper[items]
        rows += self.upper[:, items].T
        rows[np.arange(len(items)), items] /= 2
        differences = _subtract_within(rows.reshape(*triples.shape, -1))
        return differences, _subtract_within(differences.T[triples])

    def update(self, subtracted: Array, added: Array) -> None:
        self.upper = _updated(self.upper, subtracted, added)

    def point(self, lam: Array, value: float) -> DualPoint | None:
        return self.problem.point_of_kernel(lam, value, self.upper)


class _FactoredProducts:
    """Inner products between coordinates: M (s, s), in single precision unless the tolerance is too small for it.

    Rounding errors do not add up: the point that sweeps end with follows from the multipliers alone.
    """

    def __init__(self, problem: DualProblem, root: Array, tol: float) -> None:
        dtype = np.float32 if tol > _SINGLE else np.float64
        self.problem, self.coordinates = problem, problem.coordinates.astype(dtype, copy=False)
        lower, _ = linalg.lapack.dpotri(root, lower=1)
        self.M = (np.tril(lower) + np.tril(lower, -1).T).astype(dtype, order="C", copy=False)

    def distances(self) -> tuple[Array, Array]:
        return self.problem.products_between(self.coordinates, self.coordinates @ self.M)

    def differences(self, triples: Array) -> tuple[Array, Array]:
        differences = _subtract_within(self.coordinates[triples])
        rows = differences @ self.M
        return rows, (rows @ differences.T).astype(np.float64, copy=False)

    def update(self, subtracted: Array, added: Array) -> None:
        self.M -= subtracted.T @ subtracted
        self.M += added.T @ added

    def point(self, lam: Array, value: float) -> DualPoint | None:
        return self.problem.point(lam)


def _subtract_within(values: Array) -> Array:
    """Return the differences i - j and i - k of values (k, 3, .) of triples in turn, shape (2k, .)."""
    differences: Array = values[:, :1] - values[:, 1:]
    return differences.reshape(-1, values.shape[-1])


def _updated(upper: Array, subtracted: Array, added: Array) -> Array:
    """Return the upper triangle of a symmetric matrix - `subtracted`' `subtracted` + `added`' `added`, in place."""
    lower = upper.T
    for sign, rows in ((-1.0, subtracted), (1.0, added)):
        if len(rows):
            lower = linalg.blas.dsyrk(sign, rows.T, 1.0, lower, lower=1, overwrite_c=1)
    return lower.T


def _project_block(triples: Array, terms: Terms, lam: Array, G: Array, relaxation: float) -> tuple[Array, Array, float]:
    """Project on the constraints of k triples; G (2k, 2k) holds the inner products of their differences.

    Return the coefficients (j, 2k) of the differences in the rank-one terms by which the kernel changes, the sign of
    each term (1 where it is subtracted, -1 where it is added), and the gain of f. `lam` is changed in place.
    """
    products = np.hstack([G, np.eye(len(G))])
    squares, signs = np.zeros_like(products), np.zeros(len(G))
    n_squares, gain = project_block(triples, terms, lam, relaxation, products, squares, signs)
    return squares[:n_squares, len(G) :], signs[:n_squares], gain
