"""K-means in which pairs of items are linked: keeping a link's items as it says is worth a squared distance.

It lowers sum_i |y_i - m_c(i)|^2 - sum_ij a_ij [c_i = c_j], each step as far as it can: centres become means, and linked
items take the best cluster given the others (Basu, Bilenko and Mooney, 2004, with Euclidean distances). One link weighs
as much as all that the features of an item say of its cluster, which is at most about its squared distance from the
mean of all.
"""

from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.links import ItemLinks, mean_field, memberships, most_probable


class KMeansFit(NamedTuple):
    """The result of one start."""

    labels: Array  # (N,)
    centers: Array  # (K, D)
    value: float  # what it lowers; without links the inertia
    n_iter: int
    converged: bool


def scaled_links(links: ItemLinks, Y: Array) -> ItemLinks:
    """Return links whose unit is the mean squared distance of the rows of Y from their mean."""
    return links.times(float(np.square(Y - Y.mean(axis=0)).sum(axis=1).mean()))


def centers_of(Y: Array, labels: Array, n_clusters: int) -> Array:
    """Return the means of the clusters; that of all items for a cluster without any."""
    q = memberships(labels, n_clusters)
    sizes = q.sum(axis=0)[:, None]
    centers: Array = np.where(sizes > 0, q.T @ Y / np.maximum(sizes, 1), Y.mean(axis=0))
    return centers


def assign(Y: Array, centers: Array, links: ItemLinks, start: Array | None) -> Array:
    """Return the clusters (N,) of the rows of Y, climbing from `start`."""
    return most_probable(-euclidean_distances(Y, centers, squared=True), links, start)


def value_of(Y: Array, centers: Array, links: ItemLinks, labels: Array) -> float:
    """Return what linked k-means lowers."""
    distances = float(np.square(Y - centers[labels]).sum())
    return distances - links.agreement(memberships(labels, len(centers)))


def linked_kmeans(
    Y: Array, centers: Array, links: ItemLinks, start: Array | None = None, *, tol: float = 1e-4, max_iter: int = 300
) -> KMeansFit:
    """Run from centres (K, D), with linked items where `start` has them at first; `links` are scaled."""
    labels = assign(Y, centers, links, start)
    spread = float(Y.var(axis=0).mean())
    n_iter, is_settled = 0, False
    while n_iter < max_iter and not is_settled:
        n_iter += 1
        means = centers_of(Y, labels, len(centers))
        is_empty = np.bincount(labels, minlength=len(centers)) == 0
        means[is_empty] = centers[is_empty]
        moved, centers = float(np.square(means - centers).sum()), means
        before, labels = labels, assign(Y, centers, links, labels)
        is_settled = bool(np.array_equal(before, labels) or moved <= tol * spread)
    return KMeansFit(labels, centers, value_of(Y, centers, links, labels), n_iter, is_settled)


def linked_assignments(Y: Array, centers: Array, variance: float, links: ItemLinks, start: Array | None) -> Array:
    """Return the posterior (N, K) of round clusters of one variance, whose linked items know of one another."""
    if variance <= 0:
        return memberships(assign(Y, centers, links, start), len(centers))
    scores = -euclidean_distances(Y, centers, squared=True) / (2 * variance)
    place = None if start is None else memberships(start, len(centers))
    return mean_field(scores, links.times(1 / (2 * variance)), place)
