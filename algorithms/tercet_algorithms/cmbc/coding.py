"""Features as bits, the input of CMBC's model: binary columns as they are, others by thermometer coding.

A thermometer codes a number by whether it exceeds each of a few thresholds, so that near numbers share most of their
bits. Of the codings compared it loses least information (one-hot bins lose which bins are neighbours).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tercet_algorithms.answers.patterns import Array

Binarize = Literal["thermometer"]

# The three quartiles. Finer thermometers repeat the same number in more bits, and the model counts every bit.
_QUANTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Coding:
    """m bits of a row of numbers: whether column `columns[j]` exceeds `thresholds[j]`."""

    columns: Array  # (m,)
    thresholds: Array  # (m,)

    def __len__(self) -> int:
        return len(self.columns)

    def bits(self, X: Array) -> Array:
        """Return the bits as 0.0 and 1.0, shape (N, m)."""
        return (X[:, self.columns] > self.thresholds).astype(np.float64)


def make_coding(X: Array, binarize: Binarize | None, name: str = "X") -> Coding:
    """Return the coding of finite numbers (N, D).

    A column of 0 and 1 stays one bit; any other constant column gives none. With `binarize` None every column must be
    binary: raise ValueError with the row and column that is not.
    """
    binary = ((X == 0) | (X == 1)).all(axis=0)
    if binarize is None and not binary.all():
        row, column = np.argwhere((X != 0) & (X != 1))[0]
        raise ValueError(f"{name} row {row}, column {column} is {X[row, column]}: expected 0 or 1 (binarize=None)")
    columns, thresholds = [], []
    for column in range(X.shape[1]):
        cuts = np.array([0.5]) if binary[column] else _thresholds(X[:, column])
        columns.append(np.full(len(cuts), column))
        thresholds.append(cuts)
    if not any(map(len, columns)):  # the model needs one bit at least; this one is the same for all items
        columns, thresholds = [np.array([0])], [X[:1, 0]]
    return Coding(np.concatenate(columns), np.concatenate(thresholds).astype(X.dtype))


def _thresholds(values: Array) -> Array:
    """Return the distinct quantiles that some value exceeds; none for a constant column."""
    cuts = np.unique(np.quantile(values, _QUANTILES, method="lower"))
    splitting: Array = cuts[cuts < values.max()]
    return splitting
