"""The loops of the E-step, one item and one answer at a time.

An item that is updated later in a sweep sees the new posteriors of those before it, so that the bound can never drop.
Each step depends on the steps before, so they cannot be one array operation of numpy.

Loops stand even where an array operation would do: each of those adds to the compile time before the first run.
"""

import math
from typing import NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.compiled import compiled, part
from tercet_algorithms.common.exponential import exponential


class Messages(NamedTuple):
    """The terms of the message to each item, item after item."""

    first: Array  # (n + 1,) where the terms of an item begin
    others: Array  # (3 M, 2) the other two items of each triplet that it is in
    weights: Array  # (3 M, 3) coefficients of their two posteriors and of the product of both


@part
def add_messages(item: int, q: Array, messages: Messages, logits: Array) -> None:
    """Add to `logits` (K,) the expected log likelihood of all answers about an item, up to a constant."""
    others, weights = messages.others, messages.weights
    for n in range(messages.first[item], messages.first[item + 1]):
        left, right = others[n, 0], others[n, 1]
        of_left, of_right, of_both = weights[n, 0], weights[n, 1], weights[n, 2]
        for k in range(len(logits)):
            logits[k] += of_left * q[left, k] + of_right * q[right, k] + of_both * q[left, k] * q[right, k]


@part
def largest_of(values: Array) -> float:
    """Return the largest value."""
    largest: float = values[0]
    for k in range(1, len(values)):
        largest = max(largest, values[k])
    return largest


@part
def rule_out(item: int, log_p: Array, tie: float, logits: Array) -> None:
    """Set `logits` to `log_p` for clusters whose message is within `tie` of the largest, else to -inf (Eq 14)."""
    least = largest_of(logits) - tie
    for k in range(len(logits)):
        logits[k] = log_p[item, k] if logits[k] >= least else -math.inf


@part
def store_softmax(item: int, q: Array, logits: Array) -> float:
    """Store the softmax of `logits` (K,) as the posterior of an item; return its largest change."""
    largest, total = largest_of(logits), logits.dtype.type(0)
    change: float = total
    for k in range(len(logits)):
        logits[k] = exponential(logits[k] - largest)
        total += logits[k]
    share = 1 / total
    for k in range(len(logits)):
        change = max(change, abs(share * logits[k] - q[item, k]))
        q[item, k] = share * logits[k]
    return change


@part
def update(item: int, q: Array, log_p: Array, messages: Messages, hard: bool, tie: float, logits: Array) -> float:
    """Update an item (Eq 13, or Eq 14 when hard); return the largest change of its posterior."""
    for k in range(len(logits)):
        logits[k] = 0 if hard else log_p[item, k]
    add_messages(item, q, messages, logits)
    if hard:
        rule_out(item, log_p, tie, logits)
    return store_softmax(item, q, logits)


@compiled
def settle(
    q: Array,
    log_p: Array,
    messages: Messages,
    hard: bool,
    tie: float,
    tol: float,
    max_sweeps: int,
) -> int:
    """Update the posteriors (n, K) in sweeps until none moves by `tol`; return the number of sweeps.

    After the first sweep an item is updated only if a neighbour has moved, since its update depends on nothing else;
    of many items all but a few settle in the first sweep.
    """
    to_do, logits = np.ones(len(q), np.bool_), np.empty(q.shape[1], q.dtype)
    for sweep in range(max_sweeps):
        moved = False
        for item in range(len(q)):
            if not to_do[item]:
                continue
            to_do[item] = False
            if update(item, q, log_p, messages, hard, tie, logits) < tol:
                continue
            moved = True
            for n in range(messages.first[item], messages.first[item + 1]):
                to_do[messages.others[n, 0]] = to_do[messages.others[n, 1]] = True
        if not moved:
            return sweep + 1
    return max_sweeps


@compiled
def expected_log_likelihood(q: Array, triplets: Array, linear: Array, product: Array) -> float:
    """Return the part of E_Q[log P(L | Y)] that depends on the posteriors (n, K), summed over the triplets (M, 3)."""
    total = 0.0
    for m in range(len(triplets)):
        anchor, left, right = triplets[m, 0], triplets[m, 1], triplets[m, 2]
        without_anchor, without_left, without_right = linear[m, 0], linear[m, 1], linear[m, 2]
        for k in range(q.shape[1]):
            both = q[left, k] * q[right, k]
            about_anchor = product[m] * both + without_right * q[left, k] + without_left * q[right, k]
            total += q[anchor, k] * about_anchor + without_anchor * both
    return total
