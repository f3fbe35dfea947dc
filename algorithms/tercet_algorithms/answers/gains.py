"""The expected effect of further answers: items that move to another cluster, and items whose cluster becomes right.

An idealised question compares an item with sure members of its two likeliest clusters, so that its answers are drawn
from the row of the table for "the first", "the second" or "neither" (Eq 1 with the other two clusters known). The
expected largest posterior after t such answers is then an exact sum over how often each answer comes. It never falls
with t: a posterior is a martingale, its largest entry a submartingale. Answers to chosen questions are given to the
items where they are expected to help most; those to random questions fall on any item, so that an item gets a Poisson
number of them.
"""

from math import factorial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tercet_algorithms.answers.patterns import ALL_DIFFERENT, LEFT_APART, RIGHT_APART, Array, check_probabilities

# Most answers about one item that are looked at; further ones about it are assumed to have no effect.
_MOST = 6


class DirectGain(NamedTuple):
    """The expected effect of n answers on the items that they are about."""

    moved: float  # items whose likeliest cluster will be another one
    settled: float  # increase of the number of items whose likeliest cluster is their true one


def direct_gain(posterior: Any, table: Any, n_answers: int, random_share: float = 0.0) -> DirectGain:
    """Return the expected effect of answers on the items that they are about, without the model learning from them.

    Parameters
    ----------
    posterior : array of shape (N, K)
        P(cluster) of every item.
    table : array of shape (5, A)
        P(answer | pattern), see `patterns.answer_table`.
    n_answers : int
        Number of answers, at least 0.
    random_share : float in [0, 1]
        Share of the questions that are drawn at random.

    Returns
    -------
    DirectGain
        Both 0 without answers, with one cluster, or where every item's cluster is certain. `settled` never falls as
        answers come.

    Raises
    ------
    ValueError
        Where the rows of the posterior are not probabilities, or the number of answers is negative.
    """
    P = np.asarray(posterior, dtype=np.float64)
    if P.ndim != 2:
        raise ValueError(f"posterior must have shape (N, K), got {P.shape}")
    check_probabilities("posterior", P, 1e-3)
    if n_answers < 0:
        raise ValueError(f"n_answers must be at least 0, got {n_answers}")
    if P.shape[1] < 2 or not len(P) or not n_answers:
        return DirectGain(0.0, 0.0)
    moves, gains = _after_each(P, _rows(np.asarray(table, dtype=np.float64)))
    n_random = random_share * n_answers
    times = _allocate(gains, round(n_answers - n_random))
    chance = stats.poisson.pmf(np.arange(_MOST + 1), n_random / len(P))
    chance[-1] = 1 - chance[:-1].sum()
    # Rows are how many random answers an item gets beside the chosen ones.
    times = np.minimum(times + np.arange(_MOST + 1)[:, None], _MOST)
    moved, settled = (chance @ np.take_along_axis(values, times, axis=0) for values in (moves, gains))
    return DirectGain(float(moved.sum()), float(settled.sum()))


def _rows(table: Array) -> Array:
    """Return P(answer) of an item of the first cluster, of the second, and of neither, (3, A)."""
    return table[[RIGHT_APART, LEFT_APART, ALL_DIFFERENT]]


def _after_each(P: Array, rows: Array) -> tuple[Array, Array]:
    """Return P(another cluster is likeliest) and the expected rise of the largest posterior after 0, 1, ... answers.

    Both (_MOST + 1, N).
    """
    third = np.zeros(len(P)) if P.shape[1] == 2 else np.partition(P, -3, axis=1)[:, -3]
    ranked = np.sort(P, axis=1)[:, ::-1]
    first, second = ranked[:, 0], ranked[:, 1]
    rest = np.maximum(1 - first - second, 0)
    moves, gains = np.zeros((_MOST + 1, len(P))), np.zeros((_MOST + 1, len(P)))
    for t in range(1, _MOST + 1):
        for counts in _counts(t, rows.shape[1]):
            ways = factorial(t) / np.prod([factorial(count) for count in counts])
            of_first, of_second, of_rest = ways * np.prod(rows ** np.array(counts), axis=1)
            best_other = np.maximum(second * of_second, third * of_rest)
            gains[t] += np.maximum(first * of_first, best_other)
            moves[t] += np.where(
                best_other > first * of_first, first * of_first + second * of_second + rest * of_rest, 0
            )
        gains[t] -= first
    return moves, np.maximum(gains, 0)


def _counts(t: int, n_values: int) -> list[tuple[int, ...]]:
    """Return all ways to divide t answers among `n_values` values."""
    if n_values == 1:
        return [(t,)]
    return [(count, *rest) for count in range(t + 1) for rest in _counts(t - count, n_values - 1)]


def _allocate(gains: Array, n_answers: int) -> Array:
    """Return how many answers each item gets, (N,); step by step, the item with the largest mean gain an answer.

    Where two answers can move a sure item and one cannot, one gains nothing; so a step is one or several answers.
    """
    n_items, items = gains.shape[1], np.arange(gains.shape[1])
    times = np.zeros(n_items, dtype=np.int64)
    slopes, steps = [], []
    for _ in range(_MOST):
        further = times + np.arange(1, len(gains))[:, None]
        rise = gains[np.minimum(further, _MOST), items] - gains[times, items]
        mean_rise = np.where(further > _MOST, -1.0, rise / (further - times))
        step = mean_rise.argmax(axis=0) + 1
        slope = mean_rise.max(axis=0)
        slopes.append(slope)
        steps.append(np.where(slope > 0, step, 0))
        times = np.minimum(times + step, _MOST)
    order = np.argsort(-np.concatenate(slopes), kind="stable")
    steps_in_order = np.concatenate(steps)[order]
    taken = np.cumsum(steps_in_order) <= n_answers
    owners = np.tile(items, _MOST)[order][taken]
    return np.bincount(owners, steps_in_order[taken], minlength=n_items).astype(np.int64)
