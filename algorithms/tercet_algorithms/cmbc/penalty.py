"""CMBC's penalty: a quadratic bound of H(C | Y-) as a function of the clusters' parameters theta.

p(v | c_k) is affine in theta (A.6), so the bounds of its entropies (3.7, 3.10) are quadratic forms. They are stored as
a square root of A2, whose rank is less than the number V of combinations, so that the update of a coordinate costs
O(V) instead of O(m) and a Newton step for all of theta is cheap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from tercet_algorithms.answers.patterns import Array

Bound = Literal["joint", "variance"]

# Singular values below this share of the largest are rounding.
_RANK = 1e-10


@dataclass(frozen=True)
class Penalty:
    """gamma times H^l(C, Y-) - H^u(Y-) of (3.12) and (3.13), for K equally likely clusters.

    p(v | c_k) = (b_v + sum_j d_vj theta_kj) / m is `base` + `directions` @ theta_k, and its coordinates in the range of
    `directions` are u_k = `root` @ theta_k + `shift`; all of them include the factor 1/m.
    """

    directions: Array  # (V, m): d / m
    base: Array  # (V,): b / m
    root: Array  # (r, m), root' root = A2 / m^2
    shift: Array  # (r,)
    outside: float  # squared length of the part of `base` outside the range of `directions`
    kappa: float  # Q ln V
    beta: float  # beta_d of (3.9), or K kappa
    constant: float
    gamma: float
    n_clusters: int

    @property
    def pull(self) -> float:
        """Return the factor of the gradient towards p(v) = 0: 2 gamma beta / K^2."""
        return 2 * self.gamma * self.beta / self.n_clusters**2

    @property
    def push(self) -> float:
        """Return the factor of the gradient away from the mean of the clusters: 2 gamma kappa / K."""
        return 2 * self.gamma * self.kappa / self.n_clusters

    def project(self, theta: Array) -> Array:
        """Return u_k of every cluster, (K, r)."""
        U: Array = theta @ self.root.T + self.shift
        return U

    def p_negative(self, theta: Array) -> Array:
        """Return p(v | c_k) of (A.6), (K, V), with the parts of y- side by side."""
        p: Array = theta @ self.directions.T + self.base
        return p

    def value(self, U: Array) -> float:
        """Return gamma (H^l(C, Y-) - H^u(Y-)) at u_k, (3.12) and (3.13) with their constants."""
        joint = (np.sum(U**2) + self.n_clusters * self.outside) / self.n_clusters**2
        marginal = np.sum(U.mean(axis=0) ** 2) + self.outside
        return float(self.gamma * (self.constant - self.beta * joint + self.kappa * marginal))

    def gradient(self, U: Array) -> Array:
        """Return the derivative of `value` by theta, (K, m)."""
        slopes: Array = (self.push * U.mean(axis=0) - self.pull * U) @ self.root
        return slopes

    def cubic(self, theta: Array, S: Array, N: Array, k: int, h: int) -> tuple[float, float, float, float]:
        """Return F3, F2, F1, F0 of Lemma B.1, corrected; the best theta_kh is the cubic's only root in (0, 1).

        With G1 + G2 x the derivative of the penalty where theta_kh = x, and w = 1 - gamma: F3 = -G2, F2 = G2 - G1,
        F1 = G1 - w N, F0 = w S; hence F(0) = w S and F(1) = w (S - N).
        """
        w = 1 - self.gamma
        G2 = self.curvature()[h]
        G1 = self.gradient(self.project(theta))[k, h] - G2 * theta[k, h]
        return -G2, G2 - G1, G1 - w * N[k], w * S[k, h]

    def curvature(self) -> Array:
        """Return the second derivative of the penalty by each theta_kj, (m,), the same for all k; never positive."""
        second: Array = -(self.pull - self.push / self.n_clusters) * np.sum(self.root**2, axis=0)
        return second

    def at(self, gamma: float) -> Self:
        """Return the penalty of the same data with another weight gamma."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"gamma": gamma}
        return type(self)(**values)


def make_penalty(bits: Array, parts: Sequence[Array], n_clusters: int, bound: Bound) -> Penalty:
    """Return the penalty with gamma = 0, summed over the parts of y-: codes (N,) from 0, -1 where not known.

    With one part, the combinations of all that is known, it is the paper's. With several, the rows of each part are
    scaled by the square root of its kappa so that one kappa serves all, and the largest beta / kappa is taken, which
    keeps the sum concave.
    """
    tables = [conditionals(bits, codes) for codes in parts]
    factors = [coefficients(len(p1), n_clusters, bound) for p1, _ in tables]
    kappa = max(factor[0] for factor in factors)
    ratio = max((part_beta / part_kappa for part_kappa, part_beta, _ in factors if part_kappa > 0), default=0.0)
    directions = np.concatenate([p1 - p0 for p1, p0 in tables]) / bits.shape[1]
    base = np.concatenate([p0.sum(axis=1) for _, p0 in tables]) / bits.shape[1]
    weights = np.concatenate([np.full(len(p1), factor[0]) for (p1, _), factor in zip(tables, factors, strict=True)])
    scale = np.sqrt(weights / max(kappa, np.finfo(float).tiny))
    U, sizes, Vt = np.linalg.svd(scale[:, None] * directions, full_matrices=False)
    nonzero = sizes > _RANK * max(sizes.max(initial=0.0), np.finfo(float).tiny)
    shift = U[:, nonzero].T @ (scale * base)
    root = np.ascontiguousarray(sizes[nonzero, None] * Vt[nonzero])
    outside = float(max(np.sum((scale * base) ** 2) - shift @ shift, 0.0))
    constant = sum(factor[2] for factor in factors)
    return Penalty(directions, base, root, shift, outside, kappa, kappa * ratio, constant, 0.0, n_clusters)


def conditionals(bits: Array, combinations: Array) -> tuple[Array, Array]:
    """Return p(v | y_j = 1) and p(v | y_j = 0), both (V, m), by counting (A.5).

    A feature that is constant among the items whose y- is known is not informative of it: both are then p(v).
    """
    has_code = combinations >= 0
    values, features = combinations[has_code], bits[has_code]
    n_values = int(values.max(initial=0)) + 1
    ones = np.zeros((n_values, bits.shape[1]))
    for value in range(n_values):
        ones[value] = features[values == value].sum(axis=0)
    sizes = np.bincount(values, minlength=n_values).astype(np.float64)
    p1, p0 = (_shares(counts, sizes) for counts in (ones, sizes[:, None] - ones))
    constant = (ones.sum(axis=0) == 0) | (ones.sum(axis=0) == len(values))
    p1[:, constant] = p0[:, constant] = (sizes / max(len(values), 1))[:, None]
    return p1, p0


def _shares(counts: Array, sizes: Array) -> Array:
    shares: Array = counts / np.maximum(counts.sum(axis=0), 1)
    return shares


def coefficients(n_values: int, n_clusters: int, bound: Bound) -> tuple[float, float, float]:
    """Return kappa, beta and the constant of H^l - H^u for V combinations.

    "joint" takes d = K V, the cells of (C, Y-). Since beta_d >= d = K V and ln V / (V - 1) < 1, beta >= K kappa, so
    the penalty is concave; d = V, as printed, is not and lets all clusters drift together (K = 3 collapses).
    "variance" is the boundary case beta = K kappa: ln K minus kappa times the variance of p(. | c_k) over the clusters.
    """
    if n_values < 2:
        return 0.0, 0.0, 0.0
    kappa = n_values * np.log(n_values) / (n_values - 1)
    d = n_clusters * n_values
    delta = np.log(d + 1) + d * np.log1p(1 / d)
    beta = (d + 1) * d * np.log1p(1 / d) if bound == "joint" else n_clusters * kappa
    constant = delta - np.log(n_values) - kappa / n_values if bound == "joint" else np.log(n_clusters)
    return float(kappa), float(beta), float(constant)
