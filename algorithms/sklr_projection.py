"""Bregman projections: SKLR's Algorithm 1 and the corrected form that finds the optimum.

Projecting on one constraint has a closed form in p = d(a, b), q = d(a, e) and the inner product of the two
differences, so a sweep needs no eigenvalues. All constraints on the same three items speak of the same two
differences: they are projected on in turn by arithmetic on two numbers by two. The kernel follows once for a whole
block of such threes; within the block only the small matrix of inner products of its differences is looked at.
"""

from typing import Protocol

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import OfItems, OfSpace, Point, Problem
from algorithms.sklr_loops import Terms, project_block

# Threes of items to a block.
_BLOCK = 32


def sweeps(
    problem: Problem,
    point: Point,
    rng: np.random.RandomState,
    *,
    n_sweeps: int,
    corrected: bool,
    tol: float,
    enough: float = 0.0,
) -> Point:
    """Where so many sweeps of projections on the constraints that need one lead, in random order.

    Corrected (Hildreth, Dykstra), a multiplier may move back as far as its bound, and satisfied constraints are
    visited while theirs is not zero. Uncorrected, only violated ones are visited, and what was done stays done:
    a feasible kernel, but neither the nearest nor independent of the order (the paper's Algorithm 1). Constraints
    that are off by no more than `tol` are passed by; where none is by more than `enough`, no further sweep begins.
    """
    threes = _Threes(problem, corrected)
    kernel = point.kernel
    products: _Products = _Items(problem, kernel) if isinstance(kernel, OfItems) else _Space(problem, kernel)
    lam, value = point.lam.copy(), point.value
    for sweep in range(n_sweeps):
        p, q = products.distances() if sweep else (point.p, point.q)
        relative = problem.relative(p, q)
        if problem.slack(lam, relative) <= enough:
            break
        queue = rng.permutation(threes.needing(relative, lam, tol))
        for start in range(0, len(queue), _BLOCK):
            block = queue[start : start + _BLOCK]
            rows, G = products.block(threes.items[block])
            mixing, signs, gain = _project_block(block, threes.terms, lam, G)
            value += gain
            products.update(mixing[signs > 0] @ rows, mixing[signs < 0] @ rows)
        if not len(queue):
            break
    return products.point(lam, value) or point


class _Threes:
    """The sets of three items that constraints are about."""

    def __init__(self, problem: Problem, corrected: bool) -> None:
        self.problem, self.corrected = problem, corrected
        n, (i, j, k) = len(problem.items), np.sort(problem.places, axis=1).T
        codes, self.of = np.unique((i * n + j) * n + k, return_inverse=True)
        self.items = np.column_stack([codes // (n * n), codes // n % n, codes % n])
        rank = np.argsort(np.argsort(problem.places, axis=1, kind="stable"), axis=1)
        near, far = (rank[:, 0] + rank[:, other] - 1 for other in (1, 2))
        free = np.where(problem.high > 0, np.inf, 0.0)  # of all but those that are held at 0
        bounds = (problem.low, problem.high) if corrected else (-free, free)
        once = (problem.low >= 0) & (not corrected)
        order = np.argsort(self.of, kind="stable")
        starts = np.searchsorted(self.of[order], np.arange(len(codes) + 1))
        columns = (problem.g, problem.h, problem.t, near, far, *bounds, once)
        self.terms = Terms(starts, order, *(column[order] for column in columns))

    def needing(self, relative: Array, lam: Array, tol: float) -> Array:
        """Those with a constraint that must move."""
        down = (lam > self.problem.low) if self.corrected else (self.problem.low < 0)
        moving = ((lam < self.problem.high) & (relative > tol)) | (down & (relative < -tol))
        return np.unique(self.of[moving])


class _Products(Protocol):
    """Inner products under the learned kernel, kept up to date."""

    def distances(self) -> tuple[Array, Array]:
        """d(a, b) and d(a, e) of every constraint."""
        ...

    def block(self, threes: Array) -> tuple[Array, Array]:
        """Rows (2k, .) of the differences i - j and i - k of items (k, 3) in turn, and their inner products."""
        ...

    def update(self, taken: Array, added: Array) -> None:
        """Take some rows' product with themselves away and add that of others."""
        ...

    def point(self, lam: Array, value: float) -> Point | None:
        """Everything at lam, where f is the value; None where rounding has left no kernel."""
        ...


class _Items:
    """Those between items: K (n, n)."""

    def __init__(self, problem: Problem, kernel: OfItems) -> None:
        self.problem, self.upper = problem, kernel.upper.copy()

    def distances(self) -> tuple[Array, Array]:
        return self.problem.distances(self.upper)

    def block(self, threes: Array) -> tuple[Array, Array]:
        flat = threes.ravel()
        whole = self.upper[flat]
        whole += self.upper[:, flat].T
        whole[np.arange(len(flat)), flat] /= 2
        rows = _differences(whole.reshape(*threes.shape, -1))
        return rows, _differences(rows.T[threes])

    def update(self, taken: Array, added: Array) -> None:
        self.upper = _moved(self.upper, taken, added)

    def point(self, lam: Array, value: float) -> Point | None:
        return self.problem.of_items(lam, value, self.upper)


class _Space:
    """Those between coordinates: M (s, s)."""

    def __init__(self, problem: Problem, kernel: OfSpace) -> None:
        self.problem = problem
        lower, _ = linalg.lapack.dpotri(kernel.root, lower=1)
        self.upper = np.triu(lower.T)

    def distances(self) -> tuple[Array, Array]:
        root, _ = linalg.lapack.dpotrf(self.upper.T, lower=1)
        return self.problem.distances_of(self.problem.coordinates @ root)

    def block(self, threes: Array) -> tuple[Array, Array]:
        differences = _differences(self.problem.coordinates[threes])
        rows = linalg.blas.dsymm(1.0, self.upper.T, differences.T, lower=1).T
        return rows, rows @ differences.T

    def update(self, taken: Array, added: Array) -> None:
        self.upper = _moved(self.upper, taken, added)

    def point(self, lam: Array, value: float) -> Point | None:
        return self.problem.point(lam)


def _differences(of_items: Array) -> Array:
    """Values (k, 3, .) of three items each as those of the differences i - j, i - k in turn, (2k, .)."""
    found: Array = of_items[:, :1] - of_items[:, 1:]
    return found.reshape(-1, of_items.shape[-1])


def _moved(upper: Array, taken: Array, added: Array) -> Array:
    """A symmetric matrix's upper triangle less some rows' product with themselves plus others', in place."""
    lower = upper.T
    for sign, part in ((-1.0, taken), (1.0, added)):
        if len(part):
            lower = linalg.blas.dsyrk(sign, part.T, 1.0, lower, lower=1, overwrite_c=1)
    return lower.T


def _project_block(threes: Array, terms: Terms, lam: Array, G: Array) -> tuple[Array, Array, float]:
    """Project on the constraints on k threes; G (2k, 2k) holds the inner products of their differences.

    Returned are the rows (j, 2k) that make, of the differences, the squares by which the kernel changes; their signs,
    1 where a square is taken away and -1 where it is added; and by how much f has grown. `lam` is changed.
    """
    whole = np.hstack([G, np.eye(len(G))])
    done, signs = np.zeros_like(whole), np.zeros(len(G))
    n_moved, gain = project_block(threes, terms, lam, whole, done, signs)
    return done[:n_moved, len(G) :], signs[:n_moved], gain
