"""Who answers without looking: how much likelier a labeler's answers are if they have nothing to do with the items.

What was foreseen of an answer before a fit had used it is compared with how often the labeler gives such answers
anyway. With q the labeler's habits and f what was foreseen, an answer has the probability (1 - w) q + w f. The w of the
others says how far answers of people who look follow what is foreseen: little while a fit knows little. Whoever looks
has about that w. Whoever does not has half of it at most, not 0, where the fit has learned from the answers that are
judged. The ratio of the two likelihoods is a sequential test (A. Wald, Sequential Analysis, 1947): if answers were
foreseen from earlier ones only, and w were known, the odds of one who looks would reach 1 / alpha with a probability of
alpha at most, however often they are computed (Ville's inequality). Neither holds exactly here.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tercet_algorithms.answers.patterns import Array

# A labeler's answers count less, the more probable it is that they have nothing to do with the items: of one in five
# labelers that is so beforehand.
PRIOR = 0.2
# How far people who look may follow what is foreseen, as shares of how far the others do; alike likely beforehand.
_SHARES = np.linspace(0.8, 1.0, 5)
# How far answers by chance seem to: about half as far, as the fit that is asked has learned from them.
_LITTLE = np.linspace(0.3, 0.6, 4)
# Values of w among which the most probable is taken, and imagined answers that follow what is foreseen, and do not.
_TRUSTS = np.linspace(0.0, 1.0, 101)
_IMAGINED = 1.0
_ROUNDS = 3
_LEAST = 1e-3  # what was foreseen is a fit's; nothing is impossible in life


@dataclass(frozen=True)
class Independence:
    """What the answers of one labeler say about whether they have to do with the items."""

    answers: int  # that something was foreseen of
    log_odds: float  # log P(answers | hardly anything to do with the items) - log P(answers | like the others')
    others_trust: float  # w of the others

    @property
    def probability(self) -> float:
        """The probability that the answers have nothing to do with the items."""
        logit = self.log_odds + np.log(PRIOR) - np.log1p(-PRIOR)
        return float(1 / (1 + np.exp(-np.clip(logit, -500, 500))))


def independence(labelers: Sequence[Hashable] | Array, foreseen: Any, columns: Any) -> dict[Hashable, Independence]:
    """Return what each labeler's answers say about whether they have to do with the items.

    Parameters
    ----------
    labelers : sequence of hashables, M of them
        Who gave each answer, in the order in which they were given.
    foreseen : array of shape (M, A)
        P of each possible answer under a fit that had used only earlier answers, or without the answer (`left_out`);
        "don't know" is the last.
    columns : array of int, shape (M,)
        The column of the answer that was given.

    Returns
    -------
    dict of labeler to Independence; empty with fewer than two labelers, as nobody can be compared with others then

    Raises
    ------
    ValueError
        Where shapes do not fit together, or `foreseen` has rows that are no probabilities.
    """
    f, chosen = np.asarray(foreseen, dtype=np.float64), np.asarray(columns)
    codes, names = _codes(labelers)
    if f.ndim != 2 or chosen.shape != (len(f),) or codes.shape != (len(f),):
        raise ValueError(f"foreseen (M, A), columns and labelers (M,) differ: {f.shape}, {chosen.shape}, {codes.shape}")
    if not (np.isfinite(f).all() and (f >= 0).all() and np.allclose(f.sum(axis=1), 1, atol=0.01)):
        raise ValueError("foreseen must hold probabilities: rows of numbers of at least 0 that sum to 1")
    if len(names) < 2:
        return {}
    likelier = _likelier(f, chosen, codes)
    counts = np.bincount(codes)
    doubts = np.full(len(names), PRIOR)
    of_trust = np.zeros((len(names), len(_TRUSTS)))  # log P(answers of a labeler | w) - log P(by habit)
    np.add.at(of_trust, codes, np.log1p(_TRUSTS * (likelier[:, None] - 1)))
    for _ in range(_ROUNDS):
        weighted = (1 - doubts)[:, None] * of_trust
        others = weighted.sum(axis=0) - weighted + _IMAGINED * (np.log(_TRUSTS + 1e-9) + np.log(1 - _TRUSTS + 1e-9))
        trusts = _TRUSTS[others.argmax(axis=1)]
        odds = _mean_likelihood(of_trust, trusts, _LITTLE) - _mean_likelihood(of_trust, trusts, _SHARES)
        findings = [Independence(*row) for row in zip(counts.tolist(), odds.tolist(), trusts.tolist(), strict=True)]
        doubts = np.array([labeler.probability for labeler in findings])
    return dict(zip(names, findings, strict=True))


def more_doubtful(
    first: dict[Hashable, Independence], second: dict[Hashable, Independence]
) -> dict[Hashable, Independence]:
    """Return of each labeler in either the finding with the larger odds."""
    both = first | second
    for name in first.keys() & second.keys():
        both[name] = max(first[name], second[name], key=lambda labeler: labeler.log_odds)
    return both


def left_out(patterns: Array, columns: Array, table: Array, weights: Array) -> Array:
    """Return P(pattern) of each question as all answers but its own have it, (M, 5).

    What a fit believes of a question has the answer's own likelihood in it, which is taken out again by Bayes' rule. A
    fit learns from an answer in further ways too, so that answers still look a little better foreseen than they were.

    Parameters
    ----------
    patterns : array of shape (M, 5)
        P(pattern) of each question under the fit's posterior.
    columns : array of int, shape (M,)
        The column of the answer that was given.
    table : array of shape (5, A)
        P(answer | pattern) that the fit believed.
    weights : array of shape (M,)
        How much each answer counted, from 0 to 1.
    """
    likelihoods = np.maximum(table.T[columns], _LEAST)
    others = np.maximum(patterns, 1e-12) / likelihoods ** weights[:, None]
    believed: Array = others / others.sum(axis=1, keepdims=True)
    return believed


def _mean_likelihood(of_trust: Array, trusts: Array, shares: Array) -> Array:
    """Return log P(answers of each labeler) where w is any of these shares of the others', alike likely."""
    places = np.round(trusts[:, None] * shares * (len(_TRUSTS) - 1)).astype(int)
    mean: Array = logsumexp(np.take_along_axis(of_trust, places, axis=1), axis=1) - np.log(len(shares))
    return mean


def _codes(labelers: Sequence[Hashable] | Array) -> tuple[Array, list[Hashable]]:
    people = labelers.tolist() if isinstance(labelers, np.ndarray) else list(labelers)
    number = {person: code for code, person in enumerate(dict.fromkeys(people))}
    return np.array([number[person] for person in people], dtype=np.int64), list(number)


def _likelier(foreseen: Array, columns: Array, codes: Array) -> Array:
    """Return f / q of each answer: how much likelier it was foreseen than it is by habit, from earlier answers.

    A habit is how often somebody says "don't know"; the items have their places by numbers alone, so that whoever does
    not look names each of them alike often.
    """
    n_answers = foreseen.shape[1]
    unsure = columns == n_answers - 1
    order = np.lexsort((np.arange(len(codes)), codes))
    starts = np.r_[0, np.cumsum(np.bincount(codes))[:-1]]
    before = np.arange(len(codes)) - starts[codes[order]]
    running = np.cumsum(unsure[order]) - unsure[order]
    n_unsure = running - running[starts][codes[order]]
    habit = np.empty(len(codes))
    habit[order] = (n_unsure + 1 / n_answers) / (before + 1)  # as if one answer more had been given, by chance
    by_habit = np.where(unsure, habit, (1 - habit) / (n_answers - 1))
    by_items = np.clip(foreseen, _LEAST, None)[np.arange(len(codes)), columns]
    likelier: Array = by_items / by_habit
    return likelier
