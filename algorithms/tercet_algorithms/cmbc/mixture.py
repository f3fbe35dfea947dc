"""CMBC's model of bits at one gamma: E-steps, the three M-steps, and the objective that they raise.

At temperature T the responsibilities are q_ik ~ p(y+_i | c_k)^(1/T) (4.15) and every step increases
F_T = (1 - gamma) T mean_i log sum_k p(y+_i | c_k)^(1/T) / K + gamma (H^l(C, Y-) - H^u(Y-)), which is the paper's
objective (3.14) at T = 1 with the likelihood as a mean over items: as a sum, the printed gammas would do nothing.

Links between items are factors of the probability of their clusters. The E-step is then the mean-field one, from the
responsibilities before, and log sum_k p(y+_i | c_k)^(1/T) becomes the lower bound of `common/links.py`, with scores and
strengths over T; every step still increases F_T. A link is as strong as all bits of an item together: the sum of their
entropies, in nats, is the most that they can say of a cluster.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.coding import Coding
from tercet_algorithms.cmbc.known_clusterings import KnownClusterings
from tercet_algorithms.cmbc.m_step import HIGHEST, LOWEST, CoordinateAscent, maximise, sweep
from tercet_algorithms.cmbc.penalty import Penalty
from tercet_algorithms.common.linked_kmeans import centers_of
from tercet_algorithms.common.links import ItemLinks, lower_bound, mean_field, memberships

Update = Literal["exact", "batch", "partial"]

# Noise by which clusters that coincide at a higher temperature can separate.
NOISE = 1e-3
# Annealing ends when the mean of the items' largest responsibilities is above this.
HARD = 0.999

# Theta of a sample of the items differs from that of all by more than this multiple of `tol`.
_SAMPLE_TOL_FACTOR = 10


@dataclass(frozen=True)
class Mixture:
    """K clusters of independent bits; a position is theta (K, m)."""

    bits: Array  # (N, m)
    sample: Array  # (n, m) the bits of the items that annealing uses: all, or a sample
    penalty: Penalty
    update: Update
    links: ItemLinks | None = None  # in nats; for the items that `bits` holds, not for a sample
    start: Array | None = None  # (N,) clusters to go on from

    @property
    def n_clusters(self) -> int:
        return self.penalty.n_clusters

    def initial_temperature(self) -> float:
        """Return the temperature above which all clusters coincide."""
        return initial_temperature(self.sample)

    def initial_position(self, rng: np.random.RandomState) -> Array:
        """Return theta with all clusters near the mean of the features, where they are at a high temperature."""
        mean = np.broadcast_to(self.bits.mean(axis=0), (self.n_clusters, self.bits.shape[1]))
        return self.perturbed(mean, rng)

    def position_of(self, labels: Array) -> Array:
        """Return theta of clusters (N,): the means of their bits."""
        return np.clip(centers_of(self.bits, labels, self.n_clusters), LOWEST, HIGHEST)

    def perturbed(self, theta: Array, rng: np.random.RandomState) -> Array:
        """Return theta with a little noise."""
        return np.clip(theta + NOISE * rng.standard_normal(theta.shape), LOWEST, HIGHEST)

    def settle(self, theta: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """Run EM until theta moves by less than `tol`; return theta, F_T before each step, and whether it converged."""
        tol = tol if self.sample is self.bits else _SAMPLE_TOL_FACTOR * tol
        return self._settle(self.sample, theta, temperature, tol, max_iter)

    def settle_on_all_items(
        self, theta: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """Do the same with all items where `settle` uses a sample."""
        if self.sample is self.bits:
            return theta, [], True
        return self._settle(self.bits, theta, temperature, tol, max_iter)

    def _settle(
        self, bits: Array, theta: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        values = []
        q = self._first_memberships()
        for _ in range(max_iter):
            q, value = self.responsibilities(bits, theta, temperature, q)
            values.append(value)
            moved, q = self._step(bits, theta, q, temperature)
            change = np.abs(moved - theta).max()
            theta = moved
            if change < tol:
                return theta, values, True
        return theta, values, False

    def is_hard(self, theta: Array, temperature: float) -> bool:
        """Return whether nearly every item belongs to one cluster alone."""
        q, _ = self.responsibilities(self.sample, theta, temperature)
        return bool(q.max(axis=1).mean() > HARD)

    def objective(self, theta: Array) -> float:
        """Return the objective (3.14)."""
        return self.responsibilities(self.bits, theta, 1.0)[1]

    def labels(self, theta: Array) -> Array:
        """Return the most probable cluster of every item."""
        scores = log_likelihoods(self.bits, theta)
        labels: Array = (scores if self.links is None else self.posterior(theta)).argmax(axis=1)
        return labels

    def posterior(self, theta: Array) -> Array:
        """Return the probability of every cluster for every item, (N, K), links included."""
        return self.responsibilities(self.bits, theta, 1.0, self._first_memberships())[0]

    def _first_memberships(self) -> Array | None:
        return None if self.start is None else memberships(self.start, self.n_clusters)

    def responsibilities(
        self, bits: Array, theta: Array, temperature: float, before: Array | None = None
    ) -> tuple[Array, float]:
        """Return q (N, K) of (4.15) and F_T for the bits of items; linked items climb from where they were before."""
        q, evidence = self._e_step(bits, log_likelihoods(bits, theta) / temperature, temperature, before)
        likelihood = temperature * (evidence - np.log(self.n_clusters))
        return q, float((1 - self.penalty.gamma) * likelihood) + self.penalty.value(self.penalty.project(theta))

    def _e_step(self, bits: Array, scores: Array, temperature: float, before: Array | None) -> tuple[Array, float]:
        """Return q (N, K), and the mean over items of the log evidence, or of its lower bound where there are links."""
        if self.links is None or bits is not self.bits:
            q, evidence = normalised(scores)
            return q, float(evidence.mean())
        links = self.links.times(1 / temperature)
        q = mean_field(scores, links, before)
        return q, lower_bound(scores, links, q) / len(q)

    def _step(self, bits: Array, theta: Array, q: Array, temperature: float) -> tuple[Array, Array]:
        """Return theta after the M-step, and the responsibilities that it ended with."""
        if self.update == "partial":
            return self._partial(bits, theta, temperature, q)
        S, N = q.T @ bits / len(q), q.mean(axis=0)
        return (maximise if self.update == "exact" else sweep)(theta, S, N, self.penalty), q

    def _partial(self, bits: Array, theta: Array, temperature: float, q: Array) -> tuple[Array, Array]:
        """Return theta with one coordinate updated after another, each with an E-step of its own (CMBCpm, Fig. 1)."""
        theta = theta.copy()
        ascent = CoordinateAscent(theta, self.penalty)
        scores = log_likelihoods(bits, theta)
        columns = np.ascontiguousarray(bits.T)
        for j, column in enumerate(columns):
            for k in range(self.n_clusters):
                q = self._e_step(bits, scores / temperature, temperature, q)[0]
                q_k = q[:, k]
                before = theta[k, j]
                after = ascent.update_coordinate(k, j, float(q_k @ column) / len(q_k), float(q_k.mean()))
                off, on = np.log1p(-after) - np.log1p(-before), np.log(after) - np.log(before)
                scores[:, k] += off + (on - off) * column
        return theta, q


@dataclass(frozen=True)
class FittedMixture:
    """The fitted clusters of bits, for other items; their y- does not matter."""

    coding: Coding
    theta: Array  # (K, m)

    def posterior(self, X: Array, known: KnownClusterings | None) -> Array:
        """Return p(c_k | y+), (N, K)."""
        return normalised(log_likelihoods(self.coding.bits(X), self.theta))[0]


def initial_temperature(bits: Array) -> float:
    """Return twice the largest eigenvalue of the features' correlations, above which about all clusters coincide."""
    centred = bits - bits.mean(axis=0)
    scale = centred.std(axis=0)
    scaled = centred[:, scale > 0] / scale[scale > 0]
    if not scaled.shape[1]:
        return 1.0
    return max(2 * float(np.linalg.norm(scaled, 2)) ** 2 / len(scaled), 1.0)


def log_likelihoods(bits: Array, theta: Array) -> Array:
    """Return log p(y+_i | c_k) of (A.2), (N, K), in Fortran order, which makes sums over clusters fast."""
    off = np.log1p(-theta)
    scores: Array = (np.log(theta) - off) @ bits.T + off.sum(axis=1, keepdims=True)
    return scores.T


def normalised(scores: Array) -> tuple[Array, Array]:
    """Return the softmax of each row, and its log-sum-exp."""
    top = scores.max(axis=1, keepdims=True)
    q = np.exp(scores - top)
    total = q.sum(axis=1, keepdims=True)
    q /= total
    return q, (top + np.log(total)).ravel()
