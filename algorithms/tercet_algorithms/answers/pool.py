"""Makes the questions that a policy chooses from: about single items, about splits and merges of clusters, random ones.

In every triplet of a pool the item that the question is about comes first.
"""

import numpy as np
from numpy.random import Generator

from tercet_algorithms.answers.exemplars import between_exemplars, one_of
from tercet_algorithms.answers.patterns import Array, Kind
from tercet_algorithms.answers.simulated_labelers import random_triplets

# Numbers of random triplets, of items compared with exemplars, of questions whether a cluster should be split, and of
# nearest clusters that a cluster might be merged with.
_RANDOM = 2_000
_ITEMS = 4_000
_SPLITS = 20
_NEAREST = 3
# Most members of a cluster that are compared for the farthest two.
_MEMBERS = 200


def draw_pool(posterior: Array, examples: Array, X: Array | None, about: Array, rng: Generator) -> Array:
    """Return triplets (n, 3) of three different items; some may occur twice.

    `examples` (K, m) are the exemplars of the clusters, `X` (N, D) the features of the items or None, and `about` the
    items that questions may be about.
    """
    n_items, n_clusters = posterior.shape
    doubtful = about[np.argsort(posterior[about].max(axis=1), kind="stable")][:_ITEMS]
    parts = [between_exemplars(doubtful, posterior, examples, rng)]
    if n_clusters > 1:
        nearest = _nearest_clusters(posterior)
        parts += [_splits(posterior, examples, nearest, X, rng), _merges(examples, nearest, rng)]
    pool = np.concatenate([*parts, random_questions(n_items, _RANDOM, about, rng)])
    return without_repeats(pool[np.isin(pool[:, 0], about)])


def random_questions(n_items: int, n: int, about: Array, rng: Generator) -> Array:
    """Return n different random triplets about items in `about`; all such triplets where there are no more than n."""
    available = len(about) * (n_items - 1) * (n_items - 2) // 2
    if 2 * n >= available:
        return rng.permutation(_all_triplets(n_items, about))[:n]
    if len(about) == n_items:
        return random_triplets(n_items, n, rng)
    triplets = np.empty((0, 3), dtype=np.int64)
    while len(triplets) < n:
        drawn = np.column_stack([rng.choice(about, n), *np.sort(rng.integers(n_items, size=(n, 2)), axis=1).T])
        triplets = np.unique(np.concatenate([triplets, without_repeats(drawn)]), axis=0)
    return rng.permutation(triplets)[:n]


def _all_triplets(n_items: int, about: Array) -> Array:
    left, right = np.triu_indices(n_items, k=1)
    anchors = np.repeat(about, len(left))
    return without_repeats(np.column_stack([anchors, np.tile(left, len(about)), np.tile(right, len(about))]))


def without_repeats(triplets: Array) -> Array:
    """Return those of the triplets that have three different items."""
    different: Array = triplets[(triplets != np.roll(triplets, 1, axis=1)).all(axis=1)]
    return different


def canonical(triplets: Array, kind: Kind) -> Array:
    """Return triplets with left < right; all three are sorted for outlier questions, which have no anchor."""
    places = triplets.copy()
    places[:, 0 if kind == "outlier" else 1 :].sort(axis=1)
    return places


def _nearest_clusters(posterior: Array) -> Array:
    """Return the three nearest clusters of each, by how much probability they share, nearest first, (K, at most 3)."""
    shared = posterior.T @ posterior
    np.fill_diagonal(shared, -1)
    nearest: Array = np.argsort(-shared, axis=1, kind="stable")[:, : min(_NEAREST, len(shared) - 1)]
    return nearest


def _splits(posterior: Array, examples: Array, nearest: Array, X: Array | None, rng: Generator) -> Array:
    """Return questions whether two members of a cluster belong together; the third item is from a near cluster."""
    labels = posterior.argmax(axis=1)
    triplets = np.empty((0, 3), dtype=np.int64)
    for cluster, neighbours in enumerate(nearest):
        members = rng.permutation(np.flatnonzero(labels == cluster))[:_MEMBERS]
        if len(members) < 2:
            continue
        one = rng.choice(members, _SPLITS)
        other = rng.choice(members, _SPLITS) if X is None else _farthest(one, members, X)
        rest = one_of(examples, rng.choice(neighbours, _SPLITS), rng)
        triplets = np.concatenate([triplets, np.column_stack([one, other, rest])])
    return triplets


def _farthest(items: Array, members: Array, X: Array) -> Array:
    """Return for each of the items the member farthest from it."""
    places = np.asarray(X[members], dtype=np.float64)
    squares = np.sum(places**2, axis=1) - 2 * np.asarray(X[items], dtype=np.float64) @ places.T
    farthest: Array = members[squares.argmax(axis=1)]
    return farthest


def _merges(examples: Array, nearest: Array, rng: Generator) -> Array:
    """Return questions whether two near clusters should be merged: an exemplar of each and of a third cluster."""
    n_clusters = len(nearest)
    clusters = np.repeat(np.arange(n_clusters), nearest.shape[1])
    triples = np.column_stack([clusters, nearest.ravel(), rng.integers(n_clusters, size=len(clusters))])
    triples = without_repeats(triples)
    return np.column_stack([one_of(examples, column, rng) for column in triples.T])
