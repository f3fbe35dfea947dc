"""The clusters at every resolution, cut in one learned space when a run ends: a page then only reads them."""

import numpy as np

from tercet.runs.results import Array
from tercet_algorithms.common.kernel_kmeans import kernel_kmeans
from tercet_algorithms.common.matching import match_clusters

MOST_CLUSTERS = 30
STARTS = 3
# Clusters lie in the directions of largest variance; the others cost time and change almost nothing.
DIRECTIONS = 40


def cut(embedding: Array, labels: Array, n_clusters: int, before: Array | None) -> Array:
    """Return labels from 1 for 2, 3, ... K_max clusters, (K_max - 1, N); at `n_clusters` they are the run's `labels`.

    Clusters keep their numbers as far as they can from one resolution to the next, outwards from the run's own.
    `before` are the previous run's: if they have the same shape, k-means goes on from them.
    """
    n_items = len(labels)
    most = min(MOST_CLUSTERS, n_items)
    rows = np.empty((max(most - 1, 0), n_items), dtype=np.uint8)
    Y = _reduce(embedding)
    if before is not None and before.shape != rows.shape:
        before = None
    labels_at = {n_clusters: labels.astype(np.int64) - 1}
    upwards, downwards = range(max(n_clusters + 1, 2), most + 1), range(min(n_clusters - 1, most), 1, -1)
    for step, numbers in ((1, upwards), (-1, downwards)):
        for k in numbers:
            previous = None if before is None else before[k - 2].astype(np.int64) - 1
            labels_at[k] = _renumber(labels_at[k - step], _cluster(Y, k, previous), k)
    for k in range(2, most + 1):
        rows[k - 2] = labels_at[k] + 1
    return rows


def _cluster(Y: Array, k: int, previous: Array | None) -> Array:
    starts = STARTS if previous is None else 1
    return kernel_kmeans(Y, k, starts, np.random.RandomState(k), previous)[0]


def _renumber(neighbour: Array, labels: Array, k: int) -> Array:
    """Return the labels with the numbers of the neighbouring resolution's clusters that they share most items with."""
    renumbered: Array = match_clusters(neighbour, labels, k)[labels]
    return renumbered


def _reduce(embedding: Array) -> Array:
    """Return the items in their directions of largest variance, in single precision."""
    centred = embedding - embedding.mean(axis=0)
    if centred.shape[1] > DIRECTIONS:
        _, vectors = np.linalg.eigh(centred.T @ centred)
        centred = centred @ vectors[:, -DIRECTIONS:]
    return np.asarray(centred, dtype=np.float32)
