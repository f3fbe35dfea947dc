"""The dual of SKLR's learning problem: a smooth concave function of the multipliers, maximised in a box.

Of K = Z M Z' (Eq 9), min over M of tr M - logdet M - r subject to constraints tr(K C_c) <= t_c has the dual
max over lam of f(lam) = logdet(I + Z' A Z) - t'lam with A = sum of lam_c C_c, 0 <= lam_c <= cap_c (|lam_c| <= cap_c
for equalities); a finite cap is the soft form. M = (I + Z'AZ)^-1, so lam alone determines the
learned kernel. Only the rows of Z that occur in a constraint matter, and of these only their inner products.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.sklr.constraints import CANNOT_LINK, COMPARISON, MUST_LINK, DistanceConstraints
from tercet_algorithms.sklr.loops import add_differences, difference_products, fill_symmetric

# A kernel of unit diagonal never needs an eigenvalue of M^-1 above this: the dual is then unbounded.
UNBOUNDED = 1e8
# The items' inner products are stored while there are at most this many times more items than coordinates.
_MAX_ITEMS_PER_COORDINATE = 2.0
# Relative change of a vector that is put down to rounding in a product of a few large matrices.
_ROUNDING = 1e-10
# Squared distance, in a kernel of unit diagonal, below which two items count as identical.
_SAME_ITEM = 1e-10


@dataclass(frozen=True)
class GramMatrix:
    """The learned kernel as the matrix of all constrained items, for few items."""

    upper: Array  # (n, n) the upper triangle of K, zeros below

    def between_items(self, items: Array) -> Array:
        """Return the kernel matrix of some items, given in ascending order."""
        K = np.empty((len(items), len(items)))
        fill_symmetric(self.upper, items, K)
        return K


@dataclass(frozen=True)
class FactoredKernel:
    """The learned kernel as inner products of coordinates, for many more items than coordinates."""

    root: Array  # (s, s) lower Cholesky factor of M^-1
    rotated: Array  # (s, n) root^-1 times the items' coordinates, so that their inner products are K

    def between_items(self, items: Array) -> Array:
        """Return the kernel matrix of some items."""
        coordinates = self.rotated.T[items]
        K: Array = coordinates @ coordinates.T
        return K


@dataclass(frozen=True)
class DualPoint:
    """Multipliers with the dual objective, the kernel and the distances that they determine."""

    lam: Array  # (m,)
    value: float  # f(lam)
    kernel: GramMatrix | FactoredKernel
    p: Array  # (m,) d(a, b)
    q: Array  # (m,) d(a, e)


@dataclass(frozen=True)
class DualProblem:
    """m constraints g d(a, b) - h d(a, e) <= t on n items with s coordinates each, and the box of lam."""

    items: Array  # (n,) positions of the constrained items, ascending
    coordinates: Array  # (n, s) with the same inner products as the items' rows of Z
    places: Array  # (m, 3) a, b, e as positions in `items`
    g: Array  # (m,) weight of d(a, b)
    h: Array  # (m,) weight of d(a, e), subtracted
    t: Array  # (m,) right-hand side
    caps: Array  # (m,) upper bound of |lam| where C = 1
    low: Array  # (m,) lower bounds of lam
    high: Array  # (m,) upper bounds of lam

    def __len__(self) -> int:
        return len(self.g)

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        """Pairs of items i <= j that occur, coded i n + j, and the positions of (a, b) and (a, e) in them, (m, 2)."""
        a, b_and_e = self.places[:, :1], self.places[:, 1:]
        codes = np.minimum(a, b_and_e) * len(self.items) + np.maximum(a, b_and_e)
        pairs, pair_of = np.unique(codes, return_inverse=True)
        return pairs, pair_of.reshape(-1, 2)

    def point(self, lam: Array) -> DualPoint | None:
        """Return the point of lam, or None where I + Z'AZ is not positive definite."""
        value, root = self.value(lam)
        return None if root is None else self.point_of_root(lam, value, root)

    def point_of_root(self, lam: Array, value: float, root: Array) -> DualPoint:
        """Return the point of lam from f and the Cholesky factor that `value` has returned for it."""
        if not len(self.items):
            return self.point_of_kernel(lam, value, np.empty((0, 0)))  # BLAS takes no matrix without rows
        rotated = linalg.blas.dtrsm(1.0, root, self.coordinates.T, lower=1) if lam.any() else self.coordinates.T
        if len(self.items) <= _MAX_ITEMS_PER_COORDINATE * len(root):
            # BLAS fills the lower triangle in the memory order of Fortran, which is the upper one in that of C.
            return self.point_of_kernel(lam, value, linalg.blas.dsyrk(1.0, rotated, trans=1, lower=1).T)
        coordinates = np.ascontiguousarray(rotated.T)
        distances = self.products_between(coordinates, coordinates)
        return DualPoint(lam, value, FactoredKernel(root, rotated), *distances)

    def point_of_embedding(self, lam: Array, embedding: Array, logdet: float) -> DualPoint | None:
        """Return the point of lam from the items' rows (n, r) in the space that an earlier fit has learned.

        `logdet` is log det M of that fit. Return None where the embedding does not belong to lam: with K0 the first
        kernel, the kernel K of lam is the only one with (I + K0 A) K = K0, which is tested on one vector.
        """
        if not 0 < len(embedding) <= _MAX_ITEMS_PER_COORDINATE * self.coordinates.shape[1]:
            return None
        vector = np.cos(np.arange(len(embedding)))
        product = embedding @ (embedding.T @ vector)
        remainder = vector - self._times_a(lam, product)
        difference = product - self.coordinates @ (self.coordinates.T @ remainder)
        if not np.abs(difference).max() <= _ROUNDING * np.abs(product).max():  # false for NaN as well
            return None
        upper = linalg.blas.dsyrk(1.0, embedding.T, trans=1, lower=1).T
        return self.point_of_kernel(lam, -logdet - float(self.t @ lam), upper)

    def point_of_kernel(self, lam: Array, value: float, upper: Array) -> DualPoint:
        """Return the point of lam from f and the upper triangle of its kernel matrix."""
        return DualPoint(lam, value, GramMatrix(upper), *self.distances(upper))

    def distances(self, upper: Array) -> tuple[Array, Array]:
        """Return d(a, b) and d(a, e) of every constraint from the upper triangle of the kernel matrix."""
        pairs, pair_of = self.pairs
        i, j = divmod(pairs, len(upper))
        size = np.diag(upper)
        squared = np.maximum(size[i] + size[j] - 2 * upper.ravel()[pairs], 0)
        return squared[pair_of[:, 0]], squared[pair_of[:, 1]]

    def products_between(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Return (l_a - l_b)'(r_a - r_b), and that with e for b, of every constraint, for rows l and r of the items."""
        pairs, pair_of = self.pairs
        of_pairs = np.empty(len(pairs), left.dtype)
        difference_products(left, right, *divmod(pairs, len(left)), of_pairs)
        of_pairs = of_pairs.astype(np.float64, copy=False)
        return of_pairs[pair_of[:, 0]], of_pairs[pair_of[:, 1]]

    def value(self, lam: Array) -> tuple[float, Array | None]:
        """Return f(lam) and the Cholesky factor of I + Z'AZ, or -inf and None where that is not positive definite."""
        if not lam.any():
            return 0.0, np.eye(self.coordinates.shape[1])
        root, failed = linalg.lapack.dpotrf(self.inverse(lam, self.coordinates), lower=1, overwrite_a=1)
        if failed:
            return -np.inf, None
        return 2 * float(np.log(np.diag(root)).sum()) - float(self.t @ lam), root

    def inverse(self, lam: Array, coordinates: Array) -> Array:
        """Return the lower triangle of M^-1 = I + Z'AZ, (s, s), for the items' rows of Z or their coordinates."""
        i, j, weights = self._weighted_pairs(lam)
        if len(weights) > len(coordinates):  # then A Z takes less time than Z'AZ pair by pair
            product = np.zeros_like(coordinates)
            add_differences(coordinates, i, j, weights, product)
            dense: Array = np.asfortranarray(coordinates.T @ product)
            dense[np.diag_indices_from(dense)] += 1
            return dense
        inverse = np.eye(coordinates.shape[1], order="F")
        for sign in (1.0, -1.0):
            signed = np.flatnonzero(sign * weights > 0)
            if not len(signed):
                continue  # BLAS takes no matrix without rows, and prints so
            difference = coordinates[i[signed]]
            difference -= coordinates[j[signed]]
            difference *= np.sqrt(sign * weights[signed])[:, None]
            inverse = linalg.blas.dsyrk(sign, difference.T, 1.0, inverse, lower=1, overwrite_c=1)
        return inverse

    def _times_a(self, lam: Array, x: Array) -> Array:
        """Return A x, (n,)."""
        i, j, weights = self._weighted_pairs(lam)
        weighted = weights * (x[i] - x[j])
        product: Array = np.bincount(i, weighted, len(x)) - np.bincount(j, weighted, len(x))
        return product

    def _weighted_pairs(self, lam: Array) -> tuple[Array, Array, Array]:
        """Return the pairs of items i, j and the weights of their squared differences in A."""
        pairs, pair_of = self.pairs
        ab, ae = pair_of.T
        weights = np.bincount(ab, lam * self.g, len(pairs)) - np.bincount(ae, lam * self.h, len(pairs))
        return *divmod(pairs, len(self.items)), weights

    def gradient(self, p: Array, q: Array) -> Array:
        """Return df / dlam_c = tr(K C_c) - t_c, positive where the constraint is violated."""
        gradient: Array = self.g * p - self.h * q - self.t
        return gradient

    def relative(self, p: Array, q: Array) -> Array:
        """Return the gradient relative to the sizes of its terms, in [-1, 1]: violations free of the kernel's scale."""
        relative: Array = self.gradient(p, q) / self.term_sizes(p, q)
        return relative

    def term_sizes(self, p: Array, q: Array) -> Array:
        """Return the sum of the absolute terms of the gradient; at least the square root of -d2f / dlam_c2."""
        sizes: Array = np.maximum(np.abs(self.g) * p + np.abs(self.h) * q + np.abs(self.t), np.finfo(float).tiny)
        return sizes

    def residual(self, point: DualPoint) -> float:
        """Return how far the point is from the optimum: the largest relative gradient that the box does not block."""
        return self.largest_free_gradient(point.lam, self.relative(point.p, point.q))

    def largest_free_gradient(self, lam: Array, relative: Array) -> float:
        """Return the largest relative gradient in a direction in which the box lets lam move."""
        can_rise, can_fall = lam < self.high, lam > self.low
        return float(np.max(np.maximum(np.where(can_rise, relative, 0), np.where(can_fall, -relative, 0)), initial=0.0))

    def impossible(self) -> Array:
        """Return a mask (m,) of constraints that no kernel of full rank meets because items are identical."""
        same_ab, same_ae, same_be = (
            np.square(self.coordinates[i] - self.coordinates[j]).sum(axis=1) <= _SAME_ITEM
            for i, j in (self.places[:, [0, 1]].T, self.places[:, [0, 2]].T, self.places[:, [1, 2]].T)
        )
        # With all three items identical both distances are 0, and every constraint holds.
        comparison = (same_ae | same_be) & ~same_ab
        impossible: Array = np.select(
            [self.h == 0, self.low < 0], [(self.g < 0) & same_ab, same_ab != same_ae], comparison
        )
        return impossible

    def capped(self, C: float) -> "DualProblem":
        """Return the same problem with another C."""
        high = C * self.caps
        return replace(self, low=np.where(self.low < 0, -high, 0.0), high=high)

    def without(self, dropped: Array) -> "DualProblem":
        """Return the problem with the multipliers of the constraints in the mask `dropped` held at 0."""
        return replace(self, low=np.where(dropped, 0.0, self.low), high=np.where(dropped, 0.0, self.high))

    def is_unbounded(self, lam: Array) -> bool:
        """Return whether lam has grown along an unbounded direction: the constraints contradict each other."""
        longest = 4 * float(np.square(self.coordinates).sum(axis=1).max(initial=0.0))
        if np.abs(lam) @ (np.abs(self.g) + np.abs(self.h)) * longest <= UNBOUNDED:
            return False  # M^-1 cannot be larger either
        return bool(np.diag(self.inverse(lam, self.coordinates)).max() > UNBOUNDED)

    def shrinkage(self, lam: Array) -> float:
        """Return the largest eigenvalue of M^-1: the factor by which some squared distance has shrunk."""
        inverse = self.inverse(lam, self.coordinates)
        last = len(inverse) - 1
        return float(linalg.eigvalsh(inverse, lower=True, subset_by_index=[last, last], check_finite=False)[0])


def make_problem(
    Z: Array, constraints: DistanceConstraints, gamma: float, C: float = 1.0, near: float = 1.0, far: float = 1.0
) -> DualProblem:
    """Return the dual problem of constraints on the kernel Z Z'.

    `near` is the upper bound of the squared distance of must-linked items, `far` the lower bound of cannot-linked
    ones. Multipliers of answers are capped for distances of about 1, those of links for distances of about the bound.
    """
    items, places = np.unique(constraints.keys[:, :3], return_inverse=True)
    coordinates = Z[items]
    if len(items) <= Z.shape[1]:
        coordinates = _root(coordinates @ coordinates.T)
    code = constraints.keys[:, 3]
    g = np.select([code == COMPARISON, code == CANNOT_LINK], [gamma, -1.0], 1.0)
    h = np.where((code == MUST_LINK) | (code == CANNOT_LINK), 0.0, 1.0)
    t = np.select([code == MUST_LINK, code == CANNOT_LINK], [near, -far], 0.0)
    caps = constraints.weights / np.where(t == 0, 1.0, np.abs(t))
    low = np.where(constraints.is_equality, -caps, 0.0)
    return DualProblem(items, coordinates, places.reshape(-1, 3), g, h, t, caps, low, caps).capped(C)


def _root(K: Array) -> Array:
    """Return R (n, s) with R R' = K for a positive semidefinite K of rank s."""
    packed, pivots, rank, _ = linalg.lapack.dpstrf(K, lower=1)
    root = np.empty((len(K), rank))
    root[pivots - 1] = np.tril(packed[:, :rank])
    return root


def link_bounds(Z: Array, rng: np.random.RandomState, n_pairs: int = 10_000) -> tuple[float, float]:
    """Return the 5 % and 95 % quantiles of the squared distances of random pairs under the kernel Z Z'."""
    i, j = rng.randint(len(Z), size=(2, n_pairs))
    i, j = i[i != j], j[i != j]
    squared = np.square(Z[i] - Z[j]).sum(axis=1)
    squared = squared[squared > _SAME_ITEM]
    if not len(squared):
        raise ValueError("must_link and cannot_link need items that differ: all have the same features")
    near, far = np.quantile(squared, [0.05, 0.95])
    return float(near), float(far)


def transformation(problem: DualProblem, lam: Array, Z: Array) -> Array:
    """Return T (r, r) with T T' = M such that the columns of Z T are principal axes, the widest first."""
    inverse = problem.inverse(lam, Z[problem.items])
    root = linalg.cholesky(inverse, lower=True, check_finite=False)
    T = linalg.solve_triangular(root, np.eye(len(root)), lower=True, trans="T", check_finite=False)
    centred = Z - Z.mean(axis=0)
    axes = linalg.eigh(T.T @ (centred.T @ centred) @ T, check_finite=False, driver="evd")[1][:, ::-1]
    widest_first: Array = T @ axes
    return widest_first
