"""Bag labels as evidence about every single item, in the same terms as answers.

The labels of a recording say which species are heard in it, not where. For DCRC that is one more likelihood, in which
each cluster is matched to some of the labels. Two rules hold but for errors: an item's bag has a label of the item's
cluster (wrong with probability epsilon), and each label of a bag is that of the cluster of some item in the bag (wrong
with probability eta). Both probabilities are fixed, as in Table I of the paper; learned probabilities of labels let
the clusters of frequent labels swallow those of rare ones.

The second rule makes all items of a bag dependent. But P(some item is in such a cluster) is at least P(this item is),
for any item. So the likeliest item of the bag becomes the label's witness: log eta (1 - P(the witness is in a cluster
of the label)) is a lower bound on the rule's expected logarithm, and a factor of the witness alone. Choosing new
witnesses is one more step of the coordinate ascent.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from tercet_algorithms.answers.bag_labels import Bags
from tercet_algorithms.answers.patterns import Array

# eta: how often no item has one of its bag's labels, because the segment was not cut out or the label is wrong.
_NO_ITEM = 0.05


# Labels of clusters, and witnesses, where there are no bags.
NO_LABELS: Array = np.empty((0, 0))
NO_WITNESSES: Array = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LabelFactors:
    """What bag labels say about items, given which labels are matched to which cluster."""

    log_constrained: Array  # (K, n) logarithms of the factors of the constrained items
    factors: Array  # (K, m) factors r_k of all items that have evidence of any kind
    log_without_witness: float  # logarithm of the factors of all labels of all bags, if none had a witness


@dataclass(frozen=True, eq=False)
class BagEvidence:
    """The label sets of the bags of N items."""

    sets: Array  # (L, C) of 0 and 1, the different label sets; an empty set is no evidence
    place: Array  # (N,) the set of every item
    bag: Array  # (N,) the bag of every item; for items without label the number does not matter
    epsilon: float  # P(a bag has none of the labels of an item's cluster)

    @property
    def n_labels(self) -> int:
        return int(self.sets.shape[1])

    @property
    def labelled(self) -> Array:
        """Whether labels say something about each item, (N,)."""
        return self._has_labels[self.place]

    def of(self, rows: Array) -> "BagEvidence":
        """Return the evidence about some of the items, in that order.

        Not for choosing witnesses, since bags may have lost items.
        """
        return replace(self, place=self.place[rows], bag=self.bag[rows])

    def log_factors(self, cluster_labels: Array) -> Array:
        """Return log P(label set | cluster), (K, L), for clusters matched to these labels (K, C); 0 for empty sets."""
        meet = np.minimum(cluster_labels @ self.sets.T, 1)
        logs: Array = meet * np.log1p(-self.epsilon) + (1 - meet) * np.log(self.epsilon)
        return logs * self._has_labels

    def witnesses(self, posterior: Array, cluster_labels: Array) -> Array:
        """Return the witnesses (P,), label after label: the item of each bag likeliest in the label's clusters."""
        witnesses = []
        for label, items in enumerate(self._items_of_labels):
            order = np.lexsort((cluster_labels[:, label] @ posterior[:, items], self.bag[items]))
            last_of_bag = np.append(np.diff(self.bag[items[order]]) != 0, True)[: len(items)]
            witnesses.append(items[order[last_of_bag]])
        return np.concatenate(witnesses)

    def log_witness_factors(self, cluster_labels: Array) -> Array:
        """Return what the logarithms of an item's factors gain where it is a witness, (P, K)."""
        added: Array = -np.log(_NO_ITEM) * cluster_labels.T[self._labels_of_pairs]
        return added

    def factors(
        self, cluster_labels: Array, witnesses: Array, n_constrained: int, n_evident: int, dtype: Any
    ) -> LabelFactors:
        """Return the factors of the first `n_evident` items, with those of `witnesses` (P,) unless that is empty."""
        logs = self.log_factors(cluster_labels)[:, self.place[:n_evident]]
        constant = 0.0
        if len(witnesses):
            np.add.at(logs.T, witnesses, self.log_witness_factors(cluster_labels))
            constant = float(np.log(_NO_ITEM)) * len(self._labels_of_pairs)
        return LabelFactors(logs[:, :n_constrained].astype(dtype), np.exp(logs).astype(dtype), constant)

    @cached_property
    def _items_of_labels(self) -> list[Array]:
        """Positions of the items in bags of each label."""
        return [np.flatnonzero(column[self.place]) for column in self.sets.T]

    @cached_property
    def _labels_of_pairs(self) -> Array:
        """Label that each witness is for, (P,)."""
        counts = [len(np.unique(self.bag[items])) for items in self._items_of_labels]
        return np.repeat(np.arange(self.n_labels), counts)

    def match(self, posterior: Array) -> Array:
        """Return which labels are matched to which cluster of a posterior (K, N): 0 and 1, (K, C).

        Every label gets a cluster and every cluster a label, such that as many items as possible are in bags with a
        label of their cluster. With fewer clusters than labels, this holds for the first label of each cluster; each
        other label, frequent ones first, goes to the cluster where most items with it have no label yet.
        """
        counts = self._counts(posterior)
        gains = counts @ self.sets
        n_clusters, n_labels = gains.shape
        again = np.tile(gains.max(axis=1, keepdims=True), max(n_clusters - n_labels, 0))  # a label's second cluster
        clusters, labels = linear_sum_assignment(np.hstack([gains, again]), maximize=True)
        cluster_labels = np.zeros(gains.shape)
        cluster_labels[clusters, np.where(labels < n_labels, labels, gains.argmax(axis=1)[clusters])] = 1
        unmet = counts * (cluster_labels @ self.sets.T == 0)
        for label in np.argsort(-gains.sum(axis=0), kind="stable"):
            if not cluster_labels[:, label].any():
                cluster = np.argmax(unmet @ self.sets[:, label])
                cluster_labels[cluster, label] = 1
                unmet[cluster] *= 1 - self.sets[:, label]
        return cluster_labels

    def order(self, posterior: Array, cluster_labels: Array) -> Array:
        """Return the cluster of a posterior (K, N) matched to each row of `cluster_labels` (K, C), one to one."""
        values = self.log_factors(cluster_labels) @ self._counts(posterior).T
        clusters: Array = linear_sum_assignment(values, maximize=True)[1]
        return clusters

    def _counts(self, posterior: Array) -> Array:
        """Return the expected number of items of each cluster in bags with each set, (K, L); 0 for empty sets."""
        counts = np.stack([np.bincount(self.place, weights, len(self.sets)) for weights in posterior])
        return counts * self._has_labels

    @cached_property
    def _has_labels(self) -> Array:
        """Whether each set has labels, (L,)."""
        return np.asarray(self.sets.sum(axis=1) > 0)


def are_labelled(bags: Bags) -> Array:
    """Return whether each item is in a labelled bag, (N,)."""
    labelled: Array = np.append(bags.n_labels > 0, False)  # the last one stands for no bag, which is -1
    return labelled[bags.bag_of_item]


def evidence_of(bags: Bags, order: Array, epsilon: float) -> BagEvidence:
    """Return the label sets of the items in an order; labels that no bag has are left out."""
    labels = bags.labels.toarray()
    labels = np.vstack([labels[:, labels.any(axis=0)], np.zeros(labels.any(axis=0).sum())])
    sets, place = np.unique(labels, axis=0, return_inverse=True)
    bag_of_rows = bags.bag_of_item[order]
    return BagEvidence(sets, place.ravel()[bag_of_rows], bag_of_rows, epsilon)
