"""Features as bits, which is all that CMBC's model knows: binary columns as they are, others by thermometer coding.

A thermometer writes a number as the answers to "more than this?" for a few thresholds, so that near numbers share
most of their bits. Of the codings that were compared it loses least (one-hot bins forget which bins are neighbours).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.patterns import Array

Binarize = Literal["thermometer"]

# The three quartiles: finer thermometers repeat the same number in more bits, and the model counts every bit.
_QUANTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Coding:
    """m questions about a row of numbers: does column `columns[j]` exceed `thresholds[j]`?"""

    columns: Array  # (m,)
    thresholds: Array  # (m,)

    def __len__(self) -> int:
        return len(self.columns)

    def bits(self, X: Array) -> Array:
        """The answers as 0.0 and 1.0, shape (N, m)."""
        return (X[:, self.columns] > self.thresholds).astype(np.float64)


def make_coding(X: Array, binarize: Binarize | None, name: str = "X") -> Coding:
    """The coding of finite numbers (N, D). A column of 0 and 1 stays one bit, another constant one tells nothing.

    With `binarize` None every column must be binary: ValueError with the row and column that is not.
    """
    binary = ((X == 0) | (X == 1)).all(axis=0)
    if binarize is None and not binary.all():
        row, column = np.argwhere((X != 0) & (X != 1))[0]
        raise ValueError(f"{name} row {row}, column {column} is {X[row, column]}: expected 0 or 1 (binarize=None)")
    columns, thresholds = [], []
    for column in range(X.shape[1]):
        found = np.array([0.5]) if binary[column] else _thresholds(X[:, column])
        columns.append(np.full(len(found), column))
        thresholds.append(found)
    if not any(map(len, columns)):  # a bit that is the same for all items is simpler than none
        columns, thresholds = [np.array([0])], [X[:1, 0]]
    return Coding(np.concatenate(columns), np.concatenate(thresholds).astype(X.dtype))


def _thresholds(values: Array) -> Array:
    """Different quantiles that have a value above them; of a constant column none."""
    cuts = np.unique(np.quantile(values, _QUANTILES, method="lower"))
    splitting: Array = cuts[cuts < values.max()]
    return splitting
