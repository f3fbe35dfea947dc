"""Clusters found without answers, as columns that the first answers are read beside.

A dozen answers, some of them wrong, cannot tell good clusters from bad ones, and a model that follows them is often
worse than K-means, which reads none. So for a fit to few answers the clusters of K-means and of spectral clustering are
further columns. Weights are penalised, and where a column is large a small weight says much: the scores lean towards
these clusters, as under a Gaussian prior. They lean less with every answer.
"""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.graph import GraphMap, graph_map

# The columns are so large without answers, and half as large after so many answers for each cluster.
_SIZE, _HALF_AFTER = 8.0, 5
# Clusterings whose sizes have a smaller entropy, relative to that of equal sizes, have found outliers and no clusters.
_LOPSIDED = 0.65


class PriorMap(GraphMap):
    """Columns of standardised rows, and beside them the share of their neighbours in each of the prior clusters."""


def prior_map(Z: Array, n_clusters: int, n_answers: int) -> PriorMap | None:
    """Return the map over the standardised rows Z (n, D); None where no clustering is one of more than outliers."""
    size = _SIZE / (1 + n_answers / (_HALF_AFTER * n_clusters))
    coordinates = (Z, graph_map(Z, n_clusters - 1).vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there may be fewer different rows than clusters
        clusterings = [KMeans(n_clusters, n_init=10, random_state=0).fit(rows).labels_ for rows in coordinates]
    columns = [size * np.eye(n_clusters)[labels] for labels in clusterings if _evenness(labels) > _LOPSIDED]
    return PriorMap(Z, np.column_stack(columns)) if columns else None


def _evenness(labels: Array) -> float:
    """Return the entropy of the clusters' sizes, relative to that of equal sizes."""
    sizes = np.bincount(labels)
    shares = sizes[sizes > 0] / len(labels)
    return float(-(shares * np.log(shares)).sum() / np.log(max(len(sizes), 2)))
