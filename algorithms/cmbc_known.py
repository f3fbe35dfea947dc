"""What a new clustering should not be: clusterings that are known, and features whose groups are of no interest.

Everything that CMBC and its rivals learn about y- goes through here: codes are checked once, named when wrong, and
brought to the unique combinations v that occur, since only these enter the model.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import mutual_info_score

from algorithms.cmbc_coding import make_coding
from algorithms.patterns import Array
from algorithms.validation import check_features

UNKNOWN = -1
# Combinations of negative features with fewer items say nothing by themselves.
_RARE = 5
# Codes (N,) and number of values of a known clustering or a negative feature.
Part = tuple[Array, int]


@dataclass(frozen=True)
class Known:
    """Checked y- of N items."""

    codes: Array  # (N, c) clusters of the known clusterings, each numbered from 0; -1 where not known
    values: tuple[Array, ...]  # the codes as they were given, of each clustering
    negative: Array  # (N, m-) bits of the negative features

    def parts(self) -> list[Part]:
        """Each clustering of two clusters or more, then each negative feature."""
        clusterings = [(column, len(values)) for column, values in zip(self.codes.T, self.values, strict=True)]
        return [part for part in clusterings if part[1] > 1] + [
            (column.astype(np.int64), 2) for column in self.negative.T
        ]

    def combinations(self) -> Array:
        """The unique combination of every item, (N,), numbered from 0; -1 where a part of it is unknown."""
        parts = self.parts()
        found = np.zeros(len(self.codes), dtype=np.int64)
        if parts:
            columns = np.column_stack([column for column, _ in parts])
            complete = (columns != UNKNOWN).all(axis=1)
            found[complete] = np.unique(columns[complete], axis=0, return_inverse=True)[1].ravel()
            found[~complete] = UNKNOWN
        return found

    def whole_or_parts(self, most: int) -> list[Array]:
        """The combinations of everything that is known or, where they are more than `most`, each part by itself.

        Of many combinations each has few items, and a new clustering would have to avoid what is only chance. Where
        items miss some part, the others tell of them all the same.
        """
        together, parts = self.combinations(), self.parts()
        if len(parts) > 1 and (together.max() >= most or UNKNOWN in together):
            return [codes for codes, _ in parts]
        return [together]

    def unwanted(self) -> list[Array]:
        """What a new clustering should not be like: each known clustering, and the negative features together.

        One negative feature alone may tell little of the groups that they form. Combinations of few items count as
        one: how alike they are could not be told from chance.
        """
        codes = [column for column, values in zip(self.codes.T, self.values, strict=True) if len(values) > 1]
        if self.negative.shape[1]:
            together = np.unique(self.negative, axis=0, return_inverse=True)[1].ravel()
            rare = np.bincount(together)[together] < _RARE
            codes.append(np.where(rare, together.max() + 1, together))
        return codes

    def indicators(self) -> Array:
        """One column for each value of each part, (N, sum of values): 1 has it, 0 has another, NaN is not known."""
        blocks = [np.empty((len(self.codes), 0))]
        for column, n_values in self.parts():
            block = (column[:, None] == np.arange(n_values)).astype(np.float64)
            block[column == UNKNOWN] = np.nan
            blocks.append(block)
        return np.concatenate(blocks, axis=1)

    def read_more(self, known: object, negative_features: object, n_items: int) -> "Known":
        """The same parts of other items; a cluster that was not there counts as not known.

        Raises ValueError where a part is missing or a value is wrong.
        """
        codes, negative = _read_codes(known, n_items), _read_negative(negative_features, n_items)
        found, expected = (codes.shape[1], negative.shape[1]), (self.codes.shape[1], self.negative.shape[1])
        if found != expected:
            raise ValueError(
                "known and negative_features must be those of the items, as in fit: "
                f"they have {found[0]} and {found[1]} columns, expected {expected[0]} and {expected[1]}"
            )
        return Known(_numbered(codes, self.values), self.values, negative)


def read_known(known: object, negative_features: object, n_items: int) -> Known:
    """Check y- for N items; None is nothing. Raises ValueError with the row and value that is wrong."""
    codes = _read_codes(known, n_items)
    values = tuple(np.unique(column[column != UNKNOWN]) for column in codes.T)
    for number, distinct in enumerate(values):
        if len(distinct) < 2:
            warnings.warn(f"known column {number} has fewer than two clusters and is ignored", stacklevel=4)
    return Known(_numbered(codes, values), values, _read_negative(negative_features, n_items))


def _read_codes(known: object, n_items: int) -> Array:
    if known is None:
        return np.empty((n_items, 0), dtype=np.int64)
    given = np.asarray(known)
    codes = given[:, None] if given.ndim == 1 else given
    if codes.ndim != 2 or len(codes) != n_items:
        raise ValueError(f"known must have shape (N,) or (N, c) with N={n_items} items, got {given.shape}")
    if codes.dtype.kind not in "biuf":
        raise ValueError(f"known must be integer cluster codes, -1 where not known; got values of type {codes.dtype}")
    wrong = (codes != np.round(codes)) | (codes < UNKNOWN)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = codes[row, column]
        raise ValueError(f"known row {row}, column {column} is {value}: expected an integer, -1 where not known")
    return codes.astype(np.int64)


def _numbered(codes: Array, values: tuple[Array, ...]) -> Array:
    """Positions of the codes among the values; -1 for what is not among them."""
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
    """I(C; L) / H(L) of labels C with codes L, over the items where L is known; 0 where H(L) is 0."""
    seen = codes != UNKNOWN
    entropy = _entropy(codes[seen])
    return max(float(mutual_info_score(codes[seen], labels[seen])) / entropy, 0.0) if entropy > 0 else 0.0


def likeness(labels: Array, codes: Array) -> float:
    """How much one of two clusterings tells of the other beyond chance, as a share of what there is to tell.

    I(C; L) less what independent clusterings have, about (K - 1)(L - 1) / 2N (Miller and Madow), over the smaller of
    the two entropies, so that a coarse picture of L is like L; 0 where there is nothing to tell.
    """
    seen = codes != UNKNOWN
    found, given = labels[seen], codes[seen]
    least = min(_entropy(found), _entropy(given))
    if least <= 0:
        return 0.0
    chance = (len(np.unique(found)) - 1) * (len(np.unique(given)) - 1) / (2 * len(given))
    return max(float(mutual_info_score(given, found)) - chance, 0.0) / least


def _entropy(codes: Array) -> float:
    shares = np.bincount(codes) / max(len(codes), 1)
    shares = shares[shares > 0]
    return float(-np.sum(shares * np.log(shares)))
