"""The likelihood of answers given points of the items, which the embedding maximises, and its gradient.

Two items whose points are a distance d apart are alike with odds k(d) = 1 / (1 + d^2), independently of other pairs,
except that being alike is transitive: two of the three pairs of a triplet cannot be alike without the third. So the
five patterns have the weights

    all alike  e^a k_al k_ar k_lr     only one pair alike  k of this pair     all different  e^b

where the pattern "anchor apart" of a relative question, which does not ask about the pair left and right, is multiplied
by e^g. The table P(answer | pattern) has three coefficients: how often people slip, how often they say "don't know"
where an item is right, and how often they say it where it is the right answer. Where people may not say it, the model
becomes an ordinal embedding of yes and no. All six coefficients are learned with the points, under Gaussian priors for
where the answers do not determine them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_softmax, softmax

from tercet_algorithms.answers.patterns import (
    ALL_ALIKE,
    ALL_DIFFERENT,
    ANCHOR_APART,
    ANSWERS,
    KINDS,
    LEFT_APART,
    RIGHT_APART,
    Array,
    Kind,
    right_answers,
)
from tercet_algorithms.answers.reading import Constraints

# Offsets a, b, g; log odds of a slip and of a needless "don't know" against the right answer; log odds of "don't know"
# where it is the right answer. The means are the error rates in the study of DCRC's authors, about 1 in 8 answers
# wrong; the deviations are so wide that a few dozen answers can outweigh them.
PRIOR_MEANS = np.array([0.0, 0.0, 0.0, -2.0, -3.0, 2.0])
_PRIOR_DEVIATIONS = np.array([2.0, 2.0, 2.0, 1.5, 1.5, 1.5])
_ALIKE, _DIFFERENT, _ANCHOR, _SLIP, _NEEDLESS, _KNOWS_NOT = range(len(PRIOR_MEANS))
# The arrays for this many answers at a time fit the processor's cache.
_CHUNK = 16_384


def answer_table(kind: Kind, coefficients: Array) -> Array:
    """Return P(answer | pattern), (5, A), from the coefficients (6,)."""
    right, n_answers = right_answers(kind), len(ANSWERS[kind])
    correct, slip, needless = softmax([0.0, coefficients[_SLIP], coefficients[_NEEDLESS]])
    knows_not = expit(coefficients[_KNOWS_NOT])
    dont_know = right == n_answers - 1
    elsewhere = np.where(dont_know, (1 - knows_not) / (n_answers - 1), slip / (n_answers - 2))
    table: Array = np.repeat(elsewhere[:, None], n_answers, axis=1)
    table[:, -1] = np.where(dont_know, knows_not, needless)
    table[~dont_know, right[~dont_know]] = correct
    return table


def pattern_logs(points: Array, triplets: Array, relative: Array, coefficients: Array) -> tuple[Array, list[Array]]:
    """Return log P(pattern), (5, m), of triplets, and the differences (m, d) of their three pairs of points.

    `relative` (m,) is True for relative questions. The pairs are anchor and left, anchor and right, left and right.
    """
    anchor, left, right = (points[column] for column in triplets.T)
    differences = [anchor - left, anchor - right, left - right]
    losses = [np.log1p(np.einsum("md,md->m", step, step)) for step in differences]
    weights = np.empty((5, len(triplets)))
    weights[ALL_ALIKE] = coefficients[_ALIKE] - losses[0] - losses[1] - losses[2]
    weights[RIGHT_APART], weights[LEFT_APART] = -losses[0], -losses[1]
    weights[ANCHOR_APART] = coefficients[_ANCHOR] * relative - losses[2]
    weights[ALL_DIFFERENT] = coefficients[_DIFFERENT]
    return log_softmax(weights, axis=0), differences


@dataclass(frozen=True, eq=False)
class PatternModel:
    """The answers and the penalty: the fixed part of the bound, a function of points and coefficients."""

    constraints: Constraints
    n_items: int
    penalty: float

    @classmethod
    def of(cls, constraints: Constraints, n_items: int, penalty: float) -> "PatternModel":
        """Return the model of answers; equal answers to one question are merged."""
        rows = np.column_stack([constraints.triplets, constraints.kinds, constraints.answers])
        distinct, places = np.unique(rows, axis=0, return_inverse=True)
        counts = np.bincount(places.ravel(), constraints.counts(), len(distinct))
        merged = Constraints(distinct[:, :3], distinct[:, 4], distinct[:, 3], weights=counts)
        return cls(merged, n_items, penalty)

    def split(self, parameters: Array) -> tuple[Array, Array]:
        """Return the points (N, d) and the coefficients (6,) of a flat array."""
        n_coefficients = len(PRIOR_MEANS)
        return parameters[:-n_coefficients].reshape(self.n_items, -1), parameters[-n_coefficients:]

    def bound(self, parameters: Array) -> tuple[float, Array]:
        """Return the penalised log likelihood at a flat array of parameters, and its gradient."""
        points, coefficients = self.split(parameters)
        from_priors = (coefficients - PRIOR_MEANS) / _PRIOR_DEVIATIONS
        value = -0.5 * (self.penalty * float(np.vdot(points, points)) + float(from_priors @ from_priors))
        of_points, of_coefficients = -self.penalty * points, -from_priors / _PRIOR_DEVIATIONS
        for start in range(0, len(self.constraints), _CHUNK):
            rows = self.constraints.select(np.arange(start, min(start + _CHUNK, len(self.constraints))))
            value += _add_answers(rows, points, coefficients, of_points, of_coefficients)
        return value, np.concatenate([of_points.ravel(), of_coefficients])


def _add_answers(
    rows: Constraints, points: Array, coefficients: Array, of_points: Array, of_coefficients: Array
) -> float:
    """Return the log likelihood of some answers, and add its gradients by the points and by the coefficients."""
    weights, relative = rows.counts(), rows.kinds == KINDS.index("relative")
    log_patterns, differences = pattern_logs(points, rows.triplets, relative, coefficients)
    patterns = np.exp(log_patterns)
    likelihoods = np.empty_like(patterns)
    for code, kind in enumerate(KINDS):
        of_kind = rows.kinds == code
        likelihoods[:, of_kind] = answer_table(kind, coefficients)[:, rows.answers[of_kind]]
    joint = patterns * likelihoods
    probabilities = joint.sum(axis=0)
    expected = weights * joint / probabilities  # patterns given the answer
    surplus = expected - weights * patterns
    pulls = surplus[ALL_ALIKE] + surplus[[RIGHT_APART, LEFT_APART, ANCHOR_APART]]
    for (first, second), pull, step in zip(((0, 1), (0, 2), (1, 2)), pulls, differences, strict=True):
        force = (2 * pull / (1 + np.einsum("md,md->m", step, step)))[:, None] * step
        for axis in range(points.shape[1]):
            of_points[:, axis] -= np.bincount(rows.triplets[:, first], force[:, axis], len(points))
            of_points[:, axis] += np.bincount(rows.triplets[:, second], force[:, axis], len(points))
    of_coefficients[_ALIKE] += surplus[ALL_ALIKE].sum()
    of_coefficients[_DIFFERENT] += surplus[ALL_DIFFERENT].sum()
    of_coefficients[_ANCHOR] += surplus[ANCHOR_APART] @ relative
    _add_table(rows, expected, coefficients, of_coefficients)
    return float(weights @ np.log(probabilities))


def _add_table(rows: Constraints, expected: Array, coefficients: Array, of_coefficients: Array) -> None:
    """Add the gradient by the table's coefficients, from the expected number of answers for each pattern."""
    _, slip, needless = softmax([0.0, coefficients[_SLIP], coefficients[_NEEDLESS]])
    for code, kind in enumerate(KINDS):
        of_kind = rows.kinds == code
        counts = np.stack([np.bincount(rows.answers[of_kind], row[of_kind], len(ANSWERS[kind])) for row in expected])
        right = right_answers(kind)
        dont_know = right == len(ANSWERS[kind]) - 1
        decided = counts[~dont_know]
        said_right = decided[np.arange(len(decided)), right[~dont_know]].sum()
        said_not = decided[:, -1].sum()
        of_coefficients[_SLIP] += decided.sum() - said_right - said_not - slip * decided.sum()
        of_coefficients[_NEEDLESS] += said_not - needless * decided.sum()
        undecided = counts[dont_know]
        of_coefficients[_KNOWS_NOT] += undecided[:, -1].sum() - expit(coefficients[_KNOWS_NOT]) * undecided.sum()
