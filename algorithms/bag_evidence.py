"""Bag labels as evidence about every single item, in the same terms as answers.

Whoever labels a recording says which species are heard in it, not where. For DCRC that is one more likelihood: each
cluster goes with some of the labels, and an item's bag carries one of its cluster's labels except with probability
epsilon. As with Table I of the paper, only which labels go with which cluster depends on the data, and nothing more
is learned: probabilities of labels, learned, let the clusters of frequent labels swallow those of rare ones.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from algorithms.bag_labels import Bags
from algorithms.patterns import Array


@dataclass(frozen=True, eq=False)
class BagEvidence:
    """The label sets that N items come with."""

    sets: Array  # (L, C) of 0 and 1, the different label sets; one without labels says nothing
    place: Array  # (N,) the set of every item
    epsilon: float  # P(a bag carries none of the labels of an item's cluster)

    @property
    def n_labels(self) -> int:
        return int(self.sets.shape[1])

    @property
    def told(self) -> Array:
        """Whether labels say something about each item, (N,)."""
        return self._said[self.place]

    def of(self, rows: Array) -> "BagEvidence":
        """The evidence about some of the items, in that order."""
        return replace(self, place=self.place[rows])

    def log_factors(self, goes: Array) -> Array:
        """log P(label set | cluster), (K, L), where clusters go with the labels `goes` (K, C); 0 of empty sets."""
        meet = np.minimum(goes @ self.sets.T, 1)
        logs: Array = meet * np.log1p(-self.epsilon) + (1 - meet) * np.log(self.epsilon)
        return logs * self._said

    def match(self, posterior: Array) -> Array:
        """Which labels go with which cluster of a posterior (K, N): 0 and 1, (K, C).

        Every label gets a cluster and every cluster a label, so that as many items as can be are in bags of a label
        of their cluster. With fewer clusters than labels that is found for one label a cluster; of the other labels,
        the frequent ones first, each goes where most items have no label yet.
        """
        counts = self._counts(posterior)
        gains = counts @ self.sets
        n_clusters, n_labels = gains.shape
        again = np.tile(gains.max(axis=1, keepdims=True), max(n_clusters - n_labels, 0))  # a label's second cluster
        clusters, labels = linear_sum_assignment(np.hstack([gains, again]), maximize=True)
        goes = np.zeros(gains.shape)
        goes[clusters, np.where(labels < n_labels, labels, gains.argmax(axis=1)[clusters])] = 1
        unmet = counts * (goes @ self.sets.T == 0)
        for label in np.argsort(-gains.sum(axis=0), kind="stable"):
            if not goes[:, label].any():
                cluster = np.argmax(unmet @ self.sets[:, label])
                goes[cluster, label] = 1
                unmet[cluster] *= 1 - self.sets[:, label]
        return goes

    def order(self, posterior: Array, goes: Array) -> Array:
        """The cluster of a posterior (K, N) that fits each row of `goes` (K, C), one to one."""
        values = self.log_factors(goes) @ self._counts(posterior).T
        clusters: Array = linear_sum_assignment(values, maximize=True)[1]
        return clusters

    def _counts(self, posterior: Array) -> Array:
        """Expected number of items of each cluster that come with each set, (K, L); empty sets count nothing."""
        counts = np.stack([np.bincount(self.place, weights, len(self.sets)) for weights in posterior])
        return counts * self._said

    @cached_property
    def _said(self) -> Array:
        """Whether each set has labels, (L,)."""
        return np.asarray(self.sets.sum(axis=1) > 0)


def are_told(bags: Bags) -> Array:
    """Whether each item is in a labelled bag, (N,)."""
    labelled: Array = np.append(bags.n_labels > 0, False)  # the last one stands for no bag, which is -1
    return labelled[bags.bag_of_item]


def evidence_of(bags: Bags, order: Array, epsilon: float) -> BagEvidence:
    """What bags say about their items in the given order; labels that no bag has are left out."""
    labels = bags.labels.toarray()
    labels = np.vstack([labels[:, labels.any(axis=0)], np.zeros(labels.any(axis=0).sum())])
    sets, place = np.unique(labels, axis=0, return_inverse=True)
    return BagEvidence(sets, place.ravel()[bags.bag_of_item[order]], epsilon)
