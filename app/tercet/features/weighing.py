"""Chooses how much each group of a default recipe counts, by how clearly the items fall into clusters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tercet.features.scaling import side_by_side

Rows = NDArray[np.float32]
Weights = list[float]

MOST_ITEMS = 1_000  # that are looked at: distances between all of them are needed
SEEDS = 3  # of K-means, whose silhouettes are averaged
# How much larger the silhouette of other weights has to be. For synthetic songs, which cluster better with the first
# weights, that of others is larger by up to 0.018 (32 sets); for words, spoken digits and syllables of finches by 0.023
# and more (15 sets).
CLEARER = 0.02


def clearest(groups: Sequence[Rows], weightings: Sequence[Weights], n_clusters: int, seed: int) -> Weights:
    """Return the weights with which the clusters are clearest; the first ones unless others are clearly better.

    Parameters
    ----------
    groups : sequence of arrays, shape (N, D) each
        Columns of the items that could be measured.
    weightings : sequence of lists of float
        Weights of the groups, to choose from.
    n_clusters : int
    seed : int
        Of the items that are looked at, and of K-means.
    """
    n = len(groups[0])
    if len(weightings) < 2 or not 2 <= n_clusters <= n // 2:
        return weightings[0]
    places = np.sort(np.random.default_rng(seed).permutation(n)[:MOST_ITEMS])
    few = [rows[places] for rows in groups]
    if len(np.unique(np.concatenate(few, axis=1), axis=0)) <= n_clusters:
        return weightings[0]
    silhouettes = [_silhouette(side_by_side(few, weights), n_clusters, seed) for weights in weightings]
    best = int(np.argmax(silhouettes))
    return weightings[best] if silhouettes[best] > silhouettes[0] + CLEARER else weightings[0]


def _silhouette(X: Rows, n_clusters: int, seed: int) -> float:
    from sklearn.cluster import KMeans  # only workers compute features; the web process starts without it
    from sklearn.metrics import silhouette_score

    labels = [KMeans(n_clusters, n_init=10, random_state=seed + n).fit_predict(X) for n in range(SEEDS)]
    return float(np.mean([silhouette_score(X, each) for each in labels]))
