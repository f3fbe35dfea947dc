"""CMBC's model of bits at one gamma: E-steps, the three M-steps, and the objective they climb at a temperature.

At temperature T the responsibilities are q_ik ~ p(y+_i | c_k)^(1/T) (4.15) and every step raises
F_T = (1 - gamma) T mean_i log sum_k p(y+_i | c_k)^(1/T) / K + gamma (H^l(C, Y-) - H^u(Y-)), which is the paper's
objective (3.14) at T = 1 with the likelihood as a mean over items: as a sum, the printed gammas would do nothing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.cmbc_coding import Coding
from algorithms.cmbc_known import Known
from algorithms.cmbc_penalty import Penalty
from algorithms.cmbc_updates import HIGHEST, LOWEST, Walk, maximise, sweep
from algorithms.patterns import Array

Update = Literal["exact", "batch", "partial"]

# Noise that lets clusters part which a higher temperature has brought together.
NOISE = 1e-3
# An anneal ends when the mean of the items' largest responsibilities is above this.
HARD = 0.999

# Where only some items are seen, theta need not be found more exactly than they can tell: a multiple of `tol`.
_ROUGH = 10


@dataclass(frozen=True)
class Mixture:
    """K clusters of independent bits; a position is theta (K, m)."""

    bits: Array  # (N, m)
    few: Array  # (n, m) the bits of the items that anneals see, all or some
    penalty: Penalty
    update: Update

    @property
    def n_clusters(self) -> int:
        return self.penalty.n_clusters

    def hottest(self) -> float:
        """Where no clusters are apart."""
        return hottest(self.few)

    def first(self, rng: np.random.RandomState) -> Array:
        """All clusters about the mean of the features, where every anneal begins anyway."""
        mean = np.broadcast_to(self.bits.mean(axis=0), (self.n_clusters, self.bits.shape[1]))
        return self.perturbed(mean, rng)

    def perturbed(self, theta: Array, rng: np.random.RandomState) -> Array:
        """Theta with a little noise."""
        return np.clip(theta + NOISE * rng.standard_normal(theta.shape), LOWEST, HIGHEST)

    def settle(self, theta: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """EM until theta moves by less than `tol`: theta, F_T before each step, and whether it came to that."""
        tol = tol if self.few is self.bits else _ROUGH * tol
        return self._settle(self.few, theta, temperature, tol, max_iter)

    def polished(
        self, theta: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """The same for all items, where not all were seen."""
        if self.few is self.bits:
            return theta, [], True
        return self._settle(self.bits, theta, temperature, tol, max_iter)

    def _settle(
        self, bits: Array, theta: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        values = []
        for _ in range(max_iter):
            q, value = self.responsibilities(bits, theta, temperature)
            values.append(value)
            moved = self._step(bits, theta, q, temperature)
            change = np.abs(moved - theta).max()
            theta = moved
            if change < tol:
                return theta, values, True
        return theta, values, False

    def is_hard(self, theta: Array, temperature: float) -> bool:
        """Whether nearly every item is in one cluster alone."""
        q, _ = self.responsibilities(self.few, theta, temperature)
        return bool(q.max(axis=1).mean() > HARD)

    def objective(self, theta: Array) -> float:
        """(3.14)."""
        return self.responsibilities(self.bits, theta, 1.0)[1]

    def labels(self, theta: Array) -> Array:
        """Most probable cluster of every item."""
        found: Array = log_likelihoods(self.bits, theta).argmax(axis=1)
        return found

    def responsibilities(self, bits: Array, theta: Array, temperature: float) -> tuple[Array, float]:
        """q (N, K) of (4.15), and F_T, of items."""
        q, evidence = normalised(log_likelihoods(bits, theta) / temperature)
        fit = temperature * (evidence.mean() - np.log(self.n_clusters))
        return q, float((1 - self.penalty.gamma) * fit) + self.penalty.value(self.penalty.project(theta))

    def _step(self, bits: Array, theta: Array, q: Array, temperature: float) -> Array:
        if self.update == "partial":
            return self._partial(bits, theta, temperature)
        S, N = q.T @ bits / len(q), q.mean(axis=0)
        return maximise(theta, S, N, self.penalty) if self.update == "exact" else sweep(theta, S, N, self.penalty)

    def _partial(self, bits: Array, theta: Array, temperature: float) -> Array:
        """One coordinate after another, each with an E-step of its own (CMBCpm, Fig. 1)."""
        theta = theta.copy()
        walk = Walk(theta, self.penalty)
        scores = log_likelihoods(bits, theta)
        columns = np.ascontiguousarray(bits.T)
        for j, column in enumerate(columns):
            for k in range(self.n_clusters):
                mine = normalised(scores / temperature)[0][:, k]
                before = theta[k, j]
                after = walk.coordinate(k, j, float(mine @ column) / len(mine), float(mine.mean()))
                off, on = np.log1p(-after) - np.log1p(-before), np.log(after) - np.log(before)
                scores[:, k] += off + (on - off) * column
        return theta


@dataclass(frozen=True)
class FittedMixture:
    """What the model knows of any items; their y- does not matter."""

    coding: Coding
    theta: Array  # (K, m)

    def posterior(self, X: Array, known: Known | None) -> Array:
        """p(c_k | y+), (N, K)."""
        return normalised(log_likelihoods(self.coding.bits(X), self.theta))[0]


def hottest(bits: Array) -> float:
    """Twice the largest eigenvalue of the features' correlations: no clusters are apart above about that."""
    centred = bits - bits.mean(axis=0)
    scale = centred.std(axis=0)
    scaled = centred[:, scale > 0] / scale[scale > 0]
    if not scaled.shape[1]:
        return 1.0
    return max(2 * float(np.linalg.norm(scaled, 2)) ** 2 / len(scaled), 1.0)


def log_likelihoods(bits: Array, theta: Array) -> Array:
    """log p(y+_i | c_k) of (A.2), (N, K); a cluster's items lie side by side, which makes sums over clusters fast."""
    off = np.log1p(-theta)
    scores: Array = (np.log(theta) - off) @ bits.T + off.sum(axis=1, keepdims=True)
    return scores.T


def normalised(scores: Array) -> tuple[Array, Array]:
    """Softmax of each row, and its log-sum-exp."""
    top = scores.max(axis=1, keepdims=True)
    q = np.exp(scores - top)
    total = q.sum(axis=1, keepdims=True)
    q /= total
    return q, (top + np.log(total)).ravel()
