"""The questions to ask another labeler again: those whose answers differ, or whose one answer is improbable.

For each question P(pattern) without its own answers is computed from the posterior by Bayes' rule. A single answer is
in doubt where another answer would be ten times as probable under this: about the likelihood ratio of a right answer to
a wrong one. "Don't know" is seldom in doubt, since people say it in many clear cases. Differing answers are in doubt
unless all evidence together is nearly sure which one is right. Two or more equal answers are never in doubt.
"""

from typing import NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array, Kind, right_answers

# A single answer is in doubt where another one is at least this many times as probable; differing answers are where the
# probability of the likeliest right answer is below `_SETTLED`.
_LIKELIER = 10.0
_SETTLED = 0.9
_TINY = 1e-12


class Doubts(NamedTuple):
    """The questions whose answers are in doubt, in descending order of the information of one more answer."""

    questions: Array  # (d,) their numbers
    information: Array  # (d,) expected information of one more answer, in nats


def in_doubt(
    questions: Array, columns: Array, patterns: Array, tables: Array, kind: Kind, weights: Array | None = None
) -> Doubts:
    """Return the questions whose answers are in doubt.

    Parameters
    ----------
    questions : array of int, shape (M,)
        The number of each answer's question, from 0; answers to one question have the same number.
    columns : array of int, shape (M,)
        The column of each answer in its table; "don't know" is the last.
    patterns : array of shape (M, 5)
        P(pattern) of each answer's question under a posterior that has used all these answers.
    tables : array of shape (M, 5, A)
        P(answer | pattern) of the labeler who gave each answer.
    kind : "relative" or "outlier"
    weights : array of shape (M,), optional
        The power that each answer's likelihood was raised to in the posterior; 1 by default.

    Returns
    -------
    Doubts
        Empty where there are no answers.
    """
    if not len(questions):
        return Doubts(np.empty(0, dtype=np.int64), np.empty(0))
    names, first, number, counts = np.unique(questions, return_index=True, return_inverse=True, return_counts=True)
    logs = np.log(np.maximum(np.take_along_axis(tables, columns[:, None, None], axis=2)[:, :, 0], _TINY))
    by_answers, in_posterior = np.zeros((len(names), 5)), np.zeros((len(names), 5))
    np.add.at(by_answers, number, logs)
    np.add.at(in_posterior, number, logs if weights is None else logs * weights[:, None])
    of_others = np.log(np.maximum(patterns[first], _TINY)) - in_posterior
    without, by_all = _normalised(of_others), _normalised(of_others + by_answers)
    foreseen = np.einsum("qp,qpa->qa", without, tables[first])
    chosen = columns[first]
    improbable = foreseen.max(axis=1) >= _LIKELIER * foreseen[np.arange(len(names)), chosen]
    lowest, highest = np.full(len(names), columns.max()), np.zeros(len(names), dtype=np.int64)
    np.minimum.at(lowest, number, columns)
    np.maximum.at(highest, number, columns)
    right = by_all @ np.eye(tables.shape[2])[right_answers(kind)]
    doubted = np.where(lowest != highest, right.max(axis=1) < _SETTLED, (counts == 1) & improbable)
    information = _information(by_all, tables[first])
    order = np.flatnonzero(doubted)[np.argsort(-information[doubted], kind="stable")]
    return Doubts(names[order], information[order])


def _normalised(logs: Array) -> Array:
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Array = likely / likely.sum(axis=1, keepdims=True)
    return probabilities


def _information(patterns: Array, tables: Array) -> Array:
    """Return the mutual information of one more answer and the pattern, in nats, (Q,)."""
    answers = np.einsum("qp,qpa->qa", patterns, tables)
    noise = -np.sum(tables * np.log(np.maximum(tables, _TINY)), axis=2)
    surprise = -np.sum(answers * np.log(np.maximum(answers, _TINY)), axis=1)
    information: Array = np.maximum(surprise - np.sum(patterns * noise, axis=1), 0)
    return information
