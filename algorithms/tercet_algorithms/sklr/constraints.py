"""Answers and links as linear constraints on a kernel's squared distances, the form that SKLR learns from.

One constraint says g d(a, b) - h d(a, e) <= t (or = t) for three items a, b, e, where d(i, j) = K_ii - 2 K_ij + K_jj
(Eq 4) is the squared distance. An answer gives one or two constraints; answers that give the same one add their
weights, so that the learned kernel does not depend on how a question was asked.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.answers.reading import Constraints

Mapping = Literal["class", "strict"]

COMPARISON, EQUALITY, MUST_LINK, CANNOT_LINK = range(4)
NO_PAIRS: Array = np.empty((0, 2), dtype=np.int64)

_RELATIVE, _OUTLIER = range(2)
_YES, _NO = range(2)


@dataclass(frozen=True)
class DistanceConstraints:
    """m different constraints, in an order that does not depend on the order of the answers."""

    keys: Array  # (m, 4) a, b, e and COMPARISON, EQUALITY, MUST_LINK or CANNOT_LINK
    weights: Array  # (m,) sum of the weights of the answers that give the constraint
    of_answer: Array  # (M, 2) the constraints of every answer; -1 where it gives fewer

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def is_equality(self) -> Array:
        equal: Array = self.keys[:, 3] == EQUALITY
        return equal

    @property
    def has_links(self) -> bool:
        return bool((self.keys[:, 3] >= MUST_LINK).any())

    def largest_by_answer(self, values: Array) -> Array:
        """Return the largest of the values (m,) of each answer's constraints, (M,); 0 for an answer without any."""
        padded = np.append(values, -np.inf)  # where of_answer is -1
        largest: Array = padded[self.of_answer].max(axis=1)
        return np.where(np.isneginf(largest), 0.0, largest)

    def refuse(self, impossible: Array) -> None:
        """Raise ValueError if a mask (m,) of constraints that no kernel meets has any; name the answers or links."""
        if not impossible.any():
            return
        rows = np.flatnonzero(self.largest_by_answer(impossible.astype(float)) > 0)
        where = f"answers rows {rows[:10].tolist()}" if len(rows) else "must_link or cannot_link"
        raise ValueError(
            f"{where}: an item is told apart from one that has the same features, which no kernel of the features can "
            "do; leave these out or use a finite C"
        )


def distance_constraints(
    answers: Constraints,
    must_link: Array = NO_PAIRS,
    cannot_link: Array = NO_PAIRS,
    mapping: Mapping = "class",
    link_weights: Array | None = None,
) -> DistanceConstraints:
    """Return the constraints that answers and pairs of linked items (L, 2) give.

    Identical answers of one labeler count once, those of several labelers add their weights; answers and links of
    weight 0 give no constraint. `link_weights` are of the must-links, then of the cannot-links; 1 where None.
    """
    answer_weights = answers.counted_once()
    answer_keys, answer_of_key = _answer_keys(answers, mapping)
    keys = np.concatenate([answer_keys, _link_keys(must_link, MUST_LINK), _link_keys(cannot_link, CANNOT_LINK)])
    factors = np.ones(len(keys) - len(answer_keys)) if link_weights is None else link_weights
    key_weights = np.concatenate([answer_weights[answer_of_key], factors])
    distinct, position = np.unique(keys, axis=0, return_inverse=True)
    weights = np.bincount(position, weights=key_weights, minlength=len(distinct))
    # Positions among the constraints that have a weight; -1 for the others.
    position = np.where(weights > 0, np.cumsum(weights > 0) - 1, -1)[position]
    of_answer = np.full((len(answers), 2), -1)
    is_second = np.arange(len(answer_of_key)) >= len(answers)
    of_answer[answer_of_key, is_second.astype(int)] = position[: len(answer_of_key)]
    return DistanceConstraints(distinct[weights > 0], weights[weights > 0], of_answer)


def _answer_keys(answers: Constraints, mapping: Mapping) -> tuple[Array, Array]:
    """Return the keys of all answers' first constraints, then of the second ones, and each key's answer."""
    anchor, left, right = answers.triplets.T
    dnk = answers.is_dnk()
    outlier = answers.kinds == _OUTLIER
    # The two items that are alike come first and second; "don't know" leaves the anchor in the middle.
    a, b, e = anchor.copy(), left.copy(), right.copy()
    _set_roles(a, b, e, ~outlier & (answers.answers == _NO), (anchor, right, left))
    for column, roles in enumerate([(left, right, anchor), (anchor, right, left), (anchor, left, right)]):
        _set_roles(a, b, e, outlier & ~dnk & (answers.answers == column), roles)
    codes = np.where(dnk, EQUALITY, COMPARISON)
    first = np.column_stack([a, b, e, codes])
    # A relative "don't know" compares only the two distances from the anchor: the third may be anything.
    has_second = outlier | (~dnk & (mapping == "class"))
    second = np.column_stack([b, a, e, codes])[has_second]
    keys = np.concatenate([first, second])
    equal = keys[:, 3] == EQUALITY
    keys[equal, 1:3] = np.sort(keys[equal, 1:3], axis=1)
    return keys, np.concatenate([np.arange(len(answers)), np.flatnonzero(has_second)])


def _set_roles(a: Array, b: Array, e: Array, rows: Array, roles: tuple[Array, Array, Array]) -> None:
    for target, source in zip((a, b, e), roles, strict=True):
        target[rows] = source[rows]


def _link_keys(pairs: Array, code: int) -> Array:
    low, high = pairs.T
    return np.column_stack([low, high, low, np.full(len(pairs), code)])


def carry_over(keys: Array, old_keys: Array, old_values: Array) -> Array:
    """Return the values of an earlier fit's constraints at the constraints of this one; 0 at new ones."""
    value_of = {tuple(key): value for key, value in zip(old_keys.tolist(), old_values.tolist(), strict=True)}
    return np.array([value_of.get(tuple(key), 0.0) for key in keys.tolist()])
