"""Exemplars, a few items that stand for a cluster, and questions that compare an item with those of two clusters.

Answers to such questions are more informative than answers about three random items, and the clusters of exemplars are
soon certain, because many questions contain them.
"""

from itertools import combinations

import numpy as np
from numpy.random import Generator

from tercet_algorithms.answers.patterns import Array

_EXEMPLARS = 4  # of each cluster
_LIKELIEST = 4  # clusters of an item; it is compared with exemplars of every two of them
# An item that was asked about is preferred to one whose posterior is larger by less than this.
_ASKED_PREFERRED = 0.1
_NO_ITEMS: Array = np.empty(0, dtype=np.int64)


def exemplars(posterior: Array, times_asked: Array, typical: Array = _NO_ITEMS) -> Array:
    """Return the likeliest items of each cluster, likeliest first, (K, at most 4); items asked about are preferred.

    `times_asked` (N,) is how often each item was asked about, `typical` (m,) are items that come before all others in
    their likeliest clusters. A cluster that is nobody's likeliest one has exemplars too.
    """
    preference = posterior + _ASKED_PREFERRED * (times_asked > 0)[:, None]
    preference[typical, posterior[typical].argmax(axis=1)] += 1 + _ASKED_PREFERRED
    surest: Array = np.argsort(-preference, axis=0, kind="stable")[:_EXEMPLARS].T
    return surest


def between_exemplars(items: Array, posterior: Array, examples: Array, rng: Generator) -> Array:
    """Return triplets of each item with an exemplar of each of two of its four likeliest clusters, (n, 3).

    The item comes first; the exemplar of a cluster is drawn at random. A triplet may hold an item twice, where the item
    is itself an exemplar.
    """
    likeliest = np.argsort(-posterior[items], axis=1, kind="stable")[:, :_LIKELIEST]
    triplets = np.empty((0, 3), dtype=np.int64)
    for pair in combinations(range(likeliest.shape[1]), 2):
        left, right = (one_of(examples, likeliest[:, rank], rng) for rank in pair)
        triplets = np.concatenate([triplets, np.column_stack([items, left, right])])
    return triplets


def one_of(examples: Array, clusters: Array, rng: Generator) -> Array:
    """Return an exemplar, drawn at random, of each of the clusters (n,)."""
    drawn: Array = examples[clusters, rng.integers(examples.shape[1], size=len(clusters))]
    return drawn
