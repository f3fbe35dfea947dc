"""Turns an edit into pairs of items: which positions shall be in one cluster, and which in two.

A cluster is named by its typical items, so that an edit keeps its meaning when clusters are numbered anew. All items
of an edit are linked with the same few: links fix items where they are, and the more typical items of the cluster that
is left are fixed, the more of those like the moved ones stay behind (on the demonstration's songs half with five, a
quarter with two).
"""

from itertools import combinations

import numpy as np

from tercet.runs.results import Array, Result

LINKS = 5  # of each item with a cluster
LEAVING_LINKS = 2  # of each moved item with the cluster that it leaves

Pairs = list[tuple[int, int, bool]]  # item, other item, alike


def typical(result: Result, cluster: int, without: Array) -> Array:
    """Return the positions of the items of a cluster that are surest, but for some, the surest first."""
    members = np.setdiff1d(np.flatnonzero(result.labels == cluster), without)
    order: Array = members[np.argsort(-result.confidence[members], kind="stable")]
    return order[:LINKS]


def with_cluster(items: Array, others: Array, *, alike: bool) -> Pairs:
    """Link each item with each of a cluster's typical items."""
    return [(int(item), int(other), alike) for item in items for other in others]


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


def move(result: Result, items: Array, cluster: int) -> Pairs:
    """Link items with a cluster, and keep them apart from those that they are in."""
    pairs = with_cluster(items, typical(result, cluster, items), alike=True)
    for source in np.unique(result.labels[items]):
        if source not in (cluster, -1):
            leaving = items[result.labels[items] == source]
            pairs += with_cluster(leaving, typical(result, int(source), items)[:LEAVING_LINKS], alike=False)
    return pairs


def stay(result: Result, items: Array, *, alike: bool) -> Pairs:
    """Link items with the clusters that they are in, or keep them apart from these."""
    pairs: Pairs = []
    for cluster in np.unique(result.labels[items]):
        members = items[result.labels[items] == cluster]
        pairs += with_cluster(members, typical(result, int(cluster), items), alike=alike)
    return pairs


def merge(result: Result, cluster: int, other: int) -> Pairs:
    """Link typical items of two clusters."""
    nobody = np.empty(0, dtype=np.int64)
    return with_cluster(typical(result, other, nobody), typical(result, cluster, nobody), alike=True)


def split(result: Result, items: Array, cluster: int) -> Pairs:
    """Link items with one another, and keep them apart from the others of their cluster."""
    return together(items) + with_cluster(items, typical(result, cluster, items), alike=False)
