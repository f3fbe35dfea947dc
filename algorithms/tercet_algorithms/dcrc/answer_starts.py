"""Starts from answers: small groups of similar items, merged where features and answers agree.

Answers tell a good clustering from a bad one, but maximization from K-means does not get there: a class that lies in
two clusters stays there. Groups several times as many as the clusters seldom mix classes, and an answer about an item
says something about all of its group. So the groups are merged by Ward's method: each merge costs the scatter that it
adds, less the log odds that the answers give to it.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from tercet_algorithms.answers.patterns import Array

# Range that the number of groups per cluster is drawn from, and the least mean number of items in a group.
_FEWEST, _MOST = 5, 8
_ITEMS = 3


class PairOdds(NamedTuple):
    """The log odds that answers give to pairs of items; see `patterns.pair_log_odds`."""

    triplets: Array  # (M, 3) rows of X
    log_odds: Array  # (M, 3) that left and right, anchor and right, anchor and left are in one cluster


NO_PAIRS = PairOdds(np.empty((0, 3), np.int64), np.empty((0, 3)))


def start_from_answers(
    X: Array, rows: slice | Array, pairs: PairOdds, n_clusters: int, kappa: float, seed: int
) -> Array:
    """Return clusters of some rows of X (N, D), by their features and by answers about any of the N rows.

    With `kappa` = 1, log odds of one nat count as much as the mean cost of a merge by Ward's method. Without answers
    this is Ward's method on the groups, which differ from seed to seed.
    """
    rng = np.random.RandomState(seed)
    points = X[rows].astype(np.float64)
    n_distinct = len(np.unique(points @ rng.standard_normal(points.shape[1])))  # projected: numbers are sorted quickly
    n_groups = min(n_clusters * rng.randint(_FEWEST, _MOST + 1), max(len(points) // _ITEMS, n_clusters), n_distinct)
    kmeans = KMeans(n_groups, n_init=1, random_state=rng).fit(points)
    sizes = np.bincount(kmeans.labels_, minlength=n_groups).astype(np.float64)
    odds = np.zeros((n_groups, n_groups))
    cluster_of, loss = _merged(kmeans.cluster_centers_, sizes, odds, n_clusters)
    if len(pairs.triplets) and n_groups > n_clusters:
        odds = _odds_of_groups(kmeans, X, pairs) * kappa * loss / (n_groups - n_clusters)
        cluster_of, _ = _merged(kmeans.cluster_centers_, sizes, odds, n_clusters)
    labels: Array = cluster_of[kmeans.labels_]
    return labels


def _odds_of_groups(kmeans: Any, X: Array, pairs: PairOdds) -> Array:
    """Return the log odds (R, R) that two groups belong together, summed over the answers about their items."""
    asked, places = np.unique(pairs.triplets, return_inverse=True)
    groups = kmeans.predict(X[asked].astype(np.float64))[places.reshape(-1, 3)]
    odds = np.zeros((kmeans.n_clusters, kmeans.n_clusters))
    for place, pair in enumerate(([1, 2], [0, 2], [0, 1])):
        np.add.at(odds, tuple(groups[:, pair].T), pairs.log_odds[:, place])
    both: Array = odds + odds.T
    return both


def _merged(centres: Array, sizes: Array, odds: Array, n_clusters: int) -> tuple[Array, float]:
    """Return the cluster (R,) of each group after merging down to K, and the scatter (Ward's loss) that this has added.

    Each step merges the two groups with the smallest loss minus log odds.
    """
    centres, sizes, odds = centres.copy(), sizes.copy(), odds.copy()
    cluster_of = np.arange(len(sizes))
    cost = np.array([_losses(centres, sizes, group) for group in range(len(sizes))])
    cost -= odds
    np.fill_diagonal(cost, np.inf)
    total = 0.0
    for _ in range(len(sizes) - n_clusters):
        kept, gone = divmod(int(np.argmin(cost)), len(cost))
        total += cost[kept, gone] + odds[kept, gone]
        both = sizes[kept] + sizes[gone]
        centres[kept] = (sizes[kept] * centres[kept] + sizes[gone] * centres[gone]) / both
        sizes[kept] = both
        odds[kept] += odds[gone]
        odds[:, kept] = odds[kept]
        cluster_of[cluster_of == gone] = kept
        cost[gone] = cost[:, gone] = np.inf
        others = np.isfinite(cost[kept])
        cost[kept, others] = cost[others, kept] = (_losses(centres, sizes, kept) - odds[kept])[others]
    return np.unique(cluster_of, return_inverse=True)[1], total


def _losses(centres: Array, sizes: Array, group: int) -> Array:
    """Return the scatter (R,) that merging each group with this one would add (Ward's loss)."""
    distances: Array = np.square(centres - centres[group]).sum(axis=1)
    losses: Array = sizes * sizes[group] / (sizes + sizes[group]) * distances
    return losses
