"""The softmax of many items and its gradient, a few items at a time, so that these fit the processor's cache."""

import math

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.compiled import compiled, part
from tercet_algorithms.common.exponential import exponential

# This many items at a time fit the fastest cache of a processor.
_TILE = 512


@part
def exponentiate(logit: Array, largest: Array, p: Array, total: Array) -> None:
    """Store one cluster's p, (n,), not yet normalised, and add it to the sum over the clusters."""
    for i in range(len(logit)):
        p[i] = exponential(logit[i] - largest[i])
        total[i] += p[i]


@part
def normalise(logit: Array, largest: Array, share: Array, log_total: Array, p: Array, log_p: Array) -> float:
    """Store one cluster's p and log p, (n,); return the sum of p."""
    mass = p.dtype.type(0)
    for i in range(len(p)):
        p[i] *= share[i]
        mass += p[i]
    for i in range(len(p)):
        log_p[i] = logit[i] - largest[i] - log_total[i]
    return float(mass)


@compiled
def softmax(logits: Array, largest: Array, start: int, P: Array, log_p: Array, mass: Array) -> None:
    """Write p(y | x) and its logarithm for logits (K, n) to the columns from `start` on.

    `largest` (n,) is the largest logit of each item. P and log_p are (K, N); the sum of P over the items is added to
    the mass (K,) of each cluster.
    """
    total, log_total = np.empty(_TILE, logits.dtype), np.empty(_TILE, logits.dtype)
    for first in range(0, len(largest), _TILE):
        last = min(first + _TILE, len(largest))
        begin, end = start + first, start + last
        most = largest[first:last]
        total[:] = 0
        for k in range(len(logits)):
            exponentiate(logits[k, first:last], most, P[k, begin:end], total)
        for i in range(last - first):
            log_total[i], total[i] = math.log(total[i]), 1 / total[i]
        for k in range(len(logits)):
            mass[k] += normalise(logits[k, first:last], most, total, log_total, P[k, begin:end], log_p[k, begin:end])


@part
def add_weighted(p: Array, log_p: Array, scale: Array, pull: float, mean: Array) -> float:
    """Add one cluster's p (scale log p + pull), (n,), to the mean over clusters; return the sum of scale p log p."""
    total = p.dtype.type(0)
    for i in range(len(p)):
        total += scale[i] * p[i] * log_p[i]
    for i in range(len(p)):
        mean[i] += p[i] * (scale[i] * log_p[i] + pull)
    return float(total)


@part
def chain(p: Array, log_p: Array, scale: Array, pull: float, mean: Array, out: Array) -> None:
    """Write the derivative with respect to one cluster's logits, (n,), to `out`."""
    for i in range(len(p)):
        out[i] = p[i] * (scale[i] * log_p[i] + pull - mean[i])


@compiled
def derivatives(P: Array, log_p: Array, start: int, scale: Array, pull: Array, out: Array) -> float:
    """Return the sum of scale p log p over n items from column `start` on; write the bound's derivative by the logits.

    P and log_p are (K, N), scale (n,) the weight of the negative entropy of each item, pull (K,) the derivative of the
    balance term by p, and out (K, n). Through the softmax a derivative d by p becomes p (d - sum_k p d).
    """
    value, mean = 0.0, np.empty(_TILE, P.dtype)
    for first in range(0, len(scale), _TILE):
        last = min(first + _TILE, len(scale))
        begin, end = start + first, start + last
        here = scale[first:last]
        mean[:] = 0
        for k in range(len(P)):
            value += add_weighted(P[k, begin:end], log_p[k, begin:end], here, pull[k], mean)
        for k in range(len(P)):
            chain(P[k, begin:end], log_p[k, begin:end], here, pull[k], mean, out[k, first:last])
    return value
