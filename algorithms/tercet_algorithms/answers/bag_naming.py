"""Labels of clusters from bag labels, and the clusters that a bag's labels make likely for its items.

The labels of a bag are those of all its items. So, where an item of cluster k has label c with probability theta_kc,
the item's label is among the labels Y of its bag with probability sum_{c in Y} theta_kc. The logarithm is concave in
theta, and EM finds the maximum. There a label has share 0 in a cluster if the bags of the cluster's items have it only
beside another label that explains them.
"""

from typing import Any

import numpy as np

from tercet_algorithms.answers.bag_labels import Bags, read_bags
from tercet_algorithms.answers.patterns import Array

_STEPS = 200
_TOL = 1e-6


def label_affinity(posterior: Array, bags: Bags) -> Array:
    """Return theta (K, C), the share of each label in each cluster; zeros where no item has a labelled bag.

    `posterior` (N, K) weighs the items.
    """
    labelled = bags.n_labels > 0
    weights = (bags.members.T @ posterior)[labelled].T  # (K, M) of each cluster in each bag
    allowed = bags.labels[labelled]
    theta = _rows_to_one(weights @ allowed)
    for _ in range(_STEPS):
        likely = theta @ allowed.T  # (K, M) P(labels of the bag | cluster of an item)
        ratio = np.divide(weights, likely, out=np.zeros_like(likely), where=likely > 0)
        before, theta = theta, _rows_to_one(theta * (ratio @ allowed))
        if np.abs(theta - before).max(initial=0.0) < _TOL:
            break
    return theta


def bag_prior(bags: Any, bag_labels: Any, cluster_label_affinity: Array, weights: Any = None) -> Array:
    """Return P(cluster of an item | labels of its bag), shape (N, K); features are not used.

    Parameters
    ----------
    bags, bag_labels :
        As in `BagSpectralClustering.fit`; the labels must be those of the columns of `cluster_label_affinity`.
    cluster_label_affinity : (K, C)
        P(label | cluster), as `BagSpectralClustering` learns it.
    weights : (K,) or None
        Sizes of the clusters; equal where None. Items without a labelled bag get these as probabilities.

    Raises
    ------
    ValueError
        Where bags or labels are wrong, or there are not C labels.
    """
    theta = np.asarray(cluster_label_affinity, dtype=np.float64)
    sizes = np.ones(len(theta)) if weights is None else np.asarray(weights, dtype=np.float64)
    read = read_bags(bags, bag_labels, n_items=len(bags))
    if len(read.names) != theta.shape[1]:
        raise ValueError(f"bag_labels hold {len(read.names)} labels, cluster_label_affinity {theta.shape[1]}")
    likely = sizes * np.asarray(read.labels_of_items @ theta.T)
    unlabelled = likely.sum(axis=1) == 0
    likely[unlabelled] = sizes
    return _rows_to_one(likely)


def _rows_to_one(table: Array) -> Array:
    """Return the rows divided by their sums; a row of zeros stays as it is."""
    sums = table.sum(axis=1, keepdims=True)
    rows: Array = table / np.where(sums > 0, sums, 1)
    return rows
