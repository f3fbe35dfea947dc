"""The start from bag labels: a model with one cluster for every label, brought to K clusters.

With a cluster for each label only one thing is unknown, which of its bag's labels an item has, and maximization from
weights of zero finds that. Where K is another number, labels whose items are alike share a cluster, or clusters whose
items differ are split. This also fixes, for all starts of a fit, which labels are matched to which cluster: bounds
under different matchings are not comparable, since a cluster matched to most labels is seldom wrong about a bag.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.dcrc.bag_evidence import BagEvidence
from tercet_algorithms.dcrc.lower_bound import LowerBound, climb, fit_classifier
from tercet_algorithms.dcrc.moves import split
from tercet_algorithms.dcrc.sampling import some_items

_STEPS, _TOL = 100, 3e-5


def start_from_bags(objective: LowerBound, bags: BagEvidence, n_clusters: int, seed: int) -> tuple[Array, Array]:
    """Return weights W (K, D + 1), and which labels (K, C) are matched to each cluster."""
    labelled = np.flatnonzero(bags.labelled)
    rows = labelled[some_items(len(labelled), seed)]
    X, bags = objective.X[rows], bags.of(rows)
    terms: dict[str, Any] = {"tau": objective.tau, "lam": objective.lam, "balance": objective.balance}
    model = LowerBound(X, None, **terms, weight=3 / len(rows), bags=bags)
    each = np.eye(bags.n_labels)
    evidence, q = model.evidence(each), np.empty((0, bags.n_labels))
    profile = partial(model.profile, q=q, evidence=evidence)
    W = climb(profile, np.zeros((bags.n_labels, X.shape[1])), _STEPS, _TOL)[0]
    if bags.n_labels == n_clusters:
        return W, each
    labels = model.posterior(W, q, evidence).argmax(axis=0)
    clusters, cluster_labels = (_joined if n_clusters < bags.n_labels else _split)(
        X[:, :-1], labels, each, n_clusters, seed
    )
    return fit_classifier(X, clusters, n_clusters, objective.lam), cluster_labels


def _joined(X: Array, labels: Array, each: Array, n_clusters: int, seed: int) -> tuple[Array, Array]:
    """Return clusters that join labels whose items have similar means; a label without items may be in any."""
    sizes = each[labels].sum(axis=0)
    means = each[labels].T @ X / np.maximum(sizes, 1)[:, None]
    kmeans = KMeans(n_clusters, n_init=10, random_state=seed).fit(means, sample_weight=np.maximum(sizes, 1e-3))
    return kmeans.labels_[labels], np.eye(n_clusters)[:, kmeans.labels_]


def _split(X: Array, labels: Array, each: Array, n_clusters: int, seed: int) -> tuple[Array, Array]:
    """Return clusters of single labels; until there are enough, one is drawn by its scatter and split in two."""
    clusters, cluster_labels, rng = labels.copy(), each, np.random.RandomState(seed)
    for fresh in range(len(each), n_clusters):
        halved = split(X, clusters, n_clusters, fresh, rng)
        cluster_labels = np.vstack([cluster_labels, cluster_labels[halved]])
    return clusters, cluster_labels
