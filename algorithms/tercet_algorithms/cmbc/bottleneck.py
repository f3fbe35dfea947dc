"""The annealed information bottleneck with side information (dIBwS, section 5), the rival of CMBC in its paper.

It looks for a clustering C that compresses the items, is informative about their features and not about y-: at
temperature T it minimises T I(C; X) - sum_j I(C; Y+_j) + gamma sum_p I(C; Y-_p), each part p of y- by itself (5.19 with
beta = 1 / T). The paper's update of all items at once overshoots, since -gamma drives items away from clusters that
hold their y-, and cycles where noise is large; a step that is halved until the objective gains does not.

Links between items add the mean over items of sum_ij a_ij q_i'q_j to what is maximised.
"""

from dataclasses import dataclass

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.coding import Coding
from tercet_algorithms.cmbc.known_clusterings import UNKNOWN, KnownClusterings, Part
from tercet_algorithms.cmbc.m_step import HIGHEST, LOWEST
from tercet_algorithms.cmbc.mixture import HARD, NOISE, initial_temperature, log_likelihoods, normalised
from tercet_algorithms.common.links import ItemLinks, memberships

_MOST_HALVINGS = 30
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Centroids:
    """The distributions of y+ and y- in each cluster."""

    weights: Array  # (K,) p(c_k)
    theta: Array  # (K, m) p(y+_j = 1 | c_k)
    negative: tuple[Array, ...]  # p(value | c_k) of each part of y-, (K, values)

    def scores(self, bits: Array, parts: list[Part], gamma: float) -> Array:
        """Return -D+ + gamma D- of every item and cluster, (N, K), up to a constant of each item."""
        scores = log_likelihoods(bits, np.clip(self.theta, LOWEST, HIGHEST))
        for (codes, _), table in zip(parts, self.negative, strict=True):
            has_code = codes != UNKNOWN
            scores[has_code] -= gamma * np.log(np.clip(table, LOWEST, HIGHEST)).T[codes[has_code]]
        return scores


@dataclass(frozen=True)
class Bottleneck:
    """K clusters of N items; a position is q (N, K)."""

    bits: Array  # (N, m)
    parts: list[Part]  # of y-
    gamma: float
    n_clusters: int
    parallel: bool  # the paper's update of all items at once, whether the objective gains or not
    links: ItemLinks | None = None  # in nats

    def initial_temperature(self) -> float:
        """Return the temperature above which clusters coincide, as for the mixture."""
        return initial_temperature(self.bits)

    def initial_position(self, rng: np.random.RandomState) -> Array:
        """Return q with every item nearly equally in all clusters."""
        return self.perturbed(np.full((len(self.bits), self.n_clusters), 1 / self.n_clusters), rng)

    def position_of(self, labels: Array) -> Array:
        """Return q of clusters (N,)."""
        return memberships(labels, self.n_clusters)

    def perturbed(self, q: Array, rng: np.random.RandomState) -> Array:
        """Return q with a little noise."""
        noisy = np.maximum(q + NOISE * rng.standard_normal(q.shape), 0)
        mixed: Array = noisy / noisy.sum(axis=1, keepdims=True)
        return mixed

    def settle(self, q: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """Update q until it moves by less than `tol`.

        Return q, the objective before each update, and whether q has converged.
        """
        values: list[float] = []
        length = 1.0
        for _ in range(max_iter):
            values.append(self.value(q, temperature))
            moved, length = self._step(q, temperature, values[-1], length)
            change = np.abs(moved - q).max() / length
            q = moved
            if change < tol:
                return q, values, True
        return q, values, False

    def settle_on_all_items(
        self, q: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """Return q as it is: `settle` already uses all items."""
        return q, [], True

    def is_hard(self, q: Array, temperature: float) -> bool:
        """Return whether nearly every item belongs to one cluster alone."""
        return bool(q.max(axis=1).mean() > HARD)

    def objective(self, q: Array) -> float:
        """Return sum_j I(C; Y+_j) - gamma sum_p I(C; Y-_p), the objective without the compression."""
        return self.value(q, 0.0)

    def labels(self, q: Array) -> Array:
        """Return the best cluster of every item."""
        labels: Array = self._scores(self.centroids(q), q).argmax(axis=1)
        return labels

    def posterior(self, q: Array) -> Array:
        """Return the probability of every cluster for every item, (N, K), links included."""
        return normalised(self._scores(self.centroids(q), q))[0]

    def _scores(self, centroids: Centroids, q: Array) -> Array:
        scores = centroids.scores(self.bits, self.parts, self.gamma)
        return scores if self.links is None else scores + self.links.strengths @ q

    def centroids(self, q: Array) -> Centroids:
        """Return the mean y+ and y- of the clusters, which maximise the objective for q."""
        sizes = np.maximum(q.sum(axis=0), _TINY)[:, None]
        tables = []
        for codes, n_values in self.parts:
            counts = np.stack([q[codes == value].sum(axis=0) for value in range(n_values)], axis=1)
            tables.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), _TINY))
        return Centroids(q.mean(axis=0), q.T @ self.bits / sizes, tuple(tables))

    def value(self, q: Array, temperature: float) -> float:
        """Return minus the functional (5.19), to be maximised, in nats per item."""
        centroids = self.centroids(q)
        mean = self.bits.mean(axis=0)
        relevant = float((centroids.weights @ _negative_entropies(centroids.theta) - _negative_entropies(mean)).sum())
        compression = float(_x_log_x(q).sum() / len(q) - _x_log_x(centroids.weights).sum())
        value = relevant - temperature * compression
        for (codes, _), table in zip(self.parts, centroids.negative, strict=True):
            has_code = codes != UNKNOWN
            sizes = q[has_code].sum(axis=0) / len(q)
            total = sizes @ table
            share = max(float(total.sum()), _TINY)
            value -= self.gamma * float(sizes @ _x_log_x(table).sum(axis=1) - share * _x_log_x(total / share).sum())
        return value if self.links is None else value + self.links.agreement(q) / len(q)

    def proposal(self, q: Array, temperature: float) -> Array:
        """Return the paper's next q, p(c) exp(-(D+ - gamma D-) / T) normalised: an ascent direction from q."""
        centroids = self.centroids(q)
        scores = self._scores(centroids, q) / temperature
        return normalised(scores + np.log(np.maximum(centroids.weights, _TINY)))[0]

    def _step(self, q: Array, temperature: float, value: float, length: float) -> tuple[Array, float]:
        """Step towards the proposal, halving the step until it gains; return q and the length, from which to go on."""
        target = self.proposal(q, temperature)
        if self.parallel:
            return target, 1.0
        length = min(2 * length, 1.0)
        for _ in range(_MOST_HALVINGS):
            moved: Array = q + length * (target - q)
            if self.value(moved, temperature) >= value:
                return moved, length
            length /= 2
        return q, length


@dataclass(frozen=True)
class FittedBottleneck:
    """The fitted centroids and the weight of y-, for other items."""

    coding: Coding
    centroids: Centroids
    gamma: float

    @property
    def theta(self) -> Array:
        """Return p(y+_j = 1 | c_k), (K, m)."""
        return self.centroids.theta

    def posterior(self, X: Array, known: KnownClusterings | None) -> Array:
        """Return exp(-(D+ - gamma D-)), normalised, (N, K)."""
        parts = [] if known is None else known.parts()
        return normalised(self.centroids.scores(self.coding.bits(X), parts, self.gamma))[0]


def _x_log_x(x: Array) -> Array:
    product: Array = x * np.log(np.maximum(x, _TINY))
    return product


def _negative_entropies(theta: Array) -> Array:
    """Return minus the entropies of bits that are 1 with probabilities theta."""
    return _x_log_x(theta) + _x_log_x(1 - theta)
