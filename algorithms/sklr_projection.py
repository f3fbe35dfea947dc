"""Bregman projections, one constraint at a time: SKLR's Algorithm 1 and the corrected form that finds the optimum.

Projecting on one constraint has a closed form in p = d(a, b), q = d(a, e) and the inner product of the two
differences, so a sweep needs no eigenvalues. Constraints are taken in blocks: within a block only the small matrix
of inner products between its differences is looked at, and the large matrix, of which only the lower triangle is
kept, follows once at its end.
"""

from math import atan2, cos, hypot, log, sin, sqrt
from typing import Protocol

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import OfItems, OfSpace, Point, Problem

_BLOCK = 32
# Where nothing stops a multiplier (the answer cannot hold) it grows by so much, which ends the fit as infeasible.
_ENDLESS = 1e12


def sweeps(
    problem: Problem, point: Point, rng: np.random.RandomState, *, n_sweeps: int, corrected: bool, tol: float
) -> Point:
    """Where so many sweeps of projections on the constraints that need one lead, in random order.

    Corrected (Hildreth, Dykstra), a multiplier may move back as far as its bound, and satisfied constraints are
    visited while theirs is not zero. Uncorrected, only violated ones are visited, and what was done stays done:
    a feasible kernel, but neither the nearest nor independent of the order (the paper's Algorithm 1).
    """
    kernel = point.kernel
    products: _Products = _Items(problem, kernel) if isinstance(kernel, OfItems) else _Space(problem, kernel)
    lam, value = point.lam.copy(), point.value
    for sweep in range(n_sweeps):
        p, q = products.distances() if sweep else (point.p, point.q)
        relative = problem.relative(p, q)
        down = (lam > problem.low) if corrected else (problem.low < 0)
        up = lam < problem.high
        queue = rng.permutation(np.flatnonzero((up & (relative > tol)) | (down & (relative < -tol))))
        for start in range(0, len(queue), _BLOCK):
            block = queue[start : start + _BLOCK]
            rows, G = products.block(block)
            mixing, gain = _project_block(problem, lam, block, G, corrected)
            value += gain
            if len(mixing):
                products.update(mixing @ rows)
        if not len(queue):
            break
    return products.point(lam, value) or point


class _Products(Protocol):
    """Inner products under the learned kernel, kept up to date."""

    def distances(self) -> tuple[Array, Array]:
        """d(a, b) and d(a, e) of every constraint."""
        ...

    def block(self, block: Array) -> tuple[Array, Array]:
        """Rows of the block's differences x, y in turn (2k, .), and their inner products (2k, 2k)."""
        ...

    def update(self, rows: Array) -> None:
        """Subtract rows' rows of the first half of the rows and add that of the second."""
        ...

    def point(self, lam: Array, value: float) -> Point | None:
        """Everything at lam, where f is the value; None where rounding has left no kernel."""
        ...


class _Items:
    """Those between items: K (n, n)."""

    def __init__(self, problem: Problem, kernel: OfItems) -> None:
        self.problem, self.places = problem, problem.places
        self.upper = kernel.upper.copy()

    def distances(self) -> tuple[Array, Array]:
        return self.problem.distances(self.upper)

    def block(self, block: Array) -> tuple[Array, Array]:
        of_block = self.places[block]
        flat = of_block.ravel()
        whole = self.upper[flat]
        whole += self.upper[:, flat].T
        whole[np.arange(len(flat)), flat] /= 2
        rows = _differences(whole.reshape(*of_block.shape, -1))
        return rows, _differences(rows.T[of_block]).T

    def update(self, rows: Array) -> None:
        self.upper = _moved(self.upper, rows)

    def point(self, lam: Array, value: float) -> Point | None:
        return self.problem.of_items(lam, value, self.upper)


class _Space:
    """Those between coordinates: M (s, s)."""

    def __init__(self, problem: Problem, kernel: OfSpace) -> None:
        self.problem, self.places, self.coordinates = problem, problem.places, problem.coordinates
        lower, _ = linalg.lapack.dpotri(kernel.root, lower=1)
        self.upper = np.triu(lower.T)

    def distances(self) -> tuple[Array, Array]:
        root, _ = linalg.lapack.dpotrf(self.upper.T, lower=1)
        by_item = self.coordinates @ root
        a, b, e = (by_item[self.places[:, role]] for role in range(3))
        return np.square(a - b).sum(axis=1), np.square(a - e).sum(axis=1)

    def block(self, block: Array) -> tuple[Array, Array]:
        differences = _differences(self.coordinates[self.places[block]])
        rows = linalg.blas.dsymm(1.0, self.upper.T, differences.T, lower=1).T
        return rows, rows @ differences.T

    def update(self, rows: Array) -> None:
        self.upper = _moved(self.upper, rows)

    def point(self, lam: Array, value: float) -> Point | None:
        return self.problem.point(lam)


def _differences(of_items: Array) -> Array:
    """Values (k, 3, .) of the items a, b, e as those of x = a - b and y = a - e in turn, (2k, .)."""
    found: Array = of_items[:, :1] - of_items[:, 1:]
    return found.reshape(-1, of_items.shape[-1])


def _moved(upper: Array, rows: Array) -> Array:
    """A symmetric matrix's upper triangle less the first rows' product with themselves plus the others', in place."""
    lower = upper.T
    for sign, part in zip((-1.0, 1.0), np.split(rows, 2), strict=True):
        lower = linalg.blas.dsyrk(sign, part.T, 1.0, lower, lower=1, overwrite_c=1)
    return lower.T


def _project_block(problem: Problem, lam: Array, block: Array, G: Array, corrected: bool) -> tuple[Array, float]:
    """Project on each constraint of the block; G (2k, 2k) holds the inner products of its differences x, y.

    Every projection takes one square from the kernel and adds another. Returned are the rows (2j, 2k) that make them
    from the differences: first those of the j squares taken, then those of the squares added; and the growth of f.
    """
    endless = np.full(len(block), np.inf)
    low, high = (problem.low[block], problem.high[block]) if corrected else (-endless, endless)
    equal, size = problem.low[block] < 0, len(G)
    terms = (lam[block], problem.g[block], problem.h[block], problem.t[block], low, high, equal)
    # Products of a difference with itself and later ones, and what it is made of: itself and earlier ones.
    whole = np.hstack([G, np.eye(size)])
    done, signed, moved, gain = np.zeros_like(whole), np.zeros_like(whole), 0, 0.0
    for place, (was, g, h, t, least, most, both) in enumerate(zip(*(v.tolist() for v in terms), strict=True)):
        x, y, end = 2 * place, 2 * place + 2, size + 2 * place + 2
        pair = whole[x:y, x:end] - signed[:moved, x:y].T @ done[:moved, x:end]
        p, s, q = pair.item(0, 0), pair.item(0, 1), pair.item(1, 1)
        if not (corrected or both) and g * p - h * q <= t:
            continue  # an earlier projection of this block has mended it
        alpha = min(max(was + _best_step(g, h, t, p, q, s), least), most) - was
        if alpha == 0:
            continue
        lam[block[place]] = was + alpha
        determinant = 1 + alpha * (g * p - h * q) - alpha * alpha * g * h * (p * q - s * s)
        gain += log(determinant) - alpha * t
        first, last = alpha * g * (1 - alpha * h * q), -alpha * h * (1 + alpha * g * p)
        mixed = alpha * alpha * g * h * s
        taken, added = _squares(first / determinant, last / determinant, mixed / determinant) @ pair
        done[moved, x:end] = signed[moved, x:end] = taken
        done[moved + 1, x:end] = added
        signed[moved + 1, x:end] = -added
        moved += 2
    mixing = done[:moved, size:]
    return np.concatenate([mixing[0::2], mixing[1::2]]), gain


def _squares(first: float, last: float, mixed: float) -> Array:
    """S (2, 2) whose first row squared less its second is T = [[first, mixed], [mixed, last]].

    Whatever the sign of a step, T has one eigenvalue on either side of 0.
    """
    middle, radius = (first + last) / 2, hypot((first - last) / 2, mixed)
    angle = atan2(2 * mixed, first - last) / 2
    taken, added = sqrt(max(radius + middle, 0.0)), sqrt(max(radius - middle, 0.0))
    c, n = cos(angle), sin(angle)
    return np.array([[taken * c, taken * n], [-added * n, added * c]])


def _best_step(g: float, h: float, t: float, p: float, q: float, s: float) -> float:
    """How far a multiplier must move for its constraint to hold with equality."""
    if h == 0:  # g p / (1 + alpha g p) = t
        return 1 / t - 1 / (g * p) if p > 0 else 0.0
    area = 2 * g * h * (p * q - s * s)
    excess = g * p - h * q
    if area <= abs(excess) / _ENDLESS:
        return float(np.copysign(_ENDLESS, excess))
    return excess / area
