"""The softmax of many items and its gradient, by softmax_loops.c."""

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.compiled import loops

_loops = loops(__file__)


def softmax(logits: Array, largest: Array, start: int, P: Array, log_p: Array, mass: Array) -> None:
    """Write p(y | x) and its logarithm for logits (K, n) to the columns from `start` on.

    `largest` (n,) is the largest logit of each item. P and log_p are (K, N); the sum of P over the items is added to
    the mass (K,) of each cluster.
    """
    _loops.softmax(*logits.shape, P.shape[1], start, logits, largest, P, log_p, mass)


def derivatives(P: Array, log_p: Array, start: int, scale: Array, pull: Array, out: Array) -> float:
    """Return the sum of scale p log p over n items from column `start` on; write the bound's derivative by the logits.

    P and log_p are (K, N), scale (n,) the weight of the negative entropy of each item, pull (K,) the derivative of the
    balance term by p, and out (K, n).
    """
    value: float = _loops.derivatives(*out.shape, P.shape[1], start, P, log_p, scale, pull, out)
    return value
