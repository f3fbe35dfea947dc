"""How points make patterns, and patterns make answers: the likelihood that the embedding maximises, and its gradient.

Two items whose points are a distance d apart are alike with odds k(d) = 1 / (1 + d^2), whatever the other pairs are,
except that being alike is transitive: two of the three pairs of a triplet cannot be alike without the third. So the
five patterns have the weights

    all alike  e^a k_al k_ar k_lr     only one pair alike  k of this pair     all different  e^b

and an anchor apart, whose pair is the one that the relative question does not ask about, counts e^g times. Answers
follow from the pattern as everywhere in this package by a table P(answer | pattern), which has three numbers here: how
often people slip, how often they say "don't know" although one answer is right, and how often they say so where it is
right to; who has to choose never does, and then the model is an ordinal embedding of yes and no. All of these numbers
are learned with the points, under Gaussian priors that hold them where answers say nothing.
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

# Offsets a, b, g; log odds of slipping and of a needless "don't know" against the right answer; log odds of saying
# "don't know" where it is right. The means say that people answer as in the study of DCRC's authors, about 1 in 8
# answers wrong, and the deviations let a few dozen answers say otherwise.
PRIOR_MEANS = np.array([0.0, 0.0, 0.0, -2.0, -3.0, 2.0])
_PRIOR_DEVIATIONS = np.array([2.0, 2.0, 2.0, 1.5, 1.5, 1.5])
_ALIKE, _DIFFERENT, _ANCHOR, _SLIP, _NEEDLESS, _KNOWS_NOT = range(len(PRIOR_MEANS))
# So many answers at a time keep what is gathered for them in the processor's cache.
_CHUNK = 16_384


def answer_table(kind: Kind, numbers: Array) -> Array:
    """Return P(answer | pattern), (5, A), of the learned numbers (6,)."""
    right, n_answers = right_answers(kind), len(ANSWERS[kind])
    correct, slip, needless = softmax([0.0, numbers[_SLIP], numbers[_NEEDLESS]])
    knows_not = expit(numbers[_KNOWS_NOT])
    dont_know = right == n_answers - 1
    elsewhere = np.where(dont_know, (1 - knows_not) / (n_answers - 1), slip / (n_answers - 2))
    table: Array = np.repeat(elsewhere[:, None], n_answers, axis=1)
    table[:, -1] = np.where(dont_know, knows_not, needless)
    table[~dont_know, right[~dont_know]] = correct
    return table


def pattern_logs(points: Array, triplets: Array, relative: Array, numbers: Array) -> tuple[Array, list[Array]]:
    """Return log P(pattern), (5, m), of triplets, and the differences (m, d) of their three pairs of points.

    `relative` (m,) says which questions are relative. The pairs are anchor and left, anchor and right, left and right.
    """
    anchor, left, right = (points[column] for column in triplets.T)
    differences = [anchor - left, anchor - right, left - right]
    losses = [np.log1p(np.einsum("md,md->m", step, step)) for step in differences]
    weights = np.empty((5, len(triplets)))
    weights[ALL_ALIKE] = numbers[_ALIKE] - losses[0] - losses[1] - losses[2]
    weights[RIGHT_APART], weights[LEFT_APART] = -losses[0], -losses[1]
    weights[ANCHOR_APART] = numbers[_ANCHOR] * relative - losses[2]
    weights[ALL_DIFFERENT] = numbers[_DIFFERENT]
    return log_softmax(weights, axis=0), differences


@dataclass(frozen=True, eq=False)
class PatternModel:
    """The answers and the penalty: the fixed part of a bound that depends on points and numbers."""

    constraints: Constraints
    n_items: int
    penalty: float

    @classmethod
    def of(cls, constraints: Constraints, n_items: int, penalty: float) -> "PatternModel":
        """Return the model of answers, of which those that say the same about the same question become one."""
        rows = np.column_stack([constraints.triplets, constraints.kinds, constraints.answers])
        distinct, places = np.unique(rows, axis=0, return_inverse=True)
        counts = np.bincount(places.ravel(), constraints.counts(), len(distinct))
        merged = Constraints(distinct[:, :3], distinct[:, 4], distinct[:, 3], weights=counts)
        return cls(merged, n_items, penalty)

    def split(self, parameters: Array) -> tuple[Array, Array]:
        """Return the points (N, d) and the numbers (6,) that a flat array holds."""
        n_numbers = len(PRIOR_MEANS)
        return parameters[:-n_numbers].reshape(self.n_items, -1), parameters[-n_numbers:]

    def bound(self, parameters: Array) -> tuple[float, Array]:
        """Return the penalised log likelihood at points and numbers, flat, and its gradient."""
        points, numbers = self.split(parameters)
        from_priors = (numbers - PRIOR_MEANS) / _PRIOR_DEVIATIONS
        value = -0.5 * (self.penalty * float(np.vdot(points, points)) + float(from_priors @ from_priors))
        of_points, of_numbers = -self.penalty * points, -from_priors / _PRIOR_DEVIATIONS
        for start in range(0, len(self.constraints), _CHUNK):
            rows = self.constraints.select(np.arange(start, min(start + _CHUNK, len(self.constraints))))
            value += _add_answers(rows, points, numbers, of_points, of_numbers)
        return value, np.concatenate([of_points.ravel(), of_numbers])


def _add_answers(rows: Constraints, points: Array, numbers: Array, of_points: Array, of_numbers: Array) -> float:
    """Return the log likelihood of some answers, and add its gradient to those of points and numbers."""
    weights, relative = rows.counts(), rows.kinds == KINDS.index("relative")
    log_patterns, differences = pattern_logs(points, rows.triplets, relative, numbers)
    patterns = np.exp(log_patterns)
    likelihoods = np.empty_like(patterns)
    for code, kind in enumerate(KINDS):
        of_kind = rows.kinds == code
        likelihoods[:, of_kind] = answer_table(kind, numbers)[:, rows.answers[of_kind]]
    joint = patterns * likelihoods
    probabilities = joint.sum(axis=0)
    expected = weights * joint / probabilities  # patterns when the answer is known
    surplus = expected - weights * patterns
    pulls = surplus[ALL_ALIKE] + surplus[[RIGHT_APART, LEFT_APART, ANCHOR_APART]]
    for (first, second), pull, step in zip(((0, 1), (0, 2), (1, 2)), pulls, differences, strict=True):
        force = (2 * pull / (1 + np.einsum("md,md->m", step, step)))[:, None] * step
        for axis in range(points.shape[1]):
            of_points[:, axis] -= np.bincount(rows.triplets[:, first], force[:, axis], len(points))
            of_points[:, axis] += np.bincount(rows.triplets[:, second], force[:, axis], len(points))
    of_numbers[_ALIKE] += surplus[ALL_ALIKE].sum()
    of_numbers[_DIFFERENT] += surplus[ALL_DIFFERENT].sum()
    of_numbers[_ANCHOR] += surplus[ANCHOR_APART] @ relative
    _add_table(rows, expected, numbers, of_numbers)
    return float(weights @ np.log(probabilities))


def _add_table(rows: Constraints, expected: Array, numbers: Array, of_numbers: Array) -> None:
    """Add the gradient of the numbers that make tables, from how often each answer came with each pattern."""
    _, slip, needless = softmax([0.0, numbers[_SLIP], numbers[_NEEDLESS]])
    for code, kind in enumerate(KINDS):
        of_kind = rows.kinds == code
        counts = np.stack([np.bincount(rows.answers[of_kind], row[of_kind], len(ANSWERS[kind])) for row in expected])
        right = right_answers(kind)
        dont_know = right == len(ANSWERS[kind]) - 1
        decided = counts[~dont_know]
        said_right = decided[np.arange(len(decided)), right[~dont_know]].sum()
        said_not = decided[:, -1].sum()
        of_numbers[_SLIP] += decided.sum() - said_right - said_not - slip * decided.sum()
        of_numbers[_NEEDLESS] += said_not - needless * decided.sum()
        undecided = counts[dont_know]
        of_numbers[_KNOWS_NOT] += undecided[:, -1].sum() - expit(numbers[_KNOWS_NOT]) * undecided.sum()
