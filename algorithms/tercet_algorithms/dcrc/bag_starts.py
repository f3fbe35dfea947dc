"""Where a fit with bag labels begins: at a model that has one cluster for every label, brought to K clusters.

With a cluster for each label nothing is ambiguous but which of its bag's labels an item has, and from weights of zero
the climb finds that by itself. Where K is another number, the labels whose items are alike share a cluster, or the
clusters whose items differ are split. That also settles, for all starts of a fit, which labels go with which cluster:
bounds under different settlements do not compare, as it is cheap to be right about a cluster that has most labels.
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
    """Return weights W (K, D + 1), and which labels (K, C) go with each cluster."""
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
    """Return clusters of labels whose items have similar means; a label without items may be in any."""
    sizes = each[labels].sum(axis=0)
    means = each[labels].T @ X / np.maximum(sizes, 1)[:, None]
    kmeans = KMeans(n_clusters, n_init=10, random_state=seed).fit(means, sample_weight=np.maximum(sizes, 1e-3))
    return kmeans.labels_[labels], np.eye(n_clusters)[:, kmeans.labels_]


def _split(X: Array, labels: Array, each: Array, n_clusters: int, seed: int) -> tuple[Array, Array]:
    """Return clusters of single labels, one of those with much scatter halved until there are enough."""
    clusters, cluster_labels, rng = labels.copy(), each, np.random.RandomState(seed)
    for fresh in range(len(each), n_clusters):
        halved = split(X, clusters, n_clusters, fresh, rng)
        cluster_labels = np.vstack([cluster_labels, cluster_labels[halved]])
    return clusters, cluster_labels
