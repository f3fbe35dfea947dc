"""Clusters of every number from one learned space, cut when a run ends: a page then only looks them up."""

import numpy as np

from algorithms.matching import match_clusters
from algorithms.sklr_clusters import kernel_kmeans
from app.clustering.results import Array

MOST = 30
STARTS = 3
# Clusters lie in the directions of largest variance; the others cost time and change next to nothing.
DIRECTIONS = 40


def cut(embedding: Array, labels: Array, n_clusters: int, before: Array | None) -> Array:
    """Labels from 1 for 2, 3, ... MOST clusters, (K_max - 1, N); those of the run itself are its `labels`.

    Numbers stay as far as they can from one resolution to the next, outwards from the run's own. `before` are the
    previous run's: where they fit, k-means goes on from them.
    """
    n_items = len(labels)
    most = min(MOST, n_items)
    rows = np.empty((max(most - 1, 0), n_items), dtype=np.uint8)
    Y = _flattened(embedding)
    known = before if before is not None and before.shape == rows.shape else None
    neighbour = {n_clusters: labels.astype(np.int64) - 1}
    upwards, downwards = range(max(n_clusters + 1, 2), most + 1), range(min(n_clusters - 1, most), 1, -1)
    for step, numbers in ((1, upwards), (-1, downwards)):
        for k in numbers:
            previous = None if known is None else known[k - 2].astype(np.int64) - 1
            neighbour[k] = _like(neighbour[k - step], _cluster(Y, k, previous), k)
    for k in range(2, most + 1):
        rows[k - 2] = neighbour[k] + 1
    return rows


def _cluster(Y: Array, k: int, previous: Array | None) -> Array:
    starts = STARTS if previous is None else 1
    return kernel_kmeans(Y, k, starts, np.random.RandomState(k), previous)[0]


def _like(neighbour: Array, labels: Array, k: int) -> Array:
    numbered: Array = match_clusters(neighbour, labels, k)[labels]
    return numbered


def _flattened(embedding: Array) -> Array:
    """The items in their directions of largest variance, as single precision."""
    centred = embedding - embedding.mean(axis=0)
    if centred.shape[1] > DIRECTIONS:
        _, vectors = np.linalg.eigh(centred.T @ centred)
        centred = centred @ vectors[:, -DIRECTIONS:]
    return np.asarray(centred, dtype=np.float32)
