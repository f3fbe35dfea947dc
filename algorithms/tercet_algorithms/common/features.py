"""What every estimator expects of X and y: checks that name what is wrong, column names, row names.

The values are checked when a fit begins, and what a fitted model remembers of them (`n_features_in_`,
`feature_names_in_`) is written when it ends, so that a fit that is refused leaves the earlier model as it was.
"""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from tercet_algorithms.answers.patterns import Array

_SPARSE = (
    "X is sparse, which {} does not take: standardised columns and kernels are dense. "
    "Reduce it first (sklearn.decomposition.TruncatedSVD) or pass X.toarray()"
)


def check_features(X: Any, estimator: Any = None, n_clusters: int = 1) -> Array:
    """Return X as a finite (N, D) array: single precision if X is, else double precision.

    An array that is good as it is, also one mapped into memory, is not copied.

    Parameters
    ----------
    X : array-like or DataFrame of shape (N, D)
    estimator : object, optional
        Whose X it is, for messages.
    n_clusters : int
        There must be as many items.

    Returns
    -------
    array of float, shape (N, D)

    Raises
    ------
    ValueError
        Where X is no finite table of numbers, with the row and column, or has fewer rows than clusters.
    TypeError
        Where X is sparse, or its columns have names that are not all strings.
    """
    if issparse(X):
        raise TypeError(_SPARSE.format("this estimator" if estimator is None else type(estimator).__name__))
    validate_data(BaseEstimator(), X, skip_check_array=True)  # refuses column names that could not be remembered
    features: Array = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, estimator=estimator)
    bad = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = features[row, column]
        raise ValueError(f"X row {row}, column {column} is {value}: expected a finite number, neither NaN nor inf")
    if n_clusters > len(features):
        raise ValueError(f"n_clusters={n_clusters} is more than the number of items, {len(features)}")
    return features


def check_features_of(estimator: Any, X: Any) -> Array:
    """Return X checked as by `check_features` against the columns that the estimator was fitted with.

    Raises ValueError where a DataFrame's columns have other names or another order, or where there are more or fewer.
    """
    if hasattr(X, "columns"):  # first, since columns of other names are what other faults come from
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return check_features(X, estimator)
    features = check_features(X, estimator)
    validate_data(estimator, features, reset=False, skip_check_array=True)
    return features


def remember_features(estimator: Any, X: Any) -> None:
    """Set the fitted estimator's `n_features_in_` and, where X has column names, `feature_names_in_`."""
    validate_data(estimator, X, skip_check_array=True)


def row_names(X: Any) -> Array | None:
    """Return the index of a DataFrame, by which answers may name its items, (N,); None for other arrays."""
    index = getattr(X, "index", None)
    return None if index is None or callable(index) else np.asarray(index)


def check_no_target(y: Any, n_items: int) -> None:
    """Refuse `y`, which no estimator here learns from.

    scikit-learn's pipelines and checks hand a target to every estimator, so one value for each item gives a warning.
    Anything else, such as triplets in the place of y, raises ValueError.
    """
    if y is None:
        return
    shape = np.asarray(y).shape
    if shape not in ((n_items,), (n_items, 1)):
        raise ValueError(f"y is not used, got shape {shape}: pass triplets=, answers= and so on by name")
    warnings.warn("y is not used: clusters are learned from features and answers alone", UserWarning, stacklevel=3)
