"""The five patterns of three items in clusters, and the tables P(answer | pattern).

Every question about a triplet (anchor, left, right) asks for the pattern that its clusters form, so one (5, A) table
P(answer | pattern) describes a kind of question completely: the paper's Table I is that of relative questions, and
outlier questions have another. All code that reads or predicts answers uses these tables.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kind = Literal["relative", "outlier"]
# How answers err: the probability of a wrong one (Table I), or the table of people's errors.
Errors = float | Literal["people"]

ALL_ALIKE, ANCHOR_APART, LEFT_APART, RIGHT_APART, ALL_DIFFERENT = range(5)
KINDS: tuple[Kind, ...] = ("relative", "outlier")
# The answers of each kind in the order of the table's columns.
ANSWERS: dict[Kind, tuple[str, ...]] = {"relative": ("yes", "no", "dnk"), "outlier": ("1", "2", "3", "dnk")}
# The column of the right answer to each pattern (Eq 1 for the relative question).
_RIGHT_COLUMN: dict[Kind, tuple[int, ...]] = {"relative": (2, 2, 1, 0, 2), "outlier": (3, 0, 1, 2, 3)}
# The pattern, and for each kind the answer, after left and right have changed places.
MIRRORED_PATTERNS = [ALL_ALIKE, ANCHOR_APART, RIGHT_APART, LEFT_APART, ALL_DIFFERENT]
MIRRORED_ANSWERS: dict[Kind, list[int]] = {"relative": [1, 0, 2, 3], "outlier": [0, 2, 1, 3]}
# People's errors: P(don't know) where an item is right, and P(item) for each item that is not the right answer.
_UNSURE, _MIXED_UP = 0.22, 0.04
# The posteriors of this many triplets fit the processor's cache.
_CHUNK = 8192


def right_answers(kind: Kind) -> Array:
    """Return the column of the right answer to each of the five patterns, shape (5,)."""
    return np.array(_RIGHT_COLUMN[kind])


def answer_table(kind: Kind, epsilon: Errors) -> Array:
    """Return P(answer | pattern), (5, A): 1 - epsilon for the right answer, epsilon shared by the others (Table I).

    With "people" it is a table of people's errors: mostly "don't know" in clear cases, seldom a wrong item.
    """
    n_answers = len(ANSWERS[kind])
    if epsilon == "people":
        return _people_table(n_answers)[right_answers(kind)]
    table = np.full((5, n_answers), epsilon / (n_answers - 1))
    table[np.arange(5), right_answers(kind)] = 1 - epsilon
    return table


def _people_table(n_answers: int) -> Array:
    """Return P(answer | right answer), (A, A), of people; "don't know" comes last."""
    table = np.full((n_answers, n_answers), _MIXED_UP)
    table[:-1, -1] = _UNSURE
    np.fill_diagonal(table, 0)
    np.fill_diagonal(table, 1 - table.sum(axis=1))
    return table


def patterns_of(labels: Array, triplets: Array) -> Array:
    """Return the pattern of every triplet under hard labels, shape (M,)."""
    anchor, left, right = labels[triplets].T
    apart = np.where(left == right, ANCHOR_APART, ALL_DIFFERENT)
    apart = np.where(anchor == right, LEFT_APART, apart)
    apart = np.where(anchor == left, RIGHT_APART, apart)
    return np.where((anchor == left) & (anchor == right), ALL_ALIKE, apart)


def pattern_probabilities(P: Array, triplets: Array) -> Array:
    """Return P(pattern) of every triplet for independent item posteriors P (N, K), shape (M, 5)."""
    out = np.empty((len(triplets), 5), dtype=P.dtype)
    for start in range(0, len(triplets), _CHUNK):
        rows = slice(start, start + _CHUNK)
        anchor, left, right = (P.take(triplets[rows, role], axis=0) for role in range(3))
        both = anchor * left
        alike = np.einsum("mk,mk->m", both, right)
        pairs = both.sum(axis=1), np.einsum("mk,mk->m", anchor, right), np.einsum("mk,mk->m", left, right)
        out[rows, ALL_ALIKE] = alike
        out[rows, RIGHT_APART], out[rows, LEFT_APART], out[rows, ANCHOR_APART] = (pair - alike for pair in pairs)
        out[rows, ALL_DIFFERENT] = 1 - (pairs[0] + pairs[1] + pairs[2]) + 2 * alike
    return np.clip(out, 0, 1, out=out)  # rounding may leave -1e-9 where a pattern is impossible


def pair_log_odds(likelihoods: Array, n_clusters: int) -> Array:
    """Return the log odds (M, 3) of each answer's pairs: log P(answer | in one cluster) - log P(answer | in two).

    `likelihoods` (M, 5) are P(answer | pattern). The pairs are left and right, anchor and right, anchor and left: in
    this order the patterns set the third item apart. There must be two clusters at least; equal sizes are assumed.
    """
    others = n_clusters - 1
    joint = likelihoods * [1, others, others, others, others * (n_clusters - 2)]  # times K^2
    together = joint[:, [ALL_ALIKE]] + joint[:, ANCHOR_APART:ALL_DIFFERENT]
    apart = joint.sum(axis=1, keepdims=True) - together
    odds: Array = np.log(others * together / apart)
    return odds


def answer_probabilities(P: Array, triplets: Array, table: Array) -> Array:
    """Return P(answer) of every triplet, shape (M, A)."""
    probabilities: Array = pattern_probabilities(P, triplets) @ table.astype(P.dtype)
    return probabilities


def log_likelihood(
    P: Array,
    triplets: Array,
    columns: Array,
    kinds: Array,
    table_of: Callable[[Kind], Array],
    weights: Array | None = None,
) -> float:
    """Return the sum of log P(answer), each times its weight, over questions of any kind.

    `columns` and `kinds` are codes as in `Constraints`.
    """
    total = 0.0
    for code, kind in enumerate(KINDS):
        rows = np.flatnonzero(kinds == code)
        logs = np.log(answer_probabilities(P, triplets[rows], table_of(kind))[np.arange(len(rows)), columns[rows]])
        total += float(logs.sum() if weights is None else logs @ weights[rows])
    return total


def check_probabilities(name: str, rows: Array, tolerance: float) -> None:
    """Raise ValueError unless each row of an array consists of probabilities that sum to 1 within a tolerance."""
    if not (np.isfinite(rows).all() and (rows >= 0).all() and np.allclose(rows.sum(axis=-1), 1, atol=tolerance)):
        raise ValueError(f"{name} must hold probabilities: rows of numbers of at least 0 that sum to 1")


def expected_information(P: Array, triplets: Array, table: Array) -> Array:
    """Return the mutual information of answer and pattern in nats, shape (M,): the expected gain of one more answer."""
    patterns = pattern_probabilities(P, triplets)
    noise = -np.sum(_x_log_x(table), axis=1).astype(P.dtype)
    surprise = -np.sum(_x_log_x(patterns @ table.astype(P.dtype)), axis=1)
    # Not with @: in float32 OpenBLAS reads beyond the five columns, and warns where what lies there is no number.
    information: Array = np.maximum(surprise - np.einsum("mp,p->m", patterns, noise), 0)
    return information


def _x_log_x(x: Array) -> Array:
    """Return x log x with its limit 0 at 0."""
    product: Array = x * np.log(np.maximum(x, np.finfo(x.dtype).tiny))
    return product
