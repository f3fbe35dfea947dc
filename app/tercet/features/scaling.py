"""Reduces the columns of groups, and brings groups to one scale, so that none outweighs the others."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tercet.features.row_file import ROWS_AT_ONCE, RowFile

Rows = NDArray[np.float32]
Wide = NDArray[np.float64]

LEAST_VARIANCE = 1e-12  # a column that varies less is constant


def standardised(rows: Rows, readable: NDArray[np.bool_]) -> Rows:
    """Return columns of mean 0 and variance 1; constant columns and unreadable rows are 0."""
    if not readable.any():
        return np.zeros(rows.shape, dtype=np.float32)
    mean = rows[readable].mean(axis=0, dtype=np.float64)
    spread = rows[readable].std(axis=0, dtype=np.float64)
    scale = np.where(spread**2 > LEAST_VARIANCE * np.maximum(1.0, mean**2), 1.0 / np.maximum(spread, 1e-150), 0.0)
    out = np.zeros(rows.shape, dtype=np.float32)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        out[part] = (rows[part] - mean) * scale
    out[~readable] = 0.0
    return out


def principal_components(rows: Rows | RowFile, readable: NDArray[np.bool_], numbers: int) -> Rows:
    """Return the rows along at most `numbers` directions of largest variance; unreadable rows are 0, the mean.

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
    directions = _main_directions(covariance, numbers)
    parts = [np.where(good[:, None], (block - mean) @ directions, 0.0) for block, good in _blocks(rows, readable)]
    return np.concatenate([np.zeros((0, directions.shape[1])), *parts]).astype(np.float32)


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


def side_by_side(groups: list[Rows], weights: list[float]) -> Rows:
    """Return groups of columns as one array in which each group's total variance is in proportion to its weight.

    The variances of all columns sum to the number of columns, as those of standardised columns do, so that parameters
    of estimators mean the same. Groups without variance stay zero.
    """
    variances = [total_variance(rows) for rows in groups]
    varied = [weight if variance > 0 else 0.0 for weight, variance in zip(weights, variances, strict=True)]
    n_columns = sum(rows.shape[1] for rows in groups)
    share = n_columns / (sum(varied) or 1.0)
    scaled = [
        rows * np.float32(np.sqrt(share * weight / variance)) if weight else np.zeros_like(rows)
        for rows, weight, variance in zip(groups, varied, variances, strict=True)
    ]
    return np.concatenate(scaled, axis=1)
