"""The choice of the belief (how answers err, and how much they count) by held-out answers.

People say "don't know" in many clear cases and seldom choose the wrong item; answers of programs and experts are right.
Mean field counts dependent evidence more than once. Half the weight makes up for that where answers are often wrong,
but wastes information where answers are right or clusters overlap. Which belief is best is unknown beforehand, but
held-out answers tell: the model is fitted to the other answers under each belief, always from the same start, and each
belief is judged by the log score under its own table.
"""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tercet_algorithms.answers.patterns import Array, Errors, pair_log_odds
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import FeatureSpace
from tercet_algorithms.common.model_selection import answer_folds
from tercet_algorithms.dcrc.answer_starts import PairOdds, start_from_answers
from tercet_algorithms.dcrc.span import narrow_rows


class Belief(NamedTuple):
    """How answers are assumed to err, and the power that their likelihood is raised to."""

    epsilon: Errors
    weight: float


# The first one holds where answers are too few to choose by.
BELIEFS = Belief("people", 0.5), Belief("people", 1.0), Belief(0.05, 1.0)
_N_FOLDS = 3
FEWEST_ANSWERS = 10
# With more answers and items than these the choice gets no better, and takes longer.
_MOST_ANSWERS, _MOST_ITEMS = 2000, 5000
_KAPPA = 0.3
# Another belief replaces the first one only if the log score of all held-out answers gains more nats than this.
_DOUBT = 1.0


def choose_belief(
    model: Any, features: Array, space: FeatureSpace, constraints: Constraints, beliefs: tuple[Belief, ...] = BELIEFS
) -> Belief:
    """Return the belief under which held-out answers are most probable; the first where answers are too few.

    Parameters
    ----------
    model : DCRC
        With the parameters of the fit, but for features already in coordinates of the space. It is fitted under every
        belief.
    features : array of shape (N, D)
    space : FeatureSpace
    constraints : Constraints
    beliefs : tuple of Belief
    """
    rng = np.random.RandomState(0)  # the choice depends on the answers only, not on the seed of the fit
    if len(constraints) < FEWEST_ANSWERS or model.n_clusters == 1 or len(beliefs) == 1:
        return beliefs[0]
    constraints, items = sampled_answers(constraints, len(features), rng)
    X = narrow_rows(space.transform(features[items]))
    scores = np.zeros(len(beliefs))
    for fold in answer_folds(constraints, _N_FOLDS, rng):
        held_out = np.isin(np.arange(len(constraints)), fold)
        scores += _scores(model, X, constraints.select(~held_out), constraints.select(held_out), beliefs)
    best = int(scores.argmax())
    return beliefs[best if scores[best] > scores[0] + _DOUBT else 0]


def _scores(model: Any, X: Array, answers: Constraints, held_out: Constraints, beliefs: tuple[Belief, ...]) -> Array:
    """Return the sum of log P(answer) of the held-out answers under each belief."""
    odds = pair_log_odds(answers.likelihoods(beliefs[0].epsilon), model.n_clusters)
    pairs = PairOdds(answers.triplets, answers.counts()[:, None] * odds)
    init = start_from_answers(X, slice(None), pairs, model.n_clusters, _KAPPA, seed=0)
    scores = []
    for epsilon, weight in beliefs:
        model.set_params(epsilon=epsilon, answer_weight=weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fits that are only compared need not converge
            model.fit(X, **answers.fit_arguments(), init=init)
        scores.append(held_out.counts().sum() * model.score_answers(X, **held_out.fit_arguments()))
    return np.array(scores)


def sampled_answers(
    constraints: Constraints, n_items: int, rng: np.random.RandomState, most_items: int = _MOST_ITEMS
) -> tuple[Constraints, Array]:
    """Return as many random answers as a choice needs, and the items (n,) to fit: those of the answers and some others.

    The triplets of the returned answers are positions in these items.
    """
    if len(constraints) > _MOST_ANSWERS:
        constraints = constraints.select(np.sort(rng.permutation(len(constraints))[:_MOST_ANSWERS]))
    asked = np.unique(constraints.triplets)
    others = rng.permutation(np.setdiff1d(np.arange(n_items), asked))[: max(most_items - len(asked), 0)]
    items = np.union1d(asked, others)
    return replace(constraints, triplets=np.searchsorted(items, constraints.triplets)), items
