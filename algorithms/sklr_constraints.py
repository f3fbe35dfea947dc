"""Answers and links as linear constraints on a kernel's squared distances, the form that SKLR learns from.

One constraint says g d(a, b) - h d(a, e) <= t (or = t) for three items a, b, e, where d(i, j) = K_ii - 2 K_ij + K_jj
(Eq 4) is the *squared* distance. An answer gives one or two of them; different answers may give the same one,
which then is kept once and weighs more, so that the learned kernel does not depend on how it was asked for.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.patterns import Array
from algorithms.validation import Constraints, read_constraints

Mapping = Literal["class", "strict"]

COMPARISON, EQUALITY, MUST_LINK, CANNOT_LINK = range(4)

_RELATIVE, _OUTLIER = range(2)
_YES, _NO = range(2)


@dataclass(frozen=True)
class Rows:
    """m different constraints, in an order that does not depend on the order of the answers."""

    keys: Array  # (m, 4) a, b, e and COMPARISON, EQUALITY, MUST_LINK or CANNOT_LINK
    weights: Array  # (m,) sum of the weights of the answers behind a constraint
    of_answer: Array  # (M, 2) the constraints of every answer; -1 where it has only one

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def is_equality(self) -> Array:
        equal: Array = self.keys[:, 3] == EQUALITY
        return equal

    @property
    def has_links(self) -> bool:
        return bool((self.keys[:, 3] >= MUST_LINK).any())

    def spread(self, values: Array) -> Array:
        """Largest value among the constraints of every answer, shape (M,)."""
        padded = np.append(values, -np.inf)  # where of_answer is -1
        largest: Array = padded[self.of_answer].max(axis=1)
        return largest


def read_rows(
    triplets: object,
    answers: object,
    kinds: object = None,
    labelers: Iterable[object] | None = None,
    *,
    weights: object = None,
    must_link: object = None,
    cannot_link: object = None,
    mapping: Mapping = "class",
    n_items: int,
) -> Rows:
    """Check everything and give the constraints; ValueError with the row and value that is wrong.

    Identical answers of one labeler count once, those of several labelers add their weights.
    """
    n_rows = 0 if triplets is None else len(np.asarray(triplets))
    given = read_constraints(triplets, answers, kinds, range(n_rows), n_items=n_items)  # merges nothing
    counted = _counted_weights(given, labelers, _read_weights(weights, len(given)))
    blocks, owners = _answer_keys(given, mapping)
    links = [_link_keys("must_link", must_link, MUST_LINK, n_items)]
    links.append(_link_keys("cannot_link", cannot_link, CANNOT_LINK, n_items))
    keys = np.concatenate([blocks, *links])
    each = np.concatenate([counted[owners], np.ones(len(keys) - len(blocks))])
    distinct, where = np.unique(keys, axis=0, return_inverse=True)
    of_answer = np.full((len(given), 2), -1)
    second = np.arange(len(owners)) >= len(given)
    of_answer[owners, second.astype(int)] = where[: len(owners)]
    return Rows(distinct, np.bincount(where, weights=each, minlength=len(distinct)), of_answer)


def _answer_keys(given: Constraints, mapping: Mapping) -> tuple[Array, Array]:
    """Keys of all answers' first constraints, then of the second ones, and the answer that each belongs to."""
    anchor, left, right = given.triplets.T
    dnk = given.is_dnk()
    outlier = given.kinds == _OUTLIER
    # The two that are alike come first and second; "don't know" leaves the anchor in the middle.
    a, b, e = anchor.copy(), left.copy(), right.copy()
    _arrange(a, b, e, ~outlier & (given.answers == _NO), (anchor, right, left))
    for column, roles in enumerate([(left, right, anchor), (anchor, right, left), (anchor, left, right)]):
        _arrange(a, b, e, outlier & ~dnk & (given.answers == column), roles)
    codes = np.where(dnk, EQUALITY, COMPARISON)
    first = np.column_stack([a, b, e, codes])
    # A relative "don't know" compares only the two distances from the anchor: the third may be anything.
    both = outlier | (~dnk & (mapping == "class"))
    second = np.column_stack([b, a, e, codes])[both]
    keys = np.concatenate([first, second])
    equal = keys[:, 3] == EQUALITY
    keys[equal, 1:3] = np.sort(keys[equal, 1:3], axis=1)
    return keys, np.concatenate([np.arange(len(given)), np.flatnonzero(both)])


def _arrange(a: Array, b: Array, e: Array, rows: Array, roles: tuple[Array, Array, Array]) -> None:
    for target, source in zip((a, b, e), roles, strict=True):
        target[rows] = source[rows]


def _read_weights(weights: object, n_rows: int) -> Array:
    values = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    if values.shape != (n_rows,):
        raise ValueError(f"weights must have one number for each of the {n_rows} answers, got shape {values.shape}")
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"weights row {row} is {values[row]}: expected a positive finite number")
    return values


def _counted_weights(given: Constraints, labelers: Iterable[object] | None, weights: Array) -> Array:
    """The weights with 0 where the same labeler has given the identical answer in an earlier row."""
    names = [None] * len(given) if labelers is None else list(labelers)
    if len(names) != len(given):
        raise ValueError(f"labelers has {len(names)} rows, triplets has {len(given)}")
    seen: dict[object, int] = {}
    codes = np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.int64)
    rows = np.column_stack([given.triplets, given.kinds, given.answers, codes])
    first = np.unique(rows, axis=0, return_index=True)[1]
    counted = np.zeros(len(given))
    counted[first] = weights[first]
    return counted


def _link_keys(name: str, pairs: object, code: int, n_items: int) -> Array:
    places = np.asarray([] if pairs is None else pairs)
    if places.size == 0:
        return np.empty((0, 4), dtype=np.int64)
    if places.ndim != 2 or places.shape[1] != 2 or not np.issubdtype(places.dtype, np.integer):
        raise ValueError(f"{name} must be integer item positions of shape (L, 2), got {places.dtype} {places.shape}")
    bad = ((places < 0) | (places >= n_items)).any(axis=1) | (places[:, 0] == places[:, 1])
    if bad.any():
        row = int(np.argmax(bad))
        expected = f"two different positions from 0 to {n_items - 1}"
        raise ValueError(f"{name} row {row} is {places[row].tolist()}: expected {expected}")
    low, high = places.min(axis=1), places.max(axis=1)
    return np.column_stack([low, high, low, np.full(len(places), code)])


def carry_over(keys: Array, old_keys: Array, old_values: Array) -> Array:
    """Values of an earlier fit's constraints at the constraints of this one; 0 at those that are new."""
    known = {tuple(key): value for key, value in zip(old_keys.tolist(), old_values.tolist(), strict=True)}
    return np.array([known.get(tuple(key), 0.0) for key in keys.tolist()])
