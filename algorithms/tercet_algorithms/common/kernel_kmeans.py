"""Clusters in a learned space: kernel k-means, how sure it is of every item, and how many clusters there are."""

from functools import partial

import numpy as np
from joblib import effective_n_jobs
from scipy.special import softmax
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.parallel import Parallel, delayed

from tercet_algorithms.answers.patterns import Array, answer_table, log_likelihood
from tercet_algorithms.answers.reading import Constraints

# Fresh starts of k-means look at so many axes at least, or three for each cluster.
_FEW_AXES = 30
_FACTORS = tuple(float(2**power) for power in range(7))


def kernel_kmeans(
    Y: Array,
    n_clusters: int,
    n_init: int,
    rng: np.random.RandomState,
    previous: Array | None = None,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Return labels (N,) and centroids (K, r) of the best of `n_init` starts, one of them from the previous labels.

    Columns of Y are principal axes. New starts use only the widest ones, which hold nearly all of the distances between
    clusters, and only the best of them continues in all axes. The result does not depend on the number of threads.
    """
    fits = []
    if previous is not None and len(np.unique(previous)) == n_clusters == previous.max() + 1:
        fits.append(_continued(Y, previous, n_clusters))
    if n_init > len(fits):
        wide = np.ascontiguousarray(Y[:, : max(3 * n_clusters, _FEW_AXES)])
        start = _best_start(wide, n_clusters, n_init - len(fits), rng, n_jobs)
        fits.append(start if wide.shape == Y.shape else _continued(Y, start.labels_, n_clusters))
    # A new start must be truly better: the numbers of clusters should not change for a rounding error.
    best = min(fits, key=lambda fit: float(fit.inertia_) * (1 if fit is fits[0] else 1 + 1e-9))
    return best.labels_, best.cluster_centers_


def _best_start(Y: Array, n_clusters: int, n_init: int, rng: np.random.RandomState, n_jobs: int | None) -> KMeans:
    if effective_n_jobs(n_jobs) == 1:
        return KMeans(n_clusters, n_init=n_init, random_state=rng).fit(Y)
    # The same random numbers as KMeans draws, and so the same starts.
    centers = [kmeans_plusplus(Y, n_clusters, random_state=rng)[0] for _ in range(n_init)]
    kmeans = (KMeans(n_clusters, init=rows, n_init=1) for rows in centers)
    fits = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(start.fit)(Y) for start in kmeans)
    return min(fits, key=lambda fit: float(fit.inertia_))


def _continued(Y: Array, labels: Array, n_clusters: int) -> KMeans:
    members = [labels == cluster for cluster in range(n_clusters)]
    # Among items that are all the same a cluster may have nobody; k-means then moves its centroid.
    centers = np.stack([Y[rows].mean(axis=0) if rows.any() else Y[0] for rows in members])
    return KMeans(n_clusters, init=centers, n_init=1).fit(Y)


def soft_assignments(Y: Array, centers: Array, variance: float) -> Array:
    """Return the posterior (N, K) of equally likely round clusters with this variance along any direction."""
    squared = euclidean_distances(Y, centers, squared=True)
    if variance <= 0:
        squared, variance = np.where(squared > squared.min(axis=1, keepdims=True), np.inf, 0.0), 1.0
    posterior: Array = softmax(-squared / (2 * variance), axis=1)
    return posterior


def within_variance(Y: Array, centers: Array, n_iter: int = 20) -> float:
    """Return the items' variance about the centroids along one direction of the space that centroids span.

    Maximum likelihood by EM with the centroids held: hard assignments alone would make overlapping clusters look
    narrower than they are, since each is cut off where the next begins.
    """
    if len(centers) == 1:
        return float(np.square(Y - centers).mean())
    middle = centers.mean(axis=0)
    directions, sizes, _ = np.linalg.svd((centers - middle).T, full_matrices=False)
    span = directions[:, sizes > 1e-9 * sizes[0]] if sizes[0] > 0 else directions[:, :0]
    if not span.shape[1]:
        return 0.0
    squared = euclidean_distances((Y - middle) @ span, (centers - middle) @ span, squared=True)
    variance = float(squared.min(axis=1).mean()) / span.shape[1]
    for _ in range(n_iter):
        if variance <= 1e-12 * float(squared.max()):
            return 0.0
        weights = softmax(-squared / (2 * variance), axis=1)
        variance = float(np.sum(weights * squared)) / squared.shape[0] / span.shape[1]
    return float(variance)


def widening(Y: Array, centers: Array, variance: float, constraints: Constraints, epsilon: float) -> float:
    """Return the factor, 1 to 64, by which the variance must grow for the posterior to be as sure as answers confirm.

    Round clusters of one width look far surer in many dimensions than they are. The factor is the one under which
    the given answers are most likely.
    """
    if not len(constraints) or variance <= 0:
        return 1.0
    items, places = np.unique(constraints.triplets, return_inverse=True)
    places = places.reshape(-1, 3)

    def fit_to_answers(factor: float) -> float:
        P = soft_assignments(Y[items], centers, factor * variance)
        table_of = partial(answer_table, epsilon=epsilon)
        return log_likelihood(P, places, constraints.answers, constraints.kinds, table_of, constraints.weights)

    return max(_FACTORS, key=fit_to_answers)


def eigengap(Y: Array, most: int) -> int:
    """Return the number of clusters: one more than the eigenvalues of the centred kernel before the largest gap.

    Only the upper half is looked at: at its end a kernel of low rank falls off, which says nothing about clusters.
    """
    centred = Y - Y.mean(axis=0)
    gram = centred.T @ centred if Y.shape[1] <= len(Y) else centred @ centred.T
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], np.finfo(float).tiny)
    values = values[: max(min(most, len(values) // 2 + 1), 2)]
    return int(np.argmax(values[:-1] / values[1:])) + 2 if len(values) > 1 else len(values) + 1
