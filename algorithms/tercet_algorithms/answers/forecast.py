"""Forecast of how many items further answers will move to other clusters.

`gains.direct_gain` gives the number expected from the posterior. But answers also move items that they are not about,
since the model learns from them, and a posterior is surer than it should be. How many more is learned from the past of
each project: log(items moved / items expected) is assumed to be normal over stretches of answers, with a mean and a
variance of the project (conjugate prior: A. Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.3); newer
stretches count more, and the forecast is a Student's t. The deviations of single stretches average out: over as many
answers as h stretches have, the variance is that of the mean plus 1 / h of that of a stretch.

An item that moves comes to its true cluster (+1), leaves it (-1) or does neither (0). Over n answers these average

    L n / (n + h)

with a limit L, of which half is reached after h answers: refits move uncertain items to and fro, as many after few
answers as after many, while what answers teach adds up. The average differs between projects; around it the sum over m
items has a standard deviation of at most sqrt(m).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from tercet_algorithms.answers.patterns import Array, Kind, patterns_of, right_answers

# The prior: as many items move as expected (worth one stretch of answers), and the standard deviation of the logarithm
# over stretches (worth four).
_STRETCHES_OF_MEAN, _STRETCHES_OF_SPREAD, _SPREAD = 1.0, 4.0, 0.25
# Weight of a stretch relative to the next newer one.
_FADE = 0.5
# L, h for chosen and for random questions, and the standard deviation of the average between projects, fitted to two
# seeds of `benchmarks.expected_gain`, whose table says how often the intervals hold on others.
_LIMIT, _HALF_CHOSEN, _HALF_RANDOM, _NET_SPREAD = 0.75, 150, 400, 0.15
_DRAWS, _QUESTIONS = 4_000, 2_000
INTERVAL = 0.8  # probability of the intervals; half of the rest lies on either side


class Stretch(NamedTuple):
    """Some consecutive answers in the past of a project: how many items they moved, and how many were expected."""

    answers: int
    moved: int  # items whose cluster changed
    expected: float  # `direct_gain(...).moved` for as many answers, under the posterior before them


class Estimate(NamedTuple):
    """A median and an interval of 80 %."""

    low: float
    median: float
    high: float


class ExpectedGain(NamedTuple):
    """The expected effect of a number of further answers."""

    answers: int
    moved: Estimate  # items that will move to another cluster
    predicted: Estimate  # increase of the share of random questions whose answers are predicted


def forecast_gain(
    n_answers: int,
    expected: float,
    past: Sequence[Stretch],
    *,
    n_items: int,
    sensitivity: float,
    random_share: float = 0.0,
) -> ExpectedGain:
    """Return the expected effect of further answers.

    Parameters
    ----------
    n_answers : int
        Number of further answers.
    expected : float
        `direct_gain(...).moved` for as many answers, under the current posterior.
    past : sequence of Stretch
        The stretches of answers so far, oldest first.
    n_items : int
        Number of items; no more can move.
    sensitivity : float
        Increase of the share of random questions that are predicted, per item that moves to its true cluster; see
        `question_sensitivity`.
    random_share : float in [0, 1]
        Share of the questions that are drawn at random.

    Returns
    -------
    ExpectedGain
        All 0 where `n_answers` is 0.
    """
    if not n_answers:
        return ExpectedGain(0, Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0))
    rng = np.random.default_rng(n_answers)  # the same figures for the same input
    centre, spread, freedom = _ratio(past, n_answers)
    ratios = centre + spread * stats.t.ppf((np.arange(_DRAWS) + 0.5) / _DRAWS, freedom)
    moved = np.clip(np.exp(ratios + np.log1p(expected)) - 1, 0, n_items)
    half = _HALF_RANDOM * random_share + _HALF_CHOSEN * (1 - random_share)
    of_each = rng.normal(_LIMIT * n_answers / (n_answers + half), _NET_SPREAD, _DRAWS)
    drawn = rng.permutation(moved)
    settled = drawn * of_each + np.sqrt(drawn) * rng.normal(size=_DRAWS)
    return ExpectedGain(n_answers, _estimate(moved), _estimate(sensitivity * settled))


def question_sensitivity(posterior: Array, table: Array, kind: Kind) -> float:
    """Return the increase of the share of random questions that are predicted, per item that moves to its true cluster.

    In random triplets each item in turn is put into its second likeliest cluster. Where that changes the right answer,
    the gain is what the table gives to the right answer more than to a wrong one.
    """
    n_items, n_clusters = posterior.shape
    if n_items < 3 or n_clusters < 2:
        return 0.0
    triplets = _triplets(n_items)
    ranked = np.argsort(-posterior, axis=1, kind="stable")
    clusters = np.concatenate([ranked[:, 0], ranked[:, 1]])  # of each item, and of each if it were in its second one
    right = right_answers(kind)
    now = right[patterns_of(clusters, triplets)]
    elsewhere = [right[patterns_of(clusters, triplets + n_items * role)] for role in np.eye(3, dtype=np.int64)]
    changed = sum(float(np.mean(answers != now)) for answers in elsewhere)
    correct = table[np.arange(len(right)), right]
    lead = float(np.mean(correct - (1 - correct) / (table.shape[1] - 1)))
    return float(changed * lead / n_items)


def _triplets(n_items: int) -> Array:
    """Return random triplets of different items, the same for the same number of items."""
    drawn = np.random.default_rng(0).integers(n_items, size=(_QUESTIONS, 3))
    different: Array = drawn[(drawn != np.roll(drawn, 1, axis=1)).all(axis=1)]
    return different


def _ratio(past: Sequence[Stretch], n_answers: int) -> tuple[float, float, float]:
    """Return centre, scale and degrees of freedom of log(items moved / items expected) of the further answers.

    The variance for fewer answers than a stretch has is that of one stretch.
    """
    logs = np.array([np.log1p(stretch.moved) - np.log1p(stretch.expected) for stretch in past])
    weights = _FADE ** np.arange(len(logs))[::-1]
    seen = weights.sum()
    mean = float(weights @ logs / seen) if len(logs) else 0.0
    certainty, freedom = _STRETCHES_OF_MEAN + seen, _STRETCHES_OF_SPREAD + seen
    squares = _STRETCHES_OF_SPREAD * _SPREAD**2 + weights @ (logs - mean) ** 2
    squares += _STRETCHES_OF_MEAN * seen / certainty * mean**2
    length = weights @ [stretch.answers for stretch in past] / seen if len(logs) else n_answers
    of_stretch = min(length / n_answers, 1)
    return seen * mean / certainty, float(np.sqrt(squares / freedom * (of_stretch + 1 / certainty))), float(freedom)


def _estimate(draws: Array) -> Estimate:
    tail = (1 - INTERVAL) / 2
    return Estimate(*np.quantile(draws, [tail, 0.5, 1 - tail]).tolist())
