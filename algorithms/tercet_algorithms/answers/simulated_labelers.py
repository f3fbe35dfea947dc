"""Simulated labelers: random questions, the right answers to them, and answers with people's mistakes.

Benchmarks, tests and the demo need thousands of answers. Some simulated labelers know the classes and err by a
confusion matrix, either that of the people in the DCRC paper or that of a habit; others compare distances, and say
"don't know" where these are close.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from tercet_algorithms.answers.patterns import ANSWERS, Array, Kind, patterns_of, right_answers

Habit = Literal["careful", "spammer", "lazy", "inverted"]

# P(answer | right answer) of the paper's six people, rows and columns yes, no, dnk (Table IV, normalised by row).
_COUNTS = np.array([[18.50, 0.33, 4.83], [0.33, 16.50, 4.50], [3.50, 3.00, 98.50]])
TABLE_IV: Array = _COUNTS / _COUNTS.sum(axis=1, keepdims=True)

# The numbers that estimators take, in the order of the table's columns.
_NUMBERS: dict[Kind, Array] = {"relative": np.array([1, -1, 0]), "outlier": np.array([1, 2, 3, 0])}


def true_answers(y: Array, triplets: Array, kind: Kind = "relative") -> Array:
    """Return the right answer to every triplet under classes y (Eq 1), (M,): 1, -1, 0, or 1, 2, 3, 0 for outlier."""
    answers: Array = _NUMBERS[kind][right_answers(kind)[patterns_of(np.asarray(y), np.asarray(triplets))]]
    return answers


def habit_matrix(habit: Habit = "careful", kind: Kind = "relative", error: float = 0.0) -> Array:
    """Return P(answer | right answer), shape (A, A), of a labeler with a habit.

    A careful labeler gives the right answer, a spammer a random one, a lazy one always "don't know", an inverted one a
    wrong item where an item is right. With probability `error` (at most (A - 1) / A) it is another answer than the
    habit's, all equally probable; so the errors of a careful labeler are those of Table I of the DCRC paper.
    """
    n_answers = len(ANSWERS[kind])
    if not 0 <= error <= 1 - 1 / n_answers:
        raise ValueError(f"error must be in [0, 1 - 1/{n_answers}], got {error!r}")
    guess = np.full((n_answers, n_answers), 1 / n_answers)
    if habit == "spammer":
        return guess
    pure = np.eye(n_answers)
    if habit == "lazy":
        pure = np.tile(pure[-1], (n_answers, 1))
    elif habit == "inverted":
        pure[:-1, :-1] = (1 - pure[:-1, :-1]) / (n_answers - 2)
    elif habit != "careful":
        raise ValueError(f"habit must be 'careful', 'spammer', 'lazy' or 'inverted', got {habit!r}")
    guessed = error / (1 - 1 / n_answers)
    return (1 - guessed) * pure + guessed * guess


def noisy_answers(y: Array, triplets: Array, confusion: Array, rng: Generator, kind: Kind = "relative") -> Array:
    """Return answers as `true_answers` does, drawn from the confusion matrix's row of the right answer.

    `confusion` (A, A) is P(answer | right answer) in the order of `patterns.ANSWERS`, such as `TABLE_IV` or
    `habit_matrix`. Raises ValueError if it is not of the kind's shape or its rows do not sum to 1.
    """
    n_answers = len(ANSWERS[kind])
    table = np.asarray(confusion, dtype=np.float64)
    if table.shape != (n_answers, n_answers) or (table < 0).any() or not np.allclose(table.sum(axis=1), 1):
        raise ValueError(
            f"confusion of {kind} questions must be a ({n_answers}, {n_answers}) array whose rows are probabilities"
        )
    correct = right_answers(kind)[patterns_of(np.asarray(y), np.asarray(triplets))]
    thresholds = table.cumsum(axis=1)[correct]
    chosen = (rng.random(len(correct))[:, None] > thresholds).sum(axis=1)
    answers: Array = _NUMBERS[kind][np.minimum(chosen, n_answers - 1)]
    return answers


def crowd_answers(
    y: Array,
    triplets: Array,
    confusions: Mapping[str, Array],
    rng: Generator,
    *,
    kind: Kind = "relative",
    redundancy: int = 1,
) -> dict[str, Any]:
    """Return the answers of several labelers as arguments of `fit`: triplets, answers, kinds and labelers.

    `confusions` maps names of labelers to their matrices; each triplet is answered by `redundancy` of them, at random.
    """
    names = list(confusions)
    if not 1 <= redundancy <= len(names):
        raise ValueError(f"redundancy must be from 1 to the number of labelers, {len(names)}; got {redundancy}")
    shuffled = np.argsort(rng.random((len(triplets), len(names))), axis=1)[:, :redundancy].ravel()
    asked = np.repeat(np.asarray(triplets), redundancy, axis=0)
    answers = np.zeros(len(asked), dtype=np.int64)
    for code, name in enumerate(names):
        rows = shuffled == code
        answers[rows] = noisy_answers(y, asked[rows], confusions[name], rng, kind)
    return {"triplets": asked, "answers": answers, "kinds": kind, "labelers": np.array(names)[shuffled].tolist()}


def distance_answers(
    X: Array,
    triplets: Array,
    rng: Generator,
    *,
    sharpness: float = 20.0,
    dnk_width: float = 0.1,
    kind: Kind = "relative",
) -> Array:
    """Return answers of labelers who compare distances and do not know the classes.

    Parameters
    ----------
    X : array, shape (N, D)
        Points of the items as the labelers see them: features or any embedding. Their unit does not matter.
    triplets : array of int, shape (M, 3)
    rng : Generator
    sharpness : float > 0
        How well labelers see which distance is smaller; the higher, the less noise.
    dnk_width : float
        The lead below which they say "don't know". A lead is the difference of two distances over the sum of all
        distances of the question.
    kind : "relative" or "outlier"

    Returns
    -------
    array of int, shape (M,)
        As `true_answers` gives them: 1, -1, 0 or, for outlier questions, 1, 2, 3, 0.

    Notes
    -----
    Each answer but "don't know" stands for a pair of items: the anchor and another item, or the two items that are not
    the outlier. Gumbel noise of scale 1 / `sharpness` is added to minus each pair's distance over the sum of the
    distances; the highest pair is the answer if it leads by `dnk_width`. For a relative question that is a logistic
    psychometric curve, P(yes) = 1 / (1 + exp(-sharpness (lead - dnk_width))).
    """
    anchor, left, right = np.asarray(X, dtype=np.float64)[np.asarray(triplets).T]
    pairs = [(anchor, left), (anchor, right)]
    if kind == "outlier":
        pairs = [(left, right), (anchor, right), (anchor, left)]
    distances = np.column_stack([np.linalg.norm(first - second, axis=1) for first, second in pairs])
    total = distances.sum(axis=1, keepdims=True)
    nearness = -distances / np.where(total > 0, total, 1) + rng.gumbel(scale=1 / sharpness, size=distances.shape)
    ranked = np.sort(nearness, axis=1)
    unsure = ranked[:, -1] - ranked[:, -2] < dnk_width
    answers: Array = _NUMBERS[kind][np.where(unsure, len(ANSWERS[kind]) - 1, nearness.argmax(axis=1))]
    return answers


def random_triplets(n_items: int, n: int, rng: Generator) -> Array:
    """Return n different triplets (n, 3) of different items with left < right, uniformly at random."""
    available = n_items * (n_items - 1) * (n_items - 2) // 2
    if n > available:
        raise ValueError(f"{n_items} items have only {available} triplets, {n} were asked for")
    triplets = np.empty((0, 3), dtype=np.int64)
    while len(triplets) < n:
        drawn = rng.integers(n_items, size=(2 * (n - len(triplets)) + 8, 3))
        drawn[:, 1:].sort(axis=1)
        anchor, left, right = drawn.T
        drawn = drawn[(anchor != left) & (anchor != right) & (left != right)]
        triplets = np.concatenate([triplets, drawn])
        triplets = triplets[np.sort(np.unique(triplets, axis=0, return_index=True)[1])]
    return triplets[:n]
