"""What clusters have to do with bag labels: which label each goes with, and what a bag says about its items.

A bag's labels are those of its items together, so an item of cluster k that has label c with probability theta_kc
is seen in a bag with labels Y with probability sum_{c in Y} theta_kc. The likelihood of this is concave in theta,
and EM finds its maximum: a label that is in many bags of a cluster's items only because it comes along with another one
gets nothing.
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
        likely = theta @ allowed.T  # (K, M) how likely an item's cluster makes its bag
        ratio = np.divide(weights, likely, out=np.zeros_like(likely), where=likely > 0)
        before, theta = theta, _rows_to_one(theta * (ratio @ allowed))
        if np.abs(theta - before).max(initial=0.0) < _TOL:
            break
    return theta


def bag_prior(bags: Any, bag_labels: Any, cluster_label_affinity: Array, weights: Any = None) -> Array:
    """Return P(cluster of an item | labels of its bag), shape (N, K), without regard to its features.

    Parameters
    ----------
    bags, bag_labels :
        As in `BagSpectralClustering.fit`; the labels must be those that `cluster_label_affinity` has columns for.
    cluster_label_affinity : (K, C)
        P(label | cluster), as `BagSpectralClustering` learns it.
    weights : (K,) or None
        Sizes of the clusters; all alike where None. Items without labelled bag get them as they are.

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
    silent = likely.sum(axis=1) == 0
    likely[silent] = sizes
    return _rows_to_one(likely)


def _rows_to_one(table: Array) -> Array:
    """Return the rows divided by their sums; a row of zeros stays as it is."""
    sums = table.sum(axis=1, keepdims=True)
    rows: Array = table / np.where(sums > 0, sums, 1)
    return rows
