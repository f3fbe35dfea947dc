"""How far clusters will move with further answers: from what moved so far, against what the posterior let expect.

Answers move more items than those that they are about, as the model and the search for clusters learn from them, and a
posterior is surer than it should be. How much more is learned in each project from its own past: the logarithm of
items moved over items expected (`gains.direct_gain`) is taken to be normal, with a mean and a variance of the project
(conjugate prior: A. Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.3), newer stretches of answers counting
more, so that the forecast is a Student's t. What is particular to one stretch averages out over several: over as many
answers as h stretches the variance is that of the mean and 1 / h of a stretch's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from tercet_algorithms.answers.patterns import Array, Kind, patterns_of, right_answers

# Before a project has a past: as many items move as expected, known as from one stretch of answers, within a factor of
# e^.25 of which, known as from four, the next stretch would be.
_STRETCHES_OF_MEAN, _STRETCHES_OF_SPREAD, _SPREAD = 1.0, 4.0, 0.25
# How much a stretch counts beside the next newer one.
_FADE = 0.5
# Of items that move, the share that come to their own cluster less the share that leave it, where questions are chosen,
# and where they are drawn at random, with the standard deviation between projects (`benchmarks.expected_gain`).
_NET_CHOSEN, _NET_RANDOM, _NET_SPREAD = 0.5, 0.15, 0.25
_DRAWS, _QUESTIONS = 4_000, 2_000
INTERVAL = 0.8  # of the probability lies within an interval, evenly cut on both sides


class Stretch(NamedTuple):
    """Some answers in the past of a project: what happened, and what was expected before."""

    answers: int
    moved: int  # items whose cluster changed
    expected: float  # `direct_gain(...).moved` of as many such answers, under the posterior before them


class Estimate(NamedTuple):
    """A median and an interval of 80 %."""

    low: float
    median: float
    high: float


class ExpectedGain(NamedTuple):
    """What so many answers are expected to buy."""

    answers: int
    moved: Estimate  # items whose cluster will be another one
    predicted: Estimate  # rise of the share of questions drawn at random whose answers are predicted


def forecast_gain(
    n_answers: int,
    expected: float,
    past: Sequence[Stretch],
    *,
    n_items: int,
    sensitivity: float,
    random_share: float = 0.0,
) -> ExpectedGain:
    """Return what further answers are expected to buy.

    Parameters
    ----------
    n_answers : int
        How many come.
    expected : float
        `direct_gain(...).moved` of as many under the posterior of now.
    past : sequence of Stretch
        What stretches of answers did so far, oldest first.
    n_items : int
        Number of items; no more can move.
    sensitivity : float
        By how much a larger share of random questions is predicted per item that comes to its own cluster, see
        `question_sensitivity`.
    random_share : float in [0, 1]
        Share of the questions that are drawn at random.

    Returns
    -------
    ExpectedGain
        Without answers nothing moves.
    """
    if not n_answers:
        return ExpectedGain(0, Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0))
    rng = np.random.default_rng(n_answers)  # the same figures for the same input
    centre, spread, freedom = _ratio(past, n_answers)
    ratios = centre + spread * stats.t.ppf((np.arange(_DRAWS) + 0.5) / _DRAWS, freedom)
    moved = np.clip(np.exp(ratios + np.log1p(expected)) - 1, 0, n_items)
    net = _NET_RANDOM * random_share + _NET_CHOSEN * (1 - random_share)
    gained = rng.permutation(moved) * sensitivity * rng.normal(net, _NET_SPREAD, _DRAWS)
    return ExpectedGain(n_answers, _estimate(moved), _estimate(gained))


def question_sensitivity(posterior: Array, table: Array, kind: Kind) -> float:
    """Return by how much a larger share of random questions is predicted per item that comes to its own cluster.

    In random triplets each item in turn is put into its second cluster; where that changes the right answer, a question
    is predicted the better by what the table gives a right answer more than a wrong one.
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
    """Return centre, scale and degrees of freedom of log(items that will move / items expected to).

    Of fewer answers than a stretch has no more is known than of one.
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
