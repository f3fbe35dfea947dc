"""SKLR's learning problem seen from its dual, where it is a smooth concave maximum under a box.

Of K = Z M Z' (Eq 9), min over M of tr M - logdet M - r subject to constraints tr(K C_c) <= t_c has the dual
max over lam of f(lam) = logdet(I + Z' A Z) - t'lam with A = sum of lam_c C_c, 0 <= lam_c <= cap_c (|lam_c| <= cap_c
for equalities); a finite cap is the soft form. M = (I + Z'AZ)^-1, so that lam alone is the whole model. Only rows
of Z that occur in a constraint matter, and of these only their inner products.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from algorithms.patterns import Array
from algorithms.sklr_constraints import CANNOT_LINK, COMPARISON, MUST_LINK, Rows
from algorithms.sklr_loops import fill_symmetric

# A multiplier this far above what a kernel of unit diagonal needs means that nothing stops it from growing.
UNBOUNDED = 1e8
# The items' own inner products are kept while there are at most so many times more items than coordinates.
_FEW_ITEMS = 2.0
# The share of a vector that rounding may change on its way through a few large matrices.
_ROUNDING = 1e-10
# Squared distance, in a kernel of unit diagonal, below which two items are one point.
_SAME = 1e-10


@dataclass(frozen=True)
class OfItems:
    """The learned kernel between all items."""

    upper: Array  # (n, n) the upper triangle of K, and zeros

    def between_items(self, items: Array) -> Array:
        """The kernel between some of them, in ascending order."""
        K = np.empty((len(items), len(items)))
        fill_symmetric(self.upper, items, K)
        return K


@dataclass(frozen=True)
class OfSpace:
    """The learned kernel where there are many more items than coordinates."""

    root: Array  # (s, s) lower Cholesky factor of M^-1
    rotated: Array  # (s, n) root^-1 of the items' coordinates: their inner products are K

    def between_items(self, items: Array) -> Array:
        """The kernel between some of them."""
        coordinates = self.rotated.T[items]
        K: Array = coordinates @ coordinates.T
        return K


@dataclass(frozen=True)
class Point:
    """Multipliers and what follows from them."""

    lam: Array  # (m,)
    value: float  # f(lam)
    kernel: OfItems | OfSpace
    p: Array  # (m,) d(a, b)
    q: Array  # (m,) d(a, e)


@dataclass(frozen=True)
class Problem:
    """m constraints on n items with s coordinates each."""

    items: Array  # (n,) positions of the constrained items, ascending
    coordinates: Array  # (n, s) rows with the inner products of their rows of Z
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
    def pairs(self) -> tuple[Array, Array]:
        """The pairs of items i <= j whose distances matter, as i n + j; and which are (a, b) and (a, e), (m, 2)."""
        a, others = self.places[:, :1], self.places[:, 1:]
        codes = np.minimum(a, others) * len(self.items) + np.maximum(a, others)
        pairs, which = np.unique(codes, return_inverse=True)
        return pairs, which.reshape(-1, 2)

    def point(self, lam: Array) -> Point | None:
        """Everything at lam; None where I + Z'AZ is not positive definite."""
        value, root = self.value(lam)
        return None if root is None else self.complete(lam, value, root)

    def complete(self, lam: Array, value: float, root: Array) -> Point:
        """Everything at lam, given what `value` says."""
        if not len(self.items):
            return self.of_items(lam, value, np.empty((0, 0)))  # BLAS takes no matrix without rows
        rotated = linalg.blas.dtrsm(1.0, root, self.coordinates.T, lower=1) if lam.any() else self.coordinates.T
        if len(self.items) <= _FEW_ITEMS * len(root):
            # BLAS fills the lower triangle in the memory order of Fortran, which is the upper one in that of C.
            return self.of_items(lam, value, linalg.blas.dsyrk(1.0, rotated, trans=1, lower=1).T)
        return Point(lam, value, OfSpace(root, rotated), *self.distances_of(np.ascontiguousarray(rotated.T)))

    def recalled(self, lam: Array, rows: Array, logdet: float) -> Point | None:
        """Everything at lam from the items' rows (n, r) in the space that an earlier fit has learned.

        `logdet` is that of its M. None where lam does not lead there: with K0 the first kernel, lam's own kernel K is
        the one for which (I + K0 A) K = K0, and another differs where the two sides meet a vector.
        """
        if not 0 < len(rows) <= _FEW_ITEMS * self.coordinates.shape[1]:
            return None
        vector = np.cos(np.arange(len(rows)))
        moved = rows @ (rows.T @ vector)
        pulled = vector - self._applied(lam, moved)
        off = moved - self.coordinates @ (self.coordinates.T @ pulled)
        if not np.abs(off).max() <= _ROUNDING * np.abs(moved).max():  # nor where either is no number
            return None
        upper = linalg.blas.dsyrk(1.0, rows.T, trans=1, lower=1).T
        return self.of_items(lam, -logdet - float(self.t @ lam), upper)

    def of_items(self, lam: Array, value: float, upper: Array) -> Point:
        """Everything at lam, given f and the upper triangle of the kernel between all items there."""
        return Point(lam, value, OfItems(upper), *self.distances(upper))

    def distances(self, upper: Array) -> tuple[Array, Array]:
        """d(a, b) and d(a, e) of every constraint under the kernel of this upper triangle."""
        pairs, which = self.pairs
        i, j = divmod(pairs, len(upper))
        size = np.diag(upper)
        squared = np.maximum(size[i] + size[j] - 2 * upper.ravel()[pairs], 0)
        return squared[which[:, 0]], squared[which[:, 1]]

    def distances_of(self, by_item: Array) -> tuple[Array, Array]:
        """d(a, b) and d(a, e) of every constraint, squared Euclidean between rows of the items."""
        pairs, which = self.pairs
        i, j = divmod(pairs, len(by_item))
        difference = by_item[i]
        difference -= by_item[j]
        squared = np.einsum("ms,ms->m", difference, difference)
        return squared[which[:, 0]], squared[which[:, 1]]

    def value(self, lam: Array) -> tuple[float, Array | None]:
        """f(lam) and the Cholesky factor of I + Z'AZ; -inf and None where that is not positive definite."""
        if not lam.any():
            return 0.0, np.eye(self.coordinates.shape[1])
        root, failed = linalg.lapack.dpotrf(self.inverse(lam, self.coordinates), lower=1, overwrite_a=1)
        if failed:
            return -np.inf, None
        return 2 * float(np.log(np.diag(root)).sum()) - float(self.t @ lam), root

    def inverse(self, lam: Array, coordinates: Array) -> Array:
        """The lower triangle of M^-1 = I + Z'AZ, (s, s), for the items' rows of Z or their coordinates."""
        inverse = np.eye(coordinates.shape[1], order="F")
        i, j, weights = self._weighted_pairs(lam)
        for sign in (1.0, -1.0):
            used = np.flatnonzero(sign * weights > 0)
            if not len(used):
                continue  # BLAS takes no matrix without rows, and says so on the terminal
            difference = coordinates[i[used]]
            difference -= coordinates[j[used]]
            difference *= np.sqrt(sign * weights[used])[:, None]
            inverse = linalg.blas.dsyrk(sign, difference.T, 1.0, inverse, lower=1, overwrite_c=1)
        return inverse

    def _applied(self, lam: Array, x: Array) -> Array:
        """A x, (n,)."""
        i, j, weights = self._weighted_pairs(lam)
        pull = weights * (x[i] - x[j])
        applied: Array = np.bincount(i, pull, len(x)) - np.bincount(j, pull, len(x))
        return applied

    def _weighted_pairs(self, lam: Array) -> tuple[Array, Array, Array]:
        """Pairs of items i, j and what the squared differences of each weigh in A."""
        pairs, which = self.pairs
        near, far = which.T
        weights = np.bincount(near, lam * self.g, len(pairs)) - np.bincount(far, lam * self.h, len(pairs))
        return *divmod(pairs, len(self.items)), weights

    def gradient(self, p: Array, q: Array) -> Array:
        """df / dlam_c = tr(K C_c) - t_c: positive where the constraint is violated."""
        gradient: Array = self.g * p - self.h * q - self.t
        return gradient

    def relative(self, p: Array, q: Array) -> Array:
        """The gradient relative to the sizes of its terms, in [-1, 1]: violations that no scale can hide."""
        relative: Array = self.gradient(p, q) / self.size(p, q)
        return relative

    def size(self, p: Array, q: Array) -> Array:
        """What the gradient's terms add up to without their signs; at least the root of -d2f / dlam_c2."""
        size: Array = np.maximum(np.abs(self.g) * p + np.abs(self.h) * q + np.abs(self.t), np.finfo(float).tiny)
        return size

    def residual(self, point: Point) -> float:
        """How far the point is from optimal: the largest relative gradient along which lam is free to move."""
        return self.slack(point.lam, self.relative(point.p, point.q))

    def slack(self, lam: Array, relative: Array) -> float:
        """The largest of the relative gradients along which lam is free to move."""
        up, down = lam < self.high, lam > self.low
        return float(np.max(np.maximum(np.where(up, relative, 0), np.where(down, -relative, 0)), initial=0.0))

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

    def is_unbounded(self, lam: Array) -> bool:
        """Whether lam has grown along a direction that nothing stops: the constraints contradict each other."""
        longest = 4 * float(np.square(self.coordinates).sum(axis=1).max(initial=0.0))
        if np.abs(lam) @ (np.abs(self.g) + np.abs(self.h)) * longest <= UNBOUNDED:
            return False  # M^-1 cannot be larger either
        return bool(np.diag(self.inverse(lam, self.coordinates)).max() > UNBOUNDED)

    def shrinkage(self, lam: Array) -> float:
        """The largest eigenvalue of M^-1: by how much some squared distance is smaller than at first."""
        inverse = self.inverse(lam, self.coordinates)
        most = len(inverse) - 1
        return float(linalg.eigvalsh(inverse, lower=True, subset_by_index=[most, most], check_finite=False)[0])


def pose(Z: Array, rows: Rows, gamma: float, C: float = 1.0, near: float = 1.0, far: float = 1.0) -> Problem:
    """The problem of the constraints `rows` on the kernel Z Z'; `near` and `far` bound linked items' distances.

    What an answer may say is measured against distances of about 1, what a link may say against its bound.
    """
    items, places = np.unique(rows.keys[:, :3], return_inverse=True)
    coordinates = Z[items]
    if len(items) <= Z.shape[1]:
        coordinates = _root(coordinates @ coordinates.T)
    code = rows.keys[:, 3]
    g = np.select([code == COMPARISON, code == CANNOT_LINK], [gamma, -1.0], 1.0)
    h = np.where((code == MUST_LINK) | (code == CANNOT_LINK), 0.0, 1.0)
    t = np.select([code == MUST_LINK, code == CANNOT_LINK], [near, -far], 0.0)
    caps = rows.weights / np.where(t == 0, 1.0, np.abs(t))
    low = np.where(rows.is_equality, -caps, 0.0)
    return Problem(items, coordinates, places.reshape(-1, 3), g, h, t, caps, low, caps).capped(C)


def _root(K: Array) -> Array:
    """R (n, s) with R R' = K, positive semidefinite of rank s."""
    packed, pivots, rank, _ = linalg.lapack.dpstrf(K, lower=1)
    root = np.empty((len(K), rank))
    root[pivots - 1] = np.tril(packed[:, :rank])
    return root


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
    inverse = problem.inverse(lam, Z[problem.items])
    root = linalg.cholesky(inverse, lower=True, check_finite=False)
    T = linalg.solve_triangular(root, np.eye(len(root)), lower=True, trans="T", check_finite=False)
    centred = Z - Z.mean(axis=0)
    axes = linalg.eigh(T.T @ (centred.T @ centred) @ T, check_finite=False, driver="evd")[1][:, ::-1]
    widest_first: Array = T @ axes
    return widest_first
