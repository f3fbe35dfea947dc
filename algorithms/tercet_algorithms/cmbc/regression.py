"""Regressing the known clusterings out and clustering the residuals: a simple rival of CMBC, and hard to beat.

A known clustering explains the means of its clusters in every feature. Without these means (with several clusterings
and negative features: without their least squares fit) k-means cannot find it again.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.cmbc.known_clusterings import KnownClusterings
from tercet_algorithms.common.kernel_kmeans import soft_assignments, within_variance
from tercet_algorithms.common.linked_kmeans import assign, centers_of, linked_assignments, linked_kmeans, value_of
from tercet_algorithms.common.links import ItemLinks


@dataclass(frozen=True)
class Regression:
    """The least squares fit of standardised features on indicators of y-."""

    mean: Array  # (D,)
    scale: Array  # (D,), infinite where a column is constant
    indicator_means: Array  # (indicators,)
    effects: Array  # (indicators, D)

    def residuals(self, X: Array, known: KnownClusterings | None) -> Array:
        """Return the standardised features less their least squares fit, (N, D)."""
        scaled: Array = (X - self.mean) / self.scale
        if known is None:
            return scaled
        residuals: Array = scaled - np.nan_to_num(known.indicators() - self.indicator_means) @ self.effects
        return residuals


def regress(X: Array, known: KnownClusterings, standardize: bool) -> Regression:
    """Return the least squares fit of the features on the indicators of y-; unknown values count as the mean.

    Features that are all bits have one unit and are not standardised: rare bits would outweigh the others.
    """
    standardize = standardize and not ((X == 0) | (X == 1)).all()
    mean = X.mean(axis=0)
    spread = X.std(axis=0)
    # A constant column's spread may be rounding instead of 0.
    varies = spread > 1e-12 * np.maximum(np.abs(mean), np.finfo(X.dtype).tiny)
    scale = np.where(varies, spread if standardize else 1.0, np.inf)
    indicators = known.indicators()
    unknown = np.isnan(indicators)
    indicator_means = np.where(unknown, 0.0, indicators).sum(axis=0) / np.maximum((~unknown).sum(axis=0), 1)
    centred = np.nan_to_num(indicators - indicator_means)
    effects = np.linalg.lstsq(centred, (X - mean) / scale, rcond=None)[0]
    return Regression(mean, scale, indicator_means, effects)


@dataclass(frozen=True)
class Residuals:
    """K-means of residuals as a model to be annealed: it has one temperature, at which it settles at once."""

    residuals: Array  # (N, D)
    n_clusters: int
    links: ItemLinks | None = None  # in squared distances
    start: Array | None = None  # (N,) clusters to go on from

    def initial_temperature(self) -> float:
        """Return 1: k-means has no temperature."""
        return 1.0

    def initial_position(self, rng: np.random.RandomState) -> Array:
        """Return centres by k-means++."""
        centers: Array = kmeans_plusplus(self.residuals, self.n_clusters, random_state=rng)[0]
        return centers

    def position_of(self, labels: Array) -> Array:
        """Return the centres of clusters (N,)."""
        return centers_of(self.residuals, labels, self.n_clusters)

    def perturbed(self, position: Array, rng: np.random.RandomState) -> Array:
        """Return the position as it is."""
        return position

    def settle(self, position: Array, temperature: float, tol: float, max_iter: int) -> tuple[Array, list[float], bool]:
        """Run k-means from the centres."""
        if self.links is not None:
            linked = linked_kmeans(self.residuals, position, self.links, self.start, tol=tol, max_iter=max_iter)
            return linked.centers, [self.objective(linked.centers)], linked.converged
        fit = KMeans(self.n_clusters, init=position, n_init=1, tol=tol, max_iter=max_iter).fit(self.residuals)
        return fit.cluster_centers_, [self.objective(fit.cluster_centers_)], fit.n_iter_ < max_iter

    def is_hard(self, position: Array, temperature: float) -> bool:
        """Return True: k-means assigns every item to one cluster."""
        return True

    def settle_on_all_items(
        self, position: Array, temperature: float, tol: float, max_iter: int
    ) -> tuple[Array, list[float], bool]:
        """Return the position as it is: `settle` already uses all items."""
        return position, [], True

    def objective(self, position: Array) -> float:
        """Return minus the mean squared distance of the items from their centres."""
        labels = self.labels(position)
        if self.links is not None:
            return -value_of(self.residuals, position, self.links, labels) / len(labels)
        nearest = position[labels]
        return -float(np.square(self.residuals - nearest).sum(axis=1).mean())

    def labels(self, position: Array) -> Array:
        """Return the nearest centre of every item, or the best where it is linked."""
        if self.links is not None:
            return assign(self.residuals, position, self.links, self.start)
        nearest: Array = soft_assignments(self.residuals, position, 0.0).argmax(axis=1)
        return nearest

    def posterior(self, position: Array) -> Array:
        """Return the probability of every cluster for every item, (N, K), links included."""
        variance = within_variance(self.residuals, position)
        if self.links is None:
            return soft_assignments(self.residuals, position, variance)
        return linked_assignments(self.residuals, position, variance, self.links, self.start)


@dataclass(frozen=True)
class FittedResiduals:
    """Fitted round clusters of one width among residuals; the residual of an item depends on its y-."""

    regression: Regression
    theta: Array  # (K, D) centres
    variance: float

    def posterior(self, X: Array, known: KnownClusterings | None) -> Array:
        """Return the probability of every cluster, (N, K)."""
        return soft_assignments(self.regression.residuals(X, known), self.theta, self.variance)


def fitted_residuals(regression: Regression, model: Residuals, centers: Array) -> FittedResiduals:
    """Return the clusters with the variance that the fitted items have about them."""
    return FittedResiduals(regression, centers, within_variance(model.residuals, centers))
