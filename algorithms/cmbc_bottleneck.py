"""The information bottleneck with side information, annealed (dIBwS, section 5): CMBC's rival in its paper.

It seeks a clustering C that compresses the items, tells much of their features and little of y-: at temperature T
the least T I(C; X) - sum_j I(C; Y+_j) + gamma sum_p I(C; Y-_p), each part p of y- by itself (5.19 with beta = 1 / T).
The paper's update of all items at once overshoots, since -gamma sends items away from clusters that hold their y-,
and ends in a cycle where noise is large; a step that is halved until the objective gains does not.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.cmbc_coding import Coding
from algorithms.cmbc_known import UNKNOWN, Known, Part
from algorithms.cmbc_mixture import HARD, NOISE, hottest, log_likelihoods, normalised
from algorithms.cmbc_updates import HIGHEST, LOWEST
from algorithms.patterns import Array

_MOST_HALVINGS = 30
_LEAST = np.finfo(float).tiny


@dataclass(frozen=True)
class Centroids:
    """What a clustering tells of y+ and y-."""

    weights: Array  # (K,) p(c_k)
    theta: Array  # (K, m) p(y+_j = 1 | c_k)
    negative: tuple[Array, ...]  # of each part of y- p(value | c_k), (K, values)

    def scores(self, bits: Array, parts: list[Part], gamma: float) -> Array:
        """Minus D+ + gamma D- of every item and cluster, (N, K), up to what depends on the item alone."""
        scores = log_likelihoods(bits, np.clip(self.theta, LOWEST, HIGHEST))
        for (codes, _), table in zip(parts, self.negative, strict=True):
            seen = codes != UNKNOWN
            scores[seen] -= gamma * np.log(np.clip(table, LOWEST, HIGHEST)).T[codes[seen]]
        return scores


@dataclass(frozen=True)
class Bottleneck:
    """K clusters of N items; a position is q (N, K)."""

    bits: Array  # (N, m)
    parts: list[Part]  # of y-
    gamma: float
    n_clusters: int
    parallel: bool  # the paper's update, without regard to the objective

    def hottest(self) -> float:
        """As for the mixture: no clusters are apart above about that."""
        return hottest(self.bits)

    def first(self, rng: np.random.RandomState) -> Array:
        """Every item nearly equally in all clusters."""
        return self.perturbed(np.full((len(self.bits), self.n_clusters), 1 / self.n_clusters), rng)

    def perturbed(self, q: Array, rng: np.random.RandomState) -> Array:
        """Q with a little noise."""
        noisy = np.maximum(q + NOISE * rng.standard_normal(q.shape), 0)
        mixed: Array = noisy / noisy.sum(axis=1, keepdims=True)
        return mixed

    def settle(self, q: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """Updates until q moves by less than `tol`: q, the objective before each, and whether it came to that."""
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

    def polished(self, q: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """All items have been seen."""
        return q, [], True

    def is_hard(self, q: Array, temperature: float) -> bool:
        """Whether nearly every item is in one cluster alone."""
        return bool(q.max(axis=1).mean() > HARD)

    def objective(self, q: Array) -> float:
        """sum_j I(C; Y+_j) - gamma sum_p I(C; Y-_p): what is sought, whatever the compression."""
        return self.value(q, 0.0)

    def labels(self, q: Array) -> Array:
        """Best cluster of every item."""
        found: Array = self.centroids(q).scores(self.bits, self.parts, self.gamma).argmax(axis=1)
        return found

    def centroids(self, q: Array) -> Centroids:
        """The clusters' mean y+ and y-, which make the objective best for q."""
        sizes = np.maximum(q.sum(axis=0), _LEAST)[:, None]
        tables = []
        for codes, n_values in self.parts:
            counts = np.stack([q[codes == value].sum(axis=0) for value in range(n_values)], axis=1)
            tables.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), _LEAST))
        return Centroids(q.mean(axis=0), q.T @ self.bits / sizes, tuple(tables))

    def value(self, q: Array, temperature: float) -> float:
        """The objective turned round, so that more is better; in nats an item."""
        found = self.centroids(q)
        mean = self.bits.mean(axis=0)
        gained = float((found.weights @ _bit_entropies(found.theta) - _bit_entropies(mean)).sum())
        value = gained - temperature * float(_x_log_x(q).sum() / len(q) - _x_log_x(found.weights).sum())
        for (codes, _), table in zip(self.parts, found.negative, strict=True):
            seen = codes != UNKNOWN
            sizes = q[seen].sum(axis=0) / len(q)
            total = sizes @ table
            share = max(float(total.sum()), _LEAST)
            value -= self.gamma * float(sizes @ _x_log_x(table).sum(axis=1) - share * _x_log_x(total / share).sum())
        return value

    def proposal(self, q: Array, temperature: float) -> Array:
        """The paper's next q: p(c) exp(-(D+ - gamma D-) / T), normalised; an uphill direction from q."""
        found = self.centroids(q)
        scores = found.scores(self.bits, self.parts, self.gamma) / temperature
        return normalised(scores + np.log(np.maximum(found.weights, _LEAST)))[0]

    def _step(self, q: Array, temperature: float, value: float, length: float) -> tuple[Array, float]:
        """Towards the proposal, all the way or as far as that gains; and how far, for the next step to begin with."""
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
    """Centroids and how an item's y- counts against them."""

    coding: Coding
    centroids: Centroids
    gamma: float

    @property
    def theta(self) -> Array:
        """p(y+_j = 1 | c_k), (K, m)."""
        return self.centroids.theta

    def posterior(self, X: Array, known: Known | None) -> Array:
        """exp(-(D+ - gamma D-)), normalised, (N, K)."""
        parts = [] if known is None else known.parts()
        return normalised(self.centroids.scores(self.coding.bits(X), parts, self.gamma))[0]


def _x_log_x(x: Array) -> Array:
    product: Array = x * np.log(np.maximum(x, _LEAST))
    return product


def _bit_entropies(theta: Array) -> Array:
    """Minus the entropies of bits."""
    return _x_log_x(theta) + _x_log_x(1 - theta)
