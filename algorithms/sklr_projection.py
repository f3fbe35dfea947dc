"""Bregman projections: SKLR's Algorithm 1 and the corrected form that finds the optimum.

Projecting on one constraint has a closed form in p = d(a, b), q = d(a, e) and the inner product of the two
differences, so a sweep needs no eigenvalues. All constraints on the same three items speak of the same two
differences: they are projected on in turn by arithmetic on two numbers by two. The kernel follows once for a whole
block of such threes; within the block only the small matrix of inner products of its differences is looked at.
"""

from math import atan2, copysign, cos, hypot, log, sin, sqrt
from typing import NamedTuple, Protocol

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_dual import OfItems, OfSpace, Point, Problem

# Threes of items to a block, and rounds over the constraints of one of them.
_BLOCK = 32
_ROUNDS = 2
# Where nothing stops a multiplier (the answer cannot hold) it grows by so much, which ends the fit as infeasible.
_ENDLESS = 1e12


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
    lam, value = point.lam.tolist(), point.value
    for sweep in range(n_sweeps):
        p, q = products.distances() if sweep else (point.p, point.q)
        relative, here = problem.relative(p, q), np.array(lam)
        if problem.slack(here, relative) <= enough:
            break
        queue = rng.permutation(threes.needing(relative, here, tol))
        for start in range(0, len(queue), _BLOCK):
            block = queue[start : start + _BLOCK]
            rows, G = products.block(threes.items[block])
            mixing, n_taken, gain = _project_block([threes.terms(three) for three in block.tolist()], lam, G)
            value += gain
            products.update(mixing @ rows, n_taken)
        if not len(queue):
            break
    return products.point(np.array(lam), value) or point


class _Term(NamedTuple):
    """One constraint on three items i, j, k: g d(a, b) - h d(a, e) <= t."""

    number: int
    g: float
    h: float
    t: float
    near: int  # which of d(i, j), d(i, k), d(j, k) is d(a, b)
    far: int  # and which is d(a, e)
    least: float
    most: float
    once: bool  # moves only where violated, as in Algorithm 1


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
        columns = (np.arange(len(problem)), problem.g, problem.h, problem.t, near, far, *bounds, once)
        order = np.argsort(self.of, kind="stable")
        self._terms = [_Term(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)]
        self._starts = np.searchsorted(self.of[order], np.arange(len(codes) + 1)).tolist()

    def terms(self, three: int) -> list[_Term]:
        return self._terms[self._starts[three] : self._starts[three + 1]]

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

    def update(self, rows: Array, n_taken: int) -> None:
        """Take so many rows' product with themselves away and add that of the others."""
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

    def update(self, rows: Array, n_taken: int) -> None:
        self.upper = _moved(self.upper, rows, n_taken)

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

    def update(self, rows: Array, n_taken: int) -> None:
        self.upper = _moved(self.upper, rows, n_taken)

    def point(self, lam: Array, value: float) -> Point | None:
        return self.problem.point(lam)


def _differences(of_items: Array) -> Array:
    """Values (k, 3, .) of three items each as those of the differences i - j, i - k in turn, (2k, .)."""
    found: Array = of_items[:, :1] - of_items[:, 1:]
    return found.reshape(-1, of_items.shape[-1])


def _moved(upper: Array, rows: Array, n_taken: int) -> Array:
    """A symmetric matrix's upper triangle less the first rows' product with themselves plus the others', in place."""
    lower = upper.T
    for sign, part in ((-1.0, rows[:n_taken]), (1.0, rows[n_taken:])):
        if len(part):
            lower = linalg.blas.dsyrk(sign, part.T, 1.0, lower, lower=1, overwrite_c=1)
    return lower.T


def _project_block(block: list[list[_Term]], lam: list[float], G: Array) -> tuple[Array, int, float]:
    """Project on the constraints of k threes; G (2k, 2k) holds the inner products of their differences.

    Returned are the rows (2j, 2k) that make, of the differences, the squares by which the kernel changes; how many
    of them are taken away, the others being added; and by how much f has grown. `lam` is changed in place.
    """
    size = len(G)
    # Products of a difference with itself and later ones, and what it is made of: itself and earlier ones.
    whole = np.hstack([G, np.eye(size)])
    done, signed, moved, gain = np.zeros_like(whole), np.zeros_like(whole), 0, 0.0
    signs: list[float] = []
    for place, terms in enumerate(block):
        x, y, end = 2 * place, 2 * place + 2, size + 2 * place + 2
        pair = whole[x:y, x:end] - signed[:moved, x:y].T @ done[:moved, x:end]
        own = pair.item(0, 0), pair.item(0, 1), pair.item(1, 1)
        step, its_gain = _project(terms, lam, own)
        if step is None:
            continue
        squares, its_signs = _squares(*_response(step, own))
        both = squares @ pair
        for row, sign in enumerate(its_signs):
            done[moved + row, x:end] = both[row]
            signed[moved + row, x:end] = sign * both[row]
        signs += its_signs
        moved += 2
        gain += its_gain
    taken = np.array(signs) > 0
    mixing = done[:moved, size:]
    return np.concatenate([mixing[taken], mixing[~taken]]), int(taken.sum()), gain


_Two = tuple[float, float, float]  # a symmetric matrix of two by two: first, mixed and last


def _project(terms: list[_Term], lam: list[float], own: _Two) -> tuple[_Two | None, float]:
    """Project in turn on constraints about the same three items, of whose differences `own` are the inner products.

    Returned are the change of Z'AZ between the differences, None where nothing moves, and that of f.
    """
    p, s, q = own
    first = mixed = last = gain = 0.0
    for _ in range(_ROUNDS):
        n_moved = 0
        for number, g, h, t, near, far, least, most, once in terms:
            distances = (p, q, p + q - 2 * s)
            excess = g * distances[near] - h * distances[far]
            if once and excess <= t:
                continue  # another projection has mended it
            was, area = lam[number], p * q - s * s
            alpha = min(max(was + _best_step(g * distances[near], excess, t, g * h * area), least), most) - was
            if alpha == 0:
                continue
            n_moved += 1
            lam[number] = was + alpha
            determinant = 1 + alpha * excess - alpha * alpha * g * h * area
            gain += log(determinant) - alpha * t
            c = [0.0, 0.0, 0.0]
            c[near] += alpha * g
            c[far] -= alpha * h
            a, b, d = c[0] + c[2], -c[2], c[1] + c[2]
            first, mixed, last = first + a, mixed + b, last + d
            p, s, q = (p + area * d) / determinant, (s - area * b) / determinant, (q + area * a) / determinant
        if n_moved < 2:
            break
    return ((first, mixed, last) if first or mixed or last else None), gain


def _response(step: _Two, own: _Two) -> _Two:
    """T, by which K becomes K - [u v] T [u v]' as the inverse of the kernel moves by `step` between u and v."""
    first, mixed, last = step
    p, s, q = own
    area = first * last - mixed * mixed
    determinant = 1 + p * first + 2 * s * mixed + q * last + area * (p * q - s * s)
    return (first + area * q) / determinant, (mixed - area * s) / determinant, (last + area * p) / determinant


def _squares(first: float, mixed: float, last: float) -> tuple[Array, list[float]]:
    """S (2, 2) and two signs: the sum of S's rows squared, each with its sign, is [[first, mixed], [mixed, last]]."""
    middle, radius = (first + last) / 2, hypot((first - last) / 2, mixed)
    angle = atan2(2 * mixed, first - last) / 2
    c, n = cos(angle), sin(angle)
    upper, lower = middle + radius, middle - radius
    one, other = sqrt(abs(upper)), sqrt(abs(lower))
    squares = np.array([[one * c, one * n], [-other * n, other * c]])
    return squares, [copysign(1.0, upper), copysign(1.0, lower)]


def _best_step(near: float, excess: float, t: float, area: float) -> float:
    """How far a multiplier must move for its constraint to hold with equality."""
    if t != 0:  # a link, which has no far distance: near / (1 + alpha near) = t
        return 1 / t - 1 / near if near != 0 else 0.0
    if 2 * area <= abs(excess) / _ENDLESS:
        return copysign(_ENDLESS, excess)
    return excess / (2 * area)
