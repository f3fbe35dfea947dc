"""SKLR's learning problem seen from its dual, where it is a smooth concave maximum under a box.

Of K = Z M Z' (Eq 9), min over M of tr M - logdet M - r subject to constraints tr(K C_c) <= t_c has the dual
max over lam of f(lam) = logdet(I + Z' A Z) - t'lam with A = sum of lam_c C_c, 0 <= lam_c <= cap_c (|lam_c| <= cap_c
for equalities); a finite cap is the soft form. M = (I + Z'AZ)^-1, so that lam alone is the whole model. Only rows
of Z that occur in a constraint matter, and of these only the space that they span.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from algorithms.patterns import Array
from algorithms.sklr_constraints import CANNOT_LINK, COMPARISON, MUST_LINK, Rows

# A multiplier this far above what a kernel of unit diagonal needs means that nothing stops it from growing.
_UNBOUNDED = 1e8
# A constraint is left out of the Newton system while it is at a bound and this far from leaving it.
_FAR = 0.25
_ARMIJO = 1e-4
# Squared distance, in a kernel of unit diagonal, below which two items are one point.
_SAME = 1e-10


@dataclass(frozen=True)
class Point:
    """Multipliers and what follows from them."""

    lam: Array  # (m,)
    value: float  # f(lam)
    root: Array  # (s, s) lower Cholesky factor of I + Z'AZ
    rotated: Array  # (s, n) root^-1 of the items' coordinates: their inner products are K
    p: Array  # (m,) d(a, b)
    q: Array  # (m,) d(a, e)


@dataclass(frozen=True)
class Problem:
    """m constraints on n items with s coordinates each."""

    items: Array  # (n,) positions of the constrained items, ascending
    basis: Array | None  # (r, s) orthonormal: the span of their rows of Z; None: all of the space
    coordinates: Array  # (n, s) rows of Z in that basis
    places: Array  # (m, 3) a, b, e as positions in `items`
    g: Array  # (m,) weight of d(a, b)
    h: Array  # (m,) weight of d(a, e), subtracted
    t: Array  # (m,) right-hand side
    caps: Array  # (m,) the most that lam may be where C = 1
    low: Array  # (m,) bounds of lam
    high: Array  # (m,)

    def __len__(self) -> int:
        return len(self.g)

    @cached_property
    def differences(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Sparse (m, n) matrices that give x = z_a - z_b and y = z_a - z_e of every constraint."""
        a, b, e = self.places.T
        shape, rows = (len(self), len(self.items)), np.arange(len(self))
        take_a, take_b, take_e = (sparse.csr_array((np.ones(len(self)), (rows, i)), shape=shape) for i in (a, b, e))
        return take_a - take_b, take_a - take_e

    def point(self, lam: Array) -> Point | None:
        """Everything at lam; None where I + Z'AZ is not positive definite."""
        value, root = self.value(lam)
        return None if root is None else self.complete(lam, value, root)

    def complete(self, lam: Array, value: float, root: Array) -> Point:
        """Everything at lam, given what `value` says."""
        rotated = linalg.solve_triangular(root, self.coordinates.T, lower=True, check_finite=False)
        by_item = np.ascontiguousarray(rotated.T)
        a, b, e = (by_item.take(self.places[:, role], axis=0) for role in range(3))
        p, q = (np.einsum("ms,ms->m", a - other, a - other) for other in (b, e))
        return Point(lam, value, root, rotated, p, q)

    def value(self, lam: Array) -> tuple[float, Array | None]:
        """f(lam) and the Cholesky factor of I + Z'AZ; -inf and None where that is not positive definite."""
        try:
            root = linalg.cholesky(self.inverse(lam), lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return -np.inf, None
        return 2 * float(np.log(np.diag(root)).sum()) - float(self.t @ lam), root

    def inverse(self, lam: Array) -> Array:
        """M^-1 = I + Z'AZ, shape (s, s)."""
        used = np.flatnonzero(lam)
        x, y = (difference[used] for difference in self.differences)
        A = x.T @ (x * (lam * self.g)[used, None]) - y.T @ (y * (lam * self.h)[used, None])
        touched = np.flatnonzero(np.diff(sparse.csr_array(A).indptr))
        part = self.coordinates[touched]
        product: Array = part.T @ (A[touched][:, touched] @ part)
        product[np.diag_indices_from(product)] += 1
        return product

    def gradient(self, p: Array, q: Array) -> Array:
        """df / dlam_c = tr(K C_c) - t_c: positive where the constraint is violated."""
        gradient: Array = self.g * p - self.h * q - self.t
        return gradient

    def relative(self, p: Array, q: Array) -> Array:
        """The gradient relative to the sizes of its terms, in [-1, 1]: violations that no scale can hide."""
        size = np.abs(self.g) * p + np.abs(self.h) * q + np.abs(self.t)
        relative: Array = self.gradient(p, q) / np.maximum(size, np.finfo(float).tiny)
        return relative

    def residual(self, point: Point) -> float:
        """How far the point is from optimal: the largest relative gradient along which lam is free to move."""
        relative = self.relative(point.p, point.q)
        up, down = point.lam < self.high, point.lam > self.low
        return float(np.max(np.maximum(np.where(up, relative, 0), np.where(down, -relative, 0)), initial=0.0))

    def working_set(self, point: Point) -> Array:
        """Constraints that a Newton step may move: strictly inside the box, or near to leaving a bound."""
        relative = self.relative(point.p, point.q)
        resting = (point.lam <= self.low) & (relative <= -_FAR)
        pressed = (point.lam >= self.high) & (relative >= _FAR)
        return np.flatnonzero(~resting & ~pressed)

    def curvature(self, point: Point, work: Array) -> Array:
        """-Hessian of f on the working set: tr(K C_c K C_d) from entries of K = rotated' rotated."""
        used, local = np.unique(self.places[work], return_inverse=True)
        a, b, e = local.reshape(-1, 3).T
        part = point.rotated[:, used]
        K = part.T @ part
        # Kept with a column for each constraint, so that what follows takes whole rows.
        x, y = (np.ascontiguousarray((K[a] - K[other]).T) for other in (b, e))
        g, h = self.g[work], self.h[work]
        H = _weighted_squares(x[a] - x[b], g, g)
        H += _weighted_squares(y[a] - y[e], h, h)
        mixed = _weighted_squares(x[a] - x[e], h, g)
        H -= mixed
        H -= mixed.T
        return H

    def impossible(self) -> Array:
        """Constraints that no kernel of full rank can meet, since some of their items have the same features."""
        same_ab, same_ae, same_be = (
            np.square(self.coordinates[i] - self.coordinates[j]).sum(axis=1) <= _SAME
            for i, j in (self.places[:, [0, 1]].T, self.places[:, [0, 2]].T, self.places[:, [1, 2]].T)
        )
        # With all three alike both distances are 0, and everything holds by itself.
        comparison = (same_ae | same_be) & ~same_ab
        impossible: Array = np.select(
            [self.h == 0, self.low < 0], [(self.g < 0) & same_ab, same_ab != same_ae], comparison
        )
        return impossible

    def capped(self, C: float) -> "Problem":
        """The same problem with another C."""
        high = C * self.caps
        return replace(self, low=np.where(self.low < 0, -high, 0.0), high=high)

    def without(self, dropped: Array) -> "Problem":
        """The problem with the multipliers of some constraints held at 0."""
        free = ~dropped
        return replace(self, low=np.where(free, self.low, 0.0), high=np.where(free, self.high, 0.0))

    def is_unbounded(self, point: Point) -> bool:
        """Whether lam has grown along a direction that nothing stops: the constraints contradict each other."""
        return bool(np.max(np.square(point.root).sum(axis=1), initial=0.0) > _UNBOUNDED)


def _weighted_squares(values: Array, of_row: Array, of_column: Array) -> Array:
    np.square(values, out=values)
    values *= of_row[:, None]
    values *= of_column
    return values


def pose(Z: Array, rows: Rows, gamma: float, C: float = 1.0, near: float = 1.0, far: float = 1.0) -> Problem:
    """The problem of the constraints `rows` on the kernel Z Z'; `near` and `far` bound linked items' distances.

    What an answer may say is measured against distances of about 1, what a link may say against its bound.
    """
    items, places = np.unique(rows.keys[:, :3], return_inverse=True)
    basis, coordinates = None, Z[items]
    if len(items) < Z.shape[1]:
        basis, triangle = linalg.qr(coordinates.T, mode="economic", check_finite=False)
        coordinates = triangle.T.copy()
    code = rows.keys[:, 3]
    g = np.select([code == COMPARISON, code == CANNOT_LINK], [gamma, -1.0], 1.0)
    h = np.where((code == MUST_LINK) | (code == CANNOT_LINK), 0.0, 1.0)
    t = np.select([code == MUST_LINK, code == CANNOT_LINK], [near, -far], 0.0)
    caps = rows.weights / np.where(t == 0, 1.0, np.abs(t))
    low = np.where(rows.is_equality, -caps, 0.0)
    return Problem(items, basis, coordinates, places.reshape(-1, 3), g, h, t, caps, low, caps).capped(C)


def link_bounds(Z: Array, rng: np.random.RandomState, n_pairs: int = 10_000) -> tuple[float, float]:
    """Squared distances that a twentieth of all pairs are within, and beyond, under the kernel Z Z'."""
    i, j = rng.randint(len(Z), size=(2, n_pairs))
    i, j = i[i != j], j[i != j]
    squared = np.square(Z[i] - Z[j]).sum(axis=1)
    squared = squared[squared > _SAME]
    if not len(squared):
        raise ValueError("must_link and cannot_link need items that differ: all have the same features")
    near, far = np.quantile(squared, [0.05, 0.95])
    return float(near), float(far)


def transformation(problem: Problem, lam: Array, Z: Array) -> Array:
    """T (r, r) with T T' = M, for which the columns of Z T are principal axes, from the widest on."""
    inverse = problem.inverse(lam)
    if problem.basis is not None:
        inverse[np.diag_indices_from(inverse)] -= 1
        inverse = problem.basis @ inverse @ problem.basis.T
        inverse[np.diag_indices_from(inverse)] += 1
    root = linalg.cholesky(inverse, lower=True, check_finite=False)
    T = linalg.solve_triangular(root, np.eye(len(root)), lower=True, trans="T", check_finite=False)
    centred = (Z - Z.mean(axis=0)) @ T
    axes = linalg.eigh(centred.T @ centred, check_finite=False, driver="evd")[1][:, ::-1]
    widest_first: Array = T @ axes
    return widest_first


def newton_step(problem: Problem, point: Point) -> Point:
    """The next point of a sequential quadratic program: a model of f maximised in the box, then a line search."""
    work = problem.working_set(point)
    gradient = problem.gradient(point.p, point.q)[work]
    lam = point.lam[work]
    move = box_maximum(problem.curvature(point, work), gradient, problem.low[work] - lam, problem.high[work] - lam)

    def trial(step: float) -> Array:
        moved = point.lam.copy()
        moved[work] = np.clip(lam + step * move, problem.low[work], problem.high[work])
        return moved

    gain, step = float(gradient @ move), 1.0
    value, root = problem.value(trial(step))
    while root is None or value < point.value + _ARMIJO * step * gain:
        step /= 2
        if step < 1e-10:
            return point
        value, root = problem.value(trial(step))
    # Without caps the maximum may lie at infinity, which unit steps would take for ever to show.
    while gain > 0.5 and np.isinf(problem.high).any() and step < _UNBOUNDED:
        further, its_root = problem.value(trial(2 * step))
        if its_root is None or further <= value + 0.1:
            break
        value, root, step = further, its_root, 2 * step
    return problem.complete(trial(step), value, root)


def box_maximum(H: Array, gradient: Array, low: Array, high: Array, max_iter: int = 50) -> Array:
    """The d in the box that maximises gradient'd - d'Hd / 2, by projected Newton; H may change on its diagonal."""
    if len(H):
        H[np.diag_indices_from(H)] += 1e-10 * max(float(np.mean(np.diag(H))), 1e-300)
    d = np.clip(np.zeros(len(H)), low, high)
    slope = gradient - H @ d
    tolerance = 1e-10 * max(float(np.abs(gradient).max(initial=0.0)), 1e-300)
    for _ in range(max_iter):
        held = ((d <= low) & (slope <= 0)) | ((d >= high) & (slope >= 0))
        free = np.flatnonzero(~held)
        if np.abs(slope[free]).max(initial=0.0) <= tolerance:
            break
        factor = linalg.cho_factor(H[np.ix_(free, free)], lower=True, overwrite_a=True, check_finite=False)
        newton = linalg.cho_solve(factor, slope[free], check_finite=False)
        step, gain = 1.0, 0.0
        while gain <= 0 and step > 1e-12:
            change = np.zeros(len(H))
            change[free] = np.clip(d[free] + step * newton, low[free], high[free]) - d[free]
            bend = H @ change
            gain = float(slope @ change - change @ bend / 2)
            step /= 2
        if gain <= 0:
            break
        d, slope = d + change, slope - bend
    return d
