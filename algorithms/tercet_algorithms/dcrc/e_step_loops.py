"""The loops of the E-step, by e_step_loops.c.

An item that is updated later in a sweep sees the new posteriors of those before it, so that the bound can never drop.
Each step depends on the steps before, so they cannot be one array operation of numpy.
"""

from typing import NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.compiled import loops


class Messages(NamedTuple):
    """The terms of the message to each item, item after item."""

    first: Array  # (n + 1,) where the terms of an item begin
    others: Array  # (3 M, 2) the other two items of each triplet that it is in
    weights: Array  # (3 M, 3) coefficients of their two posteriors and of the product of both


_loops = loops(__file__)


def settle(q: Array, log_p: Array, messages: Messages, hard: bool, tie: float, tol: float, max_sweeps: int) -> int:
    """Update the posteriors (n, K) in sweeps until none moves by `tol`; return the number of sweeps.

    Each update is Eq 13, or Eq 14 when hard, where messages closer than `tie` are as good as each other.
    """
    room = np.empty(len(q), np.bool_), np.empty(q.shape[1], q.dtype)
    sweeps: int = _loops.settle(*q.shape, q, log_p, *messages, hard, tie, tol, max_sweeps, *room)
    return sweeps


def expected_log_likelihood(q: Array, triplets: Array, linear: Array, product: Array) -> float:
    """Return the part of E_Q[log P(L | Y)] that depends on the posteriors (n, K), summed over the triplets (M, 3)."""
    value: float = _loops.expected_log_likelihood(len(triplets), q.shape[1], q, triplets, linear, product)
    return value
