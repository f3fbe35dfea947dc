"""Regressing the known clusterings out and clustering what is left: the simple rival of CMBC, and hard to beat.

What a known clustering explains of every feature is its clusters' means. Without them (several clusterings and
negative features: without their least squares fit) k-means has nothing left of it to find.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from algorithms.cmbc_known import Known
from algorithms.patterns import Array
from algorithms.sklr_clusters import soft_assignments, within_variance


@dataclass(frozen=True)
class Regression:
    """What indicators of y- explain of standardised features, and how to take it off other items."""

    mean: Array  # (D,)
    scale: Array  # (D,), infinite where a column is constant
    middle: Array  # (indicators,)
    effects: Array  # (indicators, D)

    def residuals(self, X: Array, known: Known | None) -> Array:
        """Standardised features without what y- explains, (N, D)."""
        scaled: Array = (X - self.mean) / self.scale
        if known is None:
            return scaled
        residuals: Array = scaled - np.nan_to_num(known.indicators() - self.middle) @ self.effects
        return residuals


def regress(X: Array, known: Known, standardize: bool) -> Regression:
    """Least squares of the features on the indicators of y-; unknown values pull nowhere.

    Where all features are bits they have one unit: standardised, rare ones would drown the others.
    """
    standardize = standardize and not ((X == 0) | (X == 1)).all()
    mean = X.mean(axis=0)
    spread = X.std(axis=0)
    # A constant column's spread may be rounding instead of 0.
    vary = spread > 1e-12 * np.maximum(np.abs(mean), np.finfo(X.dtype).tiny)
    scale = np.where(vary, spread if standardize else 1.0, np.inf)
    indicators = known.indicators()
    unknown = np.isnan(indicators)
    middle = np.where(unknown, 0.0, indicators).sum(axis=0) / np.maximum((~unknown).sum(axis=0), 1)
    centred = np.nan_to_num(indicators - middle)
    effects = np.linalg.lstsq(centred, (X - mean) / scale, rcond=None)[0]
    return Regression(mean, scale, middle, effects)


@dataclass(frozen=True)
class Residuals:
    """K-means of residuals as a model of the search: one temperature, at which it settles at once."""

    residuals: Array  # (N, D)
    n_clusters: int

    def hottest(self) -> float:
        """There is no temperature."""
        return 1.0

    def first(self, rng: np.random.RandomState) -> Array:
        """Centres by k-means++."""
        centers: Array = kmeans_plusplus(self.residuals, self.n_clusters, random_state=rng)[0]
        return centers

    def perturbed(self, position: Array, rng: np.random.RandomState) -> Array:
        """Nothing needs breaking."""
        return position

    def settle(
        self, position: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """K-means from the centres."""
        fit = KMeans(self.n_clusters, init=position, n_init=1, tol=tol, max_iter=max_iter).fit(self.residuals)
        return fit.cluster_centers_, [self.objective(fit.cluster_centers_)], fit.n_iter_ < max_iter

    def is_hard(self, position: Array, temperature: float) -> bool:
        """K-means is."""
        return True

    def polished(
        self, position: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """All items have been seen."""
        return position, [], True

    def objective(self, position: Array) -> float:
        """Mean squared distance of the items from their centres, turned round."""
        nearest = position[self.labels(position)]
        return -float(np.square(self.residuals - nearest).sum(axis=1).mean())

    def labels(self, position: Array) -> Array:
        """Nearest centre of every item."""
        nearest: Array = soft_assignments(self.residuals, position, 0.0).argmax(axis=1)
        return nearest


@dataclass(frozen=True)
class FittedResiduals:
    """Round clusters of one width among residuals; an item's residual needs its y-."""

    regression: Regression
    theta: Array  # (K, D) centres
    variance: float

    def posterior(self, X: Array, known: Known | None) -> Array:
        """How likely every cluster is, (N, K)."""
        return soft_assignments(self.regression.residuals(X, known), self.theta, self.variance)


def fitted_residuals(regression: Regression, model: Residuals, centers: Array) -> FittedResiduals:
    """The clusters with the width that the fitted items show."""
    return FittedResiduals(regression, centers, within_variance(model.residuals, centers))
