"""Labelers made from true classes: questions, the right answers, and answers with people's mistakes.

Benchmarks, tests and the demo need people who answer by the thousand; these err as those of the DCRC paper did.
"""

import numpy as np
from numpy.random import Generator

from algorithms.patterns import Array, Kind, patterns_of, right_answers

# P(answer | right answer) of the paper's six people, rows and columns yes, no, dnk (Table IV, rows made to sum to 1).
_COUNTS = np.array([[18.50, 0.33, 4.83], [0.33, 16.50, 4.50], [3.50, 3.00, 98.50]])
TABLE_IV: Array = _COUNTS / _COUNTS.sum(axis=1, keepdims=True)

# The numbers that estimators take, in the order of the table's columns.
_NUMBERS: dict[Kind, Array] = {"relative": np.array([1, -1, 0]), "outlier": np.array([1, 2, 3, 0])}


def true_answers(y: Array, triplets: Array, kind: Kind = "relative") -> Array:
    """Right answer to every triplet under classes y (Eq 1), shape (M,): 1, -1, 0 or, for outlier, 1, 2, 3, 0."""
    answers: Array = _NUMBERS[kind][right_answers(kind)[patterns_of(np.asarray(y), np.asarray(triplets))]]
    return answers


def noisy_answers(y: Array, triplets: Array, confusion: Array, rng: Generator) -> Array:
    """Answers 1, -1, 0 to relative questions, drawn from the confusion matrix's row of the right answer."""
    right = right_answers("relative")[patterns_of(np.asarray(y), np.asarray(triplets))]
    thresholds = confusion.cumsum(axis=1)[right]
    chosen = (rng.random(len(right))[:, None] > thresholds).sum(axis=1)
    answers: Array = _NUMBERS["relative"][np.minimum(chosen, 2)]
    return answers


def random_triplets(n_items: int, n: int, rng: Generator) -> Array:
    """n different triplets (n, 3) of different items with left < right, uniformly at random."""
    available = n_items * (n_items - 1) * (n_items - 2) // 2
    if n > available:
        raise ValueError(f"{n_items} items have only {available} triplets, {n} were asked for")
    found = np.empty((0, 3), dtype=np.int64)
    while len(found) < n:
        drawn = rng.integers(n_items, size=(2 * (n - len(found)) + 8, 3))
        drawn[:, 1:].sort(axis=1)
        anchor, left, right = drawn.T
        drawn = drawn[(anchor != left) & (anchor != right) & (left != right)]
        found = np.concatenate([found, drawn])
        found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
    return found[:n]
