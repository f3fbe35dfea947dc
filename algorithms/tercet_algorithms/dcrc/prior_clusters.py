"""Clusters found without answers, as columns that answers are read beside.

A dozen answers, some of them wrong, cannot tell good clusters from bad ones, and a model that follows them is often
worse than K-means, which reads none. So the clusters of K-means and of spectral clustering are further columns, and
those of a mixture of normal distributions where there are items enough to know the shapes of clusters. Weights are
penalised, and where a column is large a small weight says much: the scores lean towards these clusters, as under a
Gaussian prior.

How large is right depends on how many items such a clustering has right. Answers tell: if each item is in its cluster
with probability 1 - r, else in any other one, each answer has a likelihood, and so has r. The columns are as large as
the log odds that an item is in its cluster and not in a certain other one. Once answers can do without them, a
clustering is left out unless most of its items are surely right.
"""

import warnings

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from tercet_algorithms.answers.patterns import Array, Errors, pattern_probabilities
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.graph import GraphMap, nearest

# So many shares of wrong items are compared.
_SHARES = 40
# The least chance that most items are right, where answers can do without such clusters.
SURE = 0.95
# Clusterings whose sizes have a smaller entropy, relative to that of equal sizes, have found outliers and no clusters.
_LOPSIDED = 0.65
# Items for each cluster and feature with which the covariances of clusters can be told from chance.
_ITEMS_PER_FEATURE = 10
# Least variance of a cluster in any direction, in those of the standardised features.
_LEAST_VARIANCE = 1e-3


def beside_clusters(
    graph: GraphMap, n_clusters: int, Z: Array, answers: Constraints, epsilon: Errors, least_chance: float
) -> GraphMap:
    """Return the map with columns of the clusterings that have most items right with such a chance.

    `answers` are about the rows Z. Clusterings of hardly more than outliers are left out.
    """
    near, columns = nearest(Z, graph.points), []
    for clusters in _clusterings(graph, n_clusters):
        labels = clusters[near].mean(axis=1).argmax(axis=1)
        shares, chances = shares_of_wrong(labels, n_clusters, answers, epsilon)
        if chances[shares < 1 / 2].sum() >= least_chance:
            wrong = chances @ shares
            columns.append(np.log((1 - wrong) / wrong * (n_clusters - 1)) * clusters)
    return graph.beside(np.column_stack(columns)) if columns else graph


def shares_of_wrong(labels: Array, n_clusters: int, answers: Constraints, epsilon: Errors) -> tuple[Array, Array]:
    """Return shares of items that may be in other clusters than `labels` (n,) say, and their chances given answers.

    All shares up to that of clusters drawn at random are equally likely beforehand.
    """
    likelihoods, counts = answers.likelihoods(epsilon), answers.counts()
    shares = (np.arange(_SHARES) + 0.5) / _SHARES * (1 - 1 / n_clusters)
    logs = []
    for share in shares:
        q = np.full((len(labels), n_clusters), share / (n_clusters - 1))
        q[np.arange(len(labels)), labels] = 1 - share
        expected = (pattern_probabilities(q, answers.triplets) * likelihoods).sum(axis=1)
        logs.append(counts @ np.log(expected))
    return shares, softmax(logs)


def _clusterings(graph: GraphMap, n_clusters: int) -> list[Array]:
    """Return the clusters, (n, K) of 0 and 1, of each way to find some without answers, but lopsided ones."""
    k_means = KMeans(n_clusters, n_init=10, random_state=0)
    ways = [(k_means, graph.points), (k_means, graph.vectors[:, : n_clusters - 1])]
    n_points, n_features = graph.points.shape
    if n_points >= _ITEMS_PER_FEATURE * n_features * n_clusters:
        # Not from clusters of K-means, near which it would stay.
        start = {"init_params": "k-means++", "n_init": 5, "random_state": 0}
        ways.append((GaussianMixture(n_clusters, reg_covar=_LEAST_VARIANCE, **start), graph.points))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there may be fewer different rows than clusters
        labels = [model.fit_predict(rows) for model, rows in ways]
    return [np.eye(n_clusters)[clusters] for clusters in labels if _evenness(clusters) > _LOPSIDED]


def _evenness(labels: Array) -> float:
    """Return the entropy of the clusters' sizes, relative to that of equal sizes."""
    sizes = np.bincount(labels)
    shares = sizes[sizes > 0] / len(labels)
    return float(-(shares * np.log(shares)).sum() / np.log(max(len(sizes), 2)))
