"""Columns of a group brought to few numbers and to one scale, so that no group drowns the others."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Wide = NDArray[np.float64]

ROWS_AT_ONCE = 4_096
LEAST_VARIANCE = 1e-12  # a column that varies less is constant


def standardised(rows: Rows, readable: NDArray[np.bool_]) -> Rows:
    """Return columns of mean 0 and variance 1; constant ones are 0, and so are rows that are not readable."""
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


def principal_components(rows: Rows, readable: NDArray[np.bool_], numbers: int) -> Rows:
    """Return the rows along at most `numbers` directions of largest variance; unreadable rows are 0, the mean.

    The covariance is summed block by block, so that no second copy of the rows is made. Each direction points to
    where its largest entry is positive, so that the same rows always give the same numbers.
    """
    mean = rows[readable].mean(axis=0, dtype=np.float64) if readable.any() else np.zeros(rows.shape[1])
    covariance = np.zeros((rows.shape[1], rows.shape[1]))
    for block, good in _blocks(rows, readable):
        centred = block[good] - mean
        covariance += centred.T @ centred
    values, vectors = np.linalg.eigh(covariance)
    most = min(numbers, int((values > LEAST_VARIANCE * max(float(values.max(initial=0.0)), 1e-30)).sum()))
    directions = vectors[:, ::-1][:, :most]
    if most == 0:
        return np.zeros((len(rows), 0), dtype=np.float32)
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, np.arange(most)] < 0, -1.0, 1.0)
    parts = [np.where(good[:, None], (block - mean) @ directions, 0.0) for block, good in _blocks(rows, readable)]
    return np.concatenate(parts).astype(np.float32) if parts else np.zeros((0, most), dtype=np.float32)


def _blocks(rows: Rows, readable: NDArray[np.bool_]) -> list[tuple[Rows, NDArray[np.bool_]]]:
    """Return views of some thousand rows at a time, with which of them are readable."""
    starts = range(0, len(rows), ROWS_AT_ONCE)
    return [(rows[start : start + ROWS_AT_ONCE], readable[start : start + ROWS_AT_ONCE]) for start in starts]


def total_variance(rows: Rows) -> float:
    """Return the sum of the variances of all columns."""
    return float(rows.var(axis=0, dtype=np.float64).sum())


def side_by_side(groups: list[Rows], weights: list[float]) -> Rows:
    """Return groups of columns as one array in which each group's total variance is in proportion to its weight.

    The variances of all columns together sum to their number, as those of standardised columns do, so that
    parameters of estimators mean what they mean there. Groups that do not vary stay zero.
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
