"""Which answers are worth asking for once more, of somebody else: where people disagree, or one seems wrong.

A question is asked again where an answer more would settle something, not everywhere. What everything but its own
answers says of a question is taken from the posterior by Bayes' rule. A single answer is in doubt where another one
would be ten times likelier: the likelihood ratio of a wrong answer against a right one. "Don't know" seldom is,
as people say it in many clear cases. Answers that differ are in doubt unless all evidence together is nearly sure which
is right; two people who say the same against it are believed.
"""

from typing import NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array, Kind, right_answers

# An answer is in doubt that another one is so many times as likely as; answers that differ, with less than that
# probability of the likeliest right answer.
_LIKELIER = 10.0
_SETTLED = 0.9
_TINY = 1e-12


class Doubts(NamedTuple):
    """The questions whose answers are in doubt, those first of which one more answer is expected to tell most."""

    questions: Array  # (d,) their numbers
    information: Array  # (d,) expected of a further answer, in nats


def in_doubt(
    questions: Array, columns: Array, patterns: Array, tables: Array, kind: Kind, weights: Array | None = None
) -> Doubts:
    """Return the questions whose answers are in doubt.

    Parameters
    ----------
    questions : array of int, shape (M,)
        The number of the question that each answer is to, from 0; answers to one question have one number.
    columns : array of int, shape (M,)
        The column of the answer that was given; "don't know" is the last.
    patterns : array of shape (M, 5)
        P(pattern) of each answer's question under a posterior that all these answers are part of.
    tables : array of shape (M, 5, A)
        P(answer | pattern) of the labeler who gave each answer.
    kind : "relative" or "outlier"
    weights : array of shape (M,), optional
        The power that each answer's likelihood was taken to in the posterior; 1 by default.

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
