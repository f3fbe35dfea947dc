"""Detects labelers who answer without looking: whether their answers are independent of the items.

f, the probability of an answer as foreseen by a fit that had not used it, is compared with q, how often the labeler
gives such answers anyway. An answer has probability (1 - w) q + w f, where w, the trust, says how far answers follow
what is foreseen: little while the fit knows little. The trust of the other labelers is estimated; a labeler who looks
has about the same. A labeler who does not look has about half of it; not 0, where the fit has learned from the very
answers that are judged. The ratio of the two likelihoods is a sequential test (A. Wald, Sequential Analysis, 1947): if
answers were foreseen from earlier ones only, and the trust were known, the odds against a labeler who looks would reach
1 / alpha with probability alpha at most, however often they are computed (Ville's inequality). Both hold only roughly.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tercet_algorithms.answers.patterns import Array, check_probabilities
from tercet_algorithms.answers.reading import number_labelers

# Prior probability that the answers of a labeler are independent of the items.
PRIOR = 0.2
# The trust of a labeler who looks, as shares of the others' trust; all equally probable beforehand.
_LOOKING = np.linspace(0.8, 1.0, 5)
# The same of a labeler who does not look: about half, since the fit has learned from the answers.
_NOT_LOOKING = np.linspace(0.3, 0.6, 4)
# Values of the trust to choose from, and pseudo-answers for each end of the range.
_TRUSTS = np.linspace(0.0, 1.0, 101)
_PSEUDO_ANSWERS = 1.0
_ROUNDS = 3
_LEAST = 1e-3  # smallest probability of an answer: a fit may be surer than is right


@dataclass(frozen=True)
class Independence:
    """How probable it is that the answers of one labeler are independent of the items."""

    answers: int  # that were judged
    log_odds: float  # log P(answers | the labeler does not look) - log P(answers | looks like the others)
    others_trust: float  # w of the other labelers

    @property
    def probability(self) -> float:
        """The posterior probability that the answers are independent of the items."""
        logit = self.log_odds + np.log(PRIOR) - np.log1p(-PRIOR)
        return float(1 / (1 + np.exp(-np.clip(logit, -500, 500))))


def independence(labelers: Sequence[Hashable] | Array, foreseen: Any, columns: Any) -> dict[Hashable, Independence]:
    """Return for each labeler how probable it is that the answers are independent of the items.

    Parameters
    ----------
    labelers : sequence of hashables, M of them
        Who gave each answer, in the order of the answers.
    foreseen : array of shape (M, A)
        P(answer) of each answer's question under a fit that had used only earlier answers, or all but this one
        (`left_out`); "don't know" is the last column.
    columns : array of int, shape (M,)
        The column of each answer in its table.

    Returns
    -------
    dict of labeler to Independence; empty with fewer than two labelers, since there are no others to compare with

    Raises
    ------
    ValueError
        Where shapes do not fit together, or the rows of `foreseen` are not probabilities.
    """
    f, chosen = np.asarray(foreseen, dtype=np.float64), np.asarray(columns)
    codes, names = number_labelers(labelers)
    if f.ndim != 2 or chosen.shape != (len(f),) or codes.shape != (len(f),):
        raise ValueError(f"foreseen (M, A), columns and labelers (M,) differ: {f.shape}, {chosen.shape}, {codes.shape}")
    check_probabilities("foreseen", f, 0.01)
    if len(names) < 2:
        return {}
    likelier = _likelier(f, chosen, codes)
    counts = np.bincount(codes)
    doubts = np.full(len(names), PRIOR)
    of_trust = np.zeros((len(names), len(_TRUSTS)))  # log P(answers of a labeler | w) - log P(by habit)
    np.add.at(of_trust, codes, np.log1p(_TRUSTS * (likelier[:, None] - 1)))
    for _ in range(_ROUNDS):
        weighted = (1 - doubts)[:, None] * of_trust
        prior = _PSEUDO_ANSWERS * (np.log(_TRUSTS + 1e-9) + np.log(1 - _TRUSTS + 1e-9))
        trusts = _TRUSTS[(weighted.sum(axis=0) - weighted + prior).argmax(axis=1)]
        odds = _mean_likelihood(of_trust, trusts, _NOT_LOOKING) - _mean_likelihood(of_trust, trusts, _LOOKING)
        findings = [Independence(*row) for row in zip(counts.tolist(), odds.tolist(), trusts.tolist(), strict=True)]
        doubts = np.array([labeler.probability for labeler in findings])
    return dict(zip(names, findings, strict=True))


def more_doubtful(
    first: dict[Hashable, Independence], second: dict[Hashable, Independence]
) -> dict[Hashable, Independence]:
    """Return the finding with the larger odds for each labeler in either dict."""
    both = first | second
    for name in first.keys() & second.keys():
        both[name] = max(first[name], second[name], key=lambda labeler: labeler.log_odds)
    return both


def left_out(patterns: Array, columns: Array, table: Array, weights: Array) -> Array:
    """Return P(pattern) of each question from all answers but its own, (M, 5).

    The likelihood of the answer is divided out of the posterior by Bayes' rule. A fit also learns from an answer in
    other ways, so that answers still look slightly better foreseen than they were.

    Parameters
    ----------
    patterns : array of shape (M, 5)
        P(pattern) of each question under the fit's posterior.
    columns : array of int, shape (M,)
        The column of each answer in its table.
    table : array of shape (5, A)
        P(answer | pattern) in the fit.
    weights : array of shape (M,)
        How much each answer counted in the fit, from 0 to 1.
    """
    likelihoods = np.maximum(table.T[columns], _LEAST)
    others = np.maximum(patterns, 1e-12) / likelihoods ** weights[:, None]
    believed: Array = others / others.sum(axis=1, keepdims=True)
    return believed


def _mean_likelihood(of_trust: Array, trusts: Array, shares: Array) -> Array:
    """Return log P(answers of each labeler), averaged over trusts that are these shares of the others'."""
    places = np.round(trusts[:, None] * shares * (len(_TRUSTS) - 1)).astype(int)
    mean: Array = logsumexp(np.take_along_axis(of_trust, places, axis=1), axis=1) - np.log(len(shares))
    return mean


def _likelier(foreseen: Array, columns: Array, codes: Array) -> Array:
    """Return f / q of each answer: its foreseen probability over its probability by habit, from earlier answers.

    A habit is how often the labeler says "don't know". The places of the items in a question carry no information, so a
    labeler who does not look chooses each of them equally often.
    """
    n_answers = foreseen.shape[1]
    unsure = columns == n_answers - 1
    order = np.lexsort((np.arange(len(codes)), codes))
    starts = np.r_[0, np.cumsum(np.bincount(codes))[:-1]]
    before = np.arange(len(codes)) - starts[codes[order]]
    running = np.cumsum(unsure[order]) - unsure[order]
    n_unsure = running - running[starts][codes[order]]
    habit = np.empty(len(codes))
    habit[order] = (n_unsure + 1 / n_answers) / (before + 1)  # with one pseudo-answer, spread evenly over the answers
    by_habit = np.where(unsure, habit, (1 - habit) / (n_answers - 1))
    by_items = np.clip(foreseen, _LEAST, None)[np.arange(len(codes)), columns]
    likelier: Array = by_items / by_habit
    return likelier
