"""Reduces the columns of groups, and brings groups to one scale, so that none outweighs the others."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tercet.features.row_file import ROWS_AT_ONCE, RowFile

Rows = NDArray[np.float32]
Wide = NDArray[np.float64]

LEAST_VARIANCE = 1e-12  # a column that varies less is constant


@dataclass(frozen=True)
class Reduction:
    """The way from raw columns to those that are used: a mean (D,) taken off, then a factor (D,) or directions (D, R).

    It is learned from all items once, so that new items come to numbers that can be compared with theirs.
    """

    mean: Wide
    matrix: Wide

    @property
    def width(self) -> int:
        """Return the number of columns that come out."""
        return int(self.matrix.shape[-1])

    def rows(self, rows: Rows | RowFile, readable: NDArray[np.bool_]) -> Rows:
        """Return the reduced rows; those that are not readable are 0, the mean."""
        parts = [np.where(good[:, None], self._reduced(block), 0.0) for block, good in _blocks(rows, readable)]
        return np.concatenate([np.zeros((0, self.width)), *parts]).astype(np.float32)

    def _reduced(self, block: Rows) -> Wide:
        centred = block - self.mean
        return np.asarray(centred * self.matrix if self.matrix.ndim == 1 else centred @ self.matrix)


def to_one_scale(raw: Rows | RowFile, readable: NDArray[np.bool_]) -> Reduction:
    """Return the reduction to columns of mean 0 and variance 1; constant ones become 0."""
    rows = raw.to_array() if isinstance(raw, RowFile) else raw
    if not readable.any():
        return Reduction(np.zeros(rows.shape[1]), np.zeros(rows.shape[1]))
    mean = rows[readable].mean(axis=0, dtype=np.float64)
    spread = rows[readable].std(axis=0, dtype=np.float64)
    scale = np.where(spread**2 > LEAST_VARIANCE * np.maximum(1.0, mean**2), 1.0 / np.maximum(spread, 1e-150), 0.0)
    return Reduction(mean, scale)


def standardised(rows: Rows, readable: NDArray[np.bool_]) -> Rows:
    """Return columns of mean 0 and variance 1; constant ones are 0, and so are rows that are not readable."""
    return to_one_scale(rows, readable).rows(rows, readable)


def to_components(rows: Rows | RowFile, readable: NDArray[np.bool_], numbers: int) -> Reduction:
    """Return the reduction to at most `numbers` directions of largest variance.

    The covariance is summed block by block, so that no second copy of the rows is made. The largest entry of each
    direction is positive, so that the same rows always give the same numbers.
    """
    width = rows.width if isinstance(rows, RowFile) else rows.shape[1]
    mean, covariance = np.zeros(width), np.zeros((width, width))
    for block, good in _blocks(rows, readable):
        mean += block[good].sum(axis=0, dtype=np.float64) / max(1, np.count_nonzero(readable))
    for block, good in _blocks(rows, readable):
        centred = block[good] - mean
        covariance += centred.T @ centred
    return Reduction(mean, _main_directions(covariance, numbers))


def _main_directions(covariance: Wide, numbers: int) -> Wide:
    """Return at most `numbers` directions (D, R) with any variance, the largest variance first."""
    from scipy.linalg import eigh  # numpy's computes all directions, thousands where a few dozen are needed

    size = len(covariance)
    if size == 0:
        return covariance
    values, vectors = eigh(covariance, subset_by_index=(max(0, size - numbers), size - 1))
    most = int((values > LEAST_VARIANCE * max(float(values[-1]), 1e-30)).sum())
    directions = vectors[:, ::-1][:, :most]
    largest = np.abs(directions).argmax(axis=0)
    return np.asarray(directions * np.where(directions[largest, np.arange(most)] < 0, -1.0, 1.0), dtype=np.float64)


def _blocks(rows: Rows | RowFile, readable: NDArray[np.bool_]) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
    """Yield about a thousand rows at a time, with which of them are readable."""
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(rows), ROWS_AT_ONCE)]
    blocks = rows.blocks() if isinstance(rows, RowFile) else (rows[part] for part in parts)
    for part, block in zip(parts, blocks, strict=True):
        yield block, readable[part]


def total_variance(rows: Rows) -> float:
    """Return the sum of the variances of all columns."""
    return float(rows.var(axis=0, dtype=np.float64).sum())


def shares(groups: list[Rows], weights: list[float]) -> list[np.float32]:
    """Return the factor of each group of columns with which its total variance is in proportion to its weight.

    The variances of all columns together then sum to their number, as those of standardised columns do, so that
    parameters of estimators mean what they mean there. Groups that do not vary get 0.
    """
    variances = [total_variance(rows) for rows in groups]
    varied = [weight if variance > 0 else 0.0 for weight, variance in zip(weights, variances, strict=True)]
    share = sum(rows.shape[1] for rows in groups) / (sum(varied) or 1.0)
    return [
        np.float32(np.sqrt(share * weight / variance) if weight else 0.0)
        for weight, variance in zip(varied, variances, strict=True)
    ]


def side_by_side(groups: list[Rows], weights: list[float]) -> Rows:
    """Return groups of columns as one array in which each group's total variance is in proportion to its weight."""
    return np.concatenate([rows * factor for rows, factor in zip(groups, shares(groups, weights), strict=True)], axis=1)
