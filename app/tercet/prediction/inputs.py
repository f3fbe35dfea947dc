"""Computes the inputs of a model from rows of features, in the same way as the estimators."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
NEIGHBOURS = 10  # in DCRC's graph


def standardised(X: Array, model: Mapping[str, Array]) -> Array:
    """Return the columns standardised by the mean and the deviation of the fitted items."""
    rows: Array = (X - model["mean"]) / model["scale"]
    return rows


def inputs(X: Array, model: Mapping[str, Array]) -> Array:
    """Return the inputs of a block of rows, (n, P), by the kind of the model."""
    match str(model["kind"]):
        case "bits":
            bits: Array = (X[:, model["columns"]] > model["thresholds"]).astype(np.float64)
            return bits
        case "linear":
            return standardised(X, model)
        case "graph":
            return _graph(standardised(X, model), model)
        case "waves":
            waves: Array = np.cos(standardised(X, model) @ model["points"].T + model["phases"])
            waves *= np.sqrt(2 / len(model["points"]))
            return waves
        case "rbf":
            squared = squared_distances(standardised(X, model), model["points"])
            kernel: Array = np.exp(-model["gamma"] * squared)
            return kernel
        case "adaptive":
            return _adaptive(standardised(X, model), model)
        case kind:
            raise ValueError(
                f"the model is of the kind '{kind}', which this version of Tercet does not know: update it"
            )


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared Euclidean distances of all rows of A and B."""
    products: Array = A @ B.T
    squared: Array = np.square(A).sum(axis=1)[:, None] - 2 * products + np.square(B).sum(axis=1)
    np.maximum(squared, 0, out=squared)
    return squared


def _graph(Z: Array, model: Mapping[str, Array]) -> Array:
    """Return the columns and, beside them, the mean of the eigenvectors over the nearest points of each row."""
    squared = squared_distances(Z, model["points"])
    n_neighbours = min(NEIGHBOURS, squared.shape[1])
    nearest = np.argpartition(squared, n_neighbours - 1, axis=1)[:, :n_neighbours]
    return np.column_stack([Z, model["vectors"][nearest].mean(axis=1)])


def _adaptive(Z: Array, model: Mapping[str, Array]) -> Array:
    """Return the values of SKLR's first kernel (its Eq 19), whose width follows the density of the items."""
    squared = squared_distances(Z, model["points"])
    kernel: Array = np.exp(-squared / np.outer(_widths(Z, model), model["point_widths"]))
    return kernel


def _widths(Z: Array, model: Mapping[str, Array]) -> Array:
    """Return the distance of each row to its l-th nearest reference; a reference at distance 0 is the row itself."""
    references, neighbours = model["references"], int(model["neighbours"])
    squared = squared_distances(Z, references)
    squared[squared <= 2e-12 * np.square(Z).sum(axis=1)[:, None]] = 0
    ranks = np.minimum([0, neighbours - 1, neighbours], len(references) - 1)
    ordered = np.partition(squared, np.unique(ranks), axis=1)[:, ranks]
    widths: Array = np.sqrt(np.where(ordered[:, 0] == 0, ordered[:, 2], ordered[:, 1]))
    return np.maximum(widths, model["floor"])
