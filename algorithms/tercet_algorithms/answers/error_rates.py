"""How people err, learned from their answers: how often they say "don't know" in clear cases, and so on.

What the right answer was is known only as a probability, as all the other answers and the features have it; from
repeats of a question it is known better. The rates are those of the highest posterior by expectation and
maximisation, as of A. P. Dawid and A. M. Skene (Applied Statistics 28, 1979), with one table for all and items that
are exchangeable.
"""

from typing import NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array, Kind, answer_table, right_answers

_ITERATIONS = 100
_IMAGINED = 10.0  # answers in clear cases, and as many in unclear ones, given as `answer_table(kind, "people")` says


class ErrorRates(NamedTuple):
    """Shares of answers, of those where an item is right (clear cases), and of those where none is."""

    unsure: float  # "don't know" in clear cases
    mixed_up: float  # a wrong item in clear cases
    invented: float  # an item where none is right
    n_clear: float  # expected number of clear cases
    n_unclear: float


def learn_error_rates(patterns: Array, columns: Array, kind: Kind) -> ErrorRates:
    """Return how often people err, with ten imagined answers in either case that err as people mostly do.

    Parameters
    ----------
    patterns : array of shape (M, 5)
        P(pattern) of each question without the answer's own say, see `independence.left_out`.
    columns : array of int, shape (M,)
        The column of the answer that was given; "don't know" is the last.
    kind : "relative" or "outlier"
    """
    right = right_answers(kind)
    usual = answer_table(kind, "people")
    n_answers = usual.shape[1]
    clear, unclear = usual[right == 0][0], usual[right == n_answers - 1][0]
    rights = patterns @ np.eye(n_answers)[right]
    usual_rates = ErrorRates(clear[-1], clear[1:-1].sum(), unclear[:-1].sum(), _IMAGINED, _IMAGINED)
    rates = usual_rates
    is_unsure = columns == n_answers - 1
    for _ in range(_ITERATIONS):
        likely = rights * _table(rates, n_answers)[:, columns].T
        likely /= np.maximum(likely.sum(axis=1, keepdims=True), 1e-300)
        none_right, item_right = likely[:, -1], 1 - likely[:, -1]
        n_clear, n_unclear = item_right.sum(), none_right.sum()
        named_right = likely[np.arange(len(columns)), columns][~is_unsure].sum()
        unsure, invented = item_right[is_unsure].sum(), none_right[~is_unsure].sum()
        before = rates
        rates = ErrorRates(
            unsure=float((unsure + _IMAGINED * usual_rates.unsure) / (n_clear + _IMAGINED)),
            mixed_up=float((n_clear - unsure - named_right + _IMAGINED * usual_rates.mixed_up) / (n_clear + _IMAGINED)),
            invented=float((invented + _IMAGINED * usual_rates.invented) / (n_unclear + _IMAGINED)),
            n_clear=float(n_clear),
            n_unclear=float(n_unclear),
        )
        if np.allclose(rates, before, atol=1e-6):
            break
    return rates


def _table(rates: ErrorRates, n_answers: int) -> Array:
    """Return P(answer | right answer), (A, A)."""
    table = np.full((n_answers, n_answers), rates.mixed_up / (n_answers - 2))
    table[:, -1] = rates.unsure
    table[-1] = rates.invented / (n_answers - 1)
    np.fill_diagonal(table, 1 - rates.unsure - rates.mixed_up)
    table[-1, -1] = 1 - rates.invented
    return table
