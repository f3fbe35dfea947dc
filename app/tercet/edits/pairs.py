"""Turns an edit into pairs of items: which positions shall be in one cluster, and which in two.

A cluster is named by its typical items, so that an edit keeps its meaning when clusters are numbered anew. Of the
cluster that moved items leave, all are linked with the same few: links fix items where they are, and the more typical
items of it are fixed, the more of those like the moved ones stay behind (on the demonstration's songs half with five, a
quarter with two).

Links are about both of their items, so that items which stand for a cluster may be drawn to those that are moved
there, the more easily the fewer they are. So each stands in as few links as can be, in one move of many items and in
many moves of one: then several would have to go for every item that was moved.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tercet.runs.results import Array, Result

LINKS = 5  # of each item with a cluster
LEAVING_LINKS = 2  # of each moved item with the cluster that it leaves

Pairs = list[tuple[int, int, bool]]  # item, other item, alike


class EditedClusters(NamedTuple):
    """The clusters of a run, and the positions of the items that an edit is about.

    These stand for no cluster, and, where there are others, neither do those that were put elsewhere since the run:
    an item that was moved away would draw those that are moved after it back. `called_typical` are those that analysts
    say stand for their clusters, and `n_links` (N,) is in how many links of earlier edits each item stands for one.
    """

    result: Result
    chosen: Array
    edited: Array
    called_typical: Array
    n_links: Array

    def typical(self, cluster: int) -> Array:
        """Return the positions of the items that may stand for a cluster: those called typical, then the surest."""
        others = np.setdiff1d(np.flatnonzero(self.result.labels == cluster), self.chosen)
        unchanged = np.setdiff1d(others, self.edited)
        members = unchanged if len(unchanged) else others
        is_called = np.isin(members, self.called_typical)
        order: Array = members[np.lexsort((-self.result.confidence[members], ~is_called))]
        return order


def with_cluster(items: Array, others: Array, *, alike: bool) -> Pairs:
    """Link each item with each of a cluster's typical items."""
    return [(int(item), int(other), alike) for item in items for other in others]


def with_typical(clusters: EditedClusters, items: Array, cluster: int, *, alike: bool) -> Pairs:
    """Link each item with a few that stand for a cluster, each of which has as few links as can be."""
    members = clusters.typical(cluster)
    typical = members[np.argsort(clusters.n_links[members], kind="stable")][: LINKS * len(items)]
    return [
        (int(item), int(typical[(LINKS * place + step) % len(typical)]), alike)
        for place, item in enumerate(items)
        for step in range(min(LINKS, len(typical)))
    ]


def together(items: Array) -> Pairs:
    """Link each item with the next few, in a circle: all pairs of up to eleven items."""
    n = len(items)
    if n <= 2 * LINKS + 1:
        return [(int(one), int(another), True) for one, another in combinations(items, 2)]
    return [
        (int(item), int(items[(place + step) % n]), True)
        for place, item in enumerate(items)
        for step in range(1, LINKS + 1)
    ]


def apart(items: Array) -> Pairs:
    """Keep all pairs of items apart."""
    return [(int(one), int(another), False) for one, another in combinations(items, 2)]


def move(clusters: EditedClusters, items: Array, cluster: int) -> Pairs:
    """Link items with a cluster, and keep them apart from those that they are in."""
    labels = clusters.result.labels[items]
    pairs = with_typical(clusters, items, cluster, alike=True)
    for source in np.unique(labels):
        if source not in (cluster, -1):
            pairs += with_cluster(items[labels == source], clusters.typical(int(source))[:LEAVING_LINKS], alike=False)
    return pairs


def stay(clusters: EditedClusters, items: Array, *, alike: bool) -> Pairs:
    """Link items with the clusters that they are in, or keep them apart from these."""
    labels = clusters.result.labels[items]
    pairs: Pairs = []
    for cluster in np.unique(labels):
        pairs += with_typical(clusters, items[labels == cluster], int(cluster), alike=alike)
    return pairs


def merge(clusters: EditedClusters, cluster: int, other: int) -> Pairs:
    """Link typical items of two clusters."""
    return with_cluster(clusters.typical(other)[:LINKS], clusters.typical(cluster)[:LINKS], alike=True)


def split(clusters: EditedClusters, items: Array, cluster: int) -> Pairs:
    """Link items with one another, and keep them apart from the others of their cluster."""
    return together(items) + with_typical(clusters, items, cluster, alike=False)
