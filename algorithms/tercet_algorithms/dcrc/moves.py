"""Split-and-merge moves: a start that takes the best solution so far and repairs one structural mistake.

With many clusters most local optima differ from the best one by a class that lies in two clusters and two classes
that share one. No gradient leads out of that. A move dissolves one cluster, its items going to their next likely
clusters, and gives its number to one half of another cluster. With answers, the bound tells well whether that was an
improvement (the idea of the SMEM algorithm for mixtures by Ueda, Nakano, Ghahramani and Hinton, 2000).
"""

import numpy as np
from numpy.random import RandomState
from sklearn.cluster import KMeans

from tercet_algorithms.answers.patterns import Array


def rearrange(X: Array, posterior: Array, seed: int) -> Array:
    """Return labels (N,) after one random move on the clusters of `posterior` (N, K), in the space of X (N, D)."""
    rng = RandomState(seed)
    labels: Array = posterior.argmax(axis=1)
    freed = int(rng.choice(posterior.shape[1], p=_dispensable(posterior, rng)))
    _dissolve(labels, posterior, freed)
    split(X, labels, posterior.shape[1], freed, rng)
    return labels


def _dispensable(posterior: Array, rng: RandomState) -> Array:
    """Return the probability (K,) of dissolving each cluster; at random, small ones or overlapping ones are likely."""
    sizes = posterior.sum(axis=0)
    if rng.rand() < 0.5:
        chances = 1 / (1 + sizes)
    else:
        shared = posterior.T @ posterior / np.sqrt(np.outer(sizes, sizes) + 1)
        np.fill_diagonal(shared, 0)
        chances = shared.sum(axis=0) + 1e-9
    normalised: Array = chances / chances.sum()
    return normalised


def _dissolve(labels: Array, posterior: Array, freed: int) -> None:
    """Assign each item of a cluster to the cluster that is next likely for it."""
    members = labels == freed
    others = posterior[members].copy()
    others[:, freed] = -1
    labels[members] = others.argmax(axis=1)


def split(X: Array, labels: Array, n_clusters: int, freed: int, rng: RandomState) -> int:
    """Split a cluster, drawn by its scatter, and give one half the number `freed`; return which one was split."""
    scatter = np.zeros(n_clusters)
    for k in np.unique(labels):
        members = X[labels == k]
        scatter[k] = members.var(axis=0).sum() * len(members) if len(members) > 1 else 0
    if scatter.sum() == 0:
        return int(labels[0])
    halved = int(rng.choice(n_clusters, p=scatter / scatter.sum()))
    members = np.flatnonzero(labels == halved)
    halves = KMeans(2, n_init=1, random_state=rng.randint(np.iinfo(np.int32).max)).fit(X[members])
    labels[members[halves.labels_ == 1]] = freed
    return halved
