"""What a new clustering should differ from: known clusterings, and features whose groups are of no interest.

The paper calls both y-. Their codes are read and checked here for CMBC and its rivals, and reduced to the unique
combinations v that occur, since only these enter the model. Also how much two clusterings have in common.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import mutual_info_score

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.coding import make_coding
from tercet_algorithms.common.features import check_features

UNKNOWN = -1
# Combinations of negative features with fewer items are too rare to be tested by themselves.
_RARE = 5
# Codes (N,) and number of values of a known clustering or a negative feature.
Part = tuple[Array, int]


@dataclass(frozen=True)
class KnownClusterings:
    """Checked y- of N items."""

    codes: Array  # (N, c) clusters of the known clusterings, each numbered from 0; -1 where not known
    values: tuple[Array, ...]  # the distinct original codes of each clustering
    negative: Array  # (N, m-) bits of the negative features

    def parts(self) -> list[Part]:
        """Return each clustering of two clusters or more, then each negative feature."""
        clusterings = [(column, len(values)) for column, values in zip(self.codes.T, self.values, strict=True)]
        return [part for part in clusterings if part[1] > 1] + [
            (column.astype(np.int64), 2) for column in self.negative.T
        ]

    def combinations(self) -> Array:
        """Return the combination of parts of every item, (N,), numbered from 0; -1 where a part is not known."""
        parts = self.parts()
        combinations = np.zeros(len(self.codes), dtype=np.int64)
        if parts:
            columns = np.column_stack([column for column, _ in parts])
            complete = (columns != UNKNOWN).all(axis=1)
            combinations[complete] = np.unique(columns[complete], axis=0, return_inverse=True)[1].ravel()
            combinations[~complete] = UNKNOWN
        return combinations

    def combinations_or_parts(self, limit: int) -> list[Array]:
        """Return the combinations of all parts, or each part by itself where there are more than `limit` combinations.

        Many combinations have few items each, and a new clustering would have to avoid what is only chance. Parts are
        also taken by themselves where some codes are not known, so that an item's other codes still count.
        """
        combinations, parts = self.combinations(), self.parts()
        if len(parts) > 1 and (combinations.max() >= limit or UNKNOWN in combinations):
            return [codes for codes, _ in parts]
        return [combinations]

    def clusterings_to_avoid(self) -> list[Array]:
        """Return the codes of each known clustering, and of the combinations of all negative features.

        One negative feature alone may say little about the groups that all of them form. Combinations of few items
        are merged into one, since their likeness could not be told from chance.
        """
        codes = [column for column, values in zip(self.codes.T, self.values, strict=True) if len(values) > 1]
        if self.negative.shape[1]:
            combinations = np.unique(self.negative, axis=0, return_inverse=True)[1].ravel()
            rare = np.bincount(combinations)[combinations] < _RARE
            codes.append(np.where(rare, combinations.max() + 1, combinations))
        return codes

    def indicators(self) -> Array:
        """Return a column for each value of each part, (N, values): 1 or 0, NaN where the part is not known."""
        blocks = [np.empty((len(self.codes), 0))]
        for column, n_values in self.parts():
            block = (column[:, None] == np.arange(n_values)).astype(np.float64)
            block[column == UNKNOWN] = np.nan
            blocks.append(block)
        return np.concatenate(blocks, axis=1)

    def read_new_items(self, known: object, negative_features: object, n_items: int) -> "KnownClusterings":
        """Return the same parts of other items; a cluster that no fitted item has counts as not known.

        Raise ValueError where a part is missing or a value is wrong.
        """
        codes, negative = _read_codes(known, n_items), _read_negative(negative_features, n_items)
        columns, expected = (codes.shape[1], negative.shape[1]), (self.codes.shape[1], self.negative.shape[1])
        if columns != expected:
            raise ValueError(
                "known and negative_features must be those of the items, as in fit: "
                f"they have {columns[0]} and {columns[1]} columns, expected {expected[0]} and {expected[1]}"
            )
        return KnownClusterings(_numbered(codes, self.values), self.values, negative)


def read_known(known: object, negative_features: object, n_items: int) -> KnownClusterings:
    """Return the checked y- of N items; None is no part. Raise ValueError with the row and value that is wrong."""
    codes = _read_codes(known, n_items)
    values = tuple(np.unique(column[column != UNKNOWN]) for column in codes.T)
    for number, distinct in enumerate(values):
        if len(distinct) < 2:
            warnings.warn(f"known column {number} has fewer than two clusters and is ignored", stacklevel=4)
    return KnownClusterings(_numbered(codes, values), values, _read_negative(negative_features, n_items))


def _read_codes(known: object, n_items: int) -> Array:
    if known is None:
        return np.empty((n_items, 0), dtype=np.int64)
    array = np.asarray(known)
    codes = array[:, None] if array.ndim == 1 else array
    if codes.ndim != 2 or len(codes) != n_items:
        raise ValueError(f"known must have shape (N,) or (N, c) with N={n_items} items, got {array.shape}")
    if codes.dtype.kind not in "biuf":
        raise ValueError(f"known must be integer cluster codes, -1 where not known; got values of type {codes.dtype}")
    invalid = (codes != np.round(codes)) | (codes < UNKNOWN)
    if invalid.any():
        row, column = np.argwhere(invalid)[0]
        value = codes[row, column]
        raise ValueError(f"known row {row}, column {column} is {value}: expected an integer, -1 where not known")
    return codes.astype(np.int64)


def _numbered(codes: Array, values: tuple[Array, ...]) -> Array:
    """Return the positions of the codes among the distinct values; -1 for codes that are not among them."""
    numbers = np.full(codes.shape, UNKNOWN, dtype=np.int64)
    for number, distinct in enumerate(values):
        rows = np.isin(codes[:, number], distinct)
        numbers[rows, number] = np.searchsorted(distinct, codes[rows, number])
    return numbers


def _read_negative(negative_features: object, n_items: int) -> Array:
    if negative_features is None:
        return np.empty((n_items, 0))
    values = check_features(negative_features)
    if len(values) != n_items:
        raise ValueError(f"negative_features has {len(values)} rows, X has {n_items}")
    return make_coding(values, None, "negative_features").bits(values)


def nmi(labels: Array, codes: Array) -> float:
    """Return I(C; L) / H(L) of labels C and codes L over the items where L is known; 0 where H(L) is 0."""
    has_code = codes != UNKNOWN
    entropy = _entropy(codes[has_code])
    return max(float(mutual_info_score(codes[has_code], labels[has_code])) / entropy, 0.0) if entropy > 0 else 0.0


def likeness(labels: Array, codes: Array) -> float:
    """Return how much information labels C and codes L share beyond chance, relative to the smaller entropy.

    It is I(C; L) less its expectation for independent clusterings, about (K - 1)(L - 1) / 2N (Miller and Madow), over
    min(H(C), H(L)), so that a coarsening of L is fully like L; 0 where an entropy is 0.
    """
    has_code = codes != UNKNOWN
    labels, codes = labels[has_code], codes[has_code]
    smaller_entropy = min(_entropy(labels), _entropy(codes))
    if smaller_entropy <= 0:
        return 0.0
    chance = (len(np.unique(labels)) - 1) * (len(np.unique(codes)) - 1) / (2 * len(codes))
    return max(float(mutual_info_score(codes, labels)) - chance, 0.0) / smaller_entropy


def _entropy(codes: Array) -> float:
    shares = np.bincount(codes) / max(len(codes), 1)
    shares = shares[shares > 0]
    return float(-np.sum(shares * np.log(shares)))
