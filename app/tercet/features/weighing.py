"""How much each group of features should count, decided by people's answers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32] | NDArray[np.float64]
Numbers = NDArray[np.integer]

FOLDS = 5
FEWEST_ANSWERS = 30  # under so many, every group counts the same
STRENGTHS = (1.0, 0.1, 0.01, 0.001)  # of the pull towards equal weights
ITERATIONS = 100


def weigh_groups(values: Rows, groups: Sequence[str], triplets: Numbers, answers: Numbers) -> dict[str, float]:
    """Return a weight for each group of columns, 1 on average, such that distances agree with answers.

    Parameters
    ----------
    values : array of shape (N, D)
        Features in which each group's total variance is as large as any other's.
    groups : sequence of D names
        The group of each column.
    triplets : array of shape (M, 3)
        Rows of `values`: is the first more similar to the second than to the third?
    answers : array of shape (M,)
        1 for yes, -1 for no; "don't know" (0) says nothing of distances and is passed over.

    The chance of a yes is a logistic function of the weighted difference of squared distances. Weights are never
    negative and are pulled towards each other, as strongly as predicts answers best that were held out. If no weights
    predict those better than equal ones do, or answers are few, all weights are 1.
    """
    names = list(dict.fromkeys(groups))
    equal = np.ones(len(names))
    decided = np.flatnonzero(np.asarray(answers) != 0)
    if len(decided) < FEWEST_ANSWERS or len(names) < 2:
        return dict(zip(names, equal.tolist(), strict=True))
    differences = group_differences(values, groups, np.asarray(triplets)[decided])
    signed = differences * np.sign(np.asarray(answers)[decided])[:, None]
    signed /= np.abs(signed).sum(axis=1).mean() or 1.0
    strength = _best_strength(signed)
    weights = equal if strength is None else _fit(signed, strength)
    return dict(zip(names, weights.tolist(), strict=True))


def group_differences(values: Rows, groups: Sequence[str], triplets: Numbers) -> NDArray[np.float64]:
    """Return for each triplet and group how much further the third item is from the first than the second is."""
    head, near, far = np.asarray(values, dtype=np.float64)[triplets.T]
    columns = (head - far) ** 2 - (head - near) ** 2
    of_column = np.asarray(list(groups))
    return np.stack([columns[:, of_column == name].sum(axis=1) for name in dict.fromkeys(groups)], axis=1)


def _best_strength(signed: NDArray[np.float64]) -> float | None:
    """Return the pull that predicts held-out answers best; None if equal weights do as well."""
    fold = np.arange(len(signed)) % FOLDS
    scores = {None: _mean_agreement(signed, np.ones(signed.shape[1]))}
    hits: dict[float | None, NDArray[np.float64]] = {None: scores[None]}
    for strength in STRENGTHS:
        score = np.empty(len(signed))
        for held_out in range(FOLDS):
            weights = _fit(signed[fold != held_out], strength)
            score[fold == held_out] = _mean_agreement(signed[fold == held_out], weights)
        hits[strength] = score
    best = max(STRENGTHS, key=lambda strength: float(hits[strength].mean()))
    gain = hits[best] - hits[None]
    return best if gain.mean() > gain.std() / np.sqrt(len(gain)) else None


def _mean_agreement(signed: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 for each answer that the weighted distances agree with, 0 for others, 1/2 for ties."""
    return 0.5 * (1.0 + np.sign(signed @ weights))


def _fit(signed: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    """Return weights of mean 1 that make the answers likely."""
    from scipy.optimize import minimize

    def loss(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = signed @ scaled
        apart = scaled - scaled.mean()
        value = np.logaddexp(0.0, -margins).mean() + 0.5 * strength * float(apart @ apart)
        slope = -(signed * _logistic(-margins)[:, None]).mean(axis=0) + strength * apart
        return value, slope

    start = np.ones(signed.shape[1])
    bounds = [(0.0, 100.0)] * len(start)
    scaled = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": ITERATIONS}).x
    mean = scaled.mean()
    return np.asarray(scaled / mean, dtype=np.float64) if mean > 0 else start


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), dtype=np.float64)
