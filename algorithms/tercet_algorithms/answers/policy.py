"""Chooses questions from a pool, and their order.

In turns it takes the most informative question and a question about an item that was seldom asked about; all are about
different items as long as possible. Informative ones alone would repeat the mistakes of a fit: if it is sure of a wrong
cluster, it never asks about the item again. Of the informative ones no cluster gets more than `_PARTS` equal parts of
all questions, so that answers which come together do not repeat one another. This holds for every beginning of a batch,
since it is unknown how many of its questions are asked before the next fit.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tercet_algorithms.answers.exemplars import between_exemplars
from tercet_algorithms.answers.patterns import Array, Kind, expected_information
from tercet_algorithms.answers.pool import canonical, draw_pool, without_repeats

# Most informative questions that a cluster may have, in multiples of its equal part of all questions so far.
_PARTS = 2
# Number of items, those seldom asked about, that questions are made for.
_SELDOM = 1_000


class Ranking(NamedTuple):
    """Questions in the order in which to ask them; the first item of each is the one that it is about."""

    triplets: Array  # (n, 3)
    information: Array  # (n,), in nats


def most_informative(posterior: Array, table: Array, pool: Array) -> Ranking:
    """Return the questions of a pool in descending order of their expected information."""
    information = expected_information(posterior, pool, table)
    order = np.argsort(-information, kind="stable")
    return Ranking(pool[order], information[order])


def least_asked(ranking: Ranking, times_asked: Array) -> Ranking:
    """Return the questions of a ranking, those about items seldom asked about first; ties keep their order."""
    order = np.argsort(times_asked[ranking.triplets[:, 0]], kind="stable")
    return Ranking(ranking.triplets[order], ranking.information[order])


def rankings(
    posterior: Array, table: Array, times_asked: Array, X: Array | None, about: Array, examples: Array, rng: Generator
) -> tuple[Ranking, Ranking]:
    """Return the rankings that questions are taken from: the most informative ones, and those about seldom asked items.

    All are about items in `about`; `examples` (K, m) are the exemplars of the clusters.
    """
    informative = most_informative(posterior, table, draw_pool(posterior, examples, X, about, rng))
    seldom = about[np.lexsort((posterior[about].max(axis=1), times_asked[about]))][:_SELDOM]
    between = without_repeats(between_exemplars(seldom, posterior, examples, rng))
    return informative, least_asked(most_informative(posterior, table, between), times_asked)


class Batch:
    """Questions that are chosen one by one, none twice."""

    def __init__(self, posterior: Array, kind: Kind, n: int, asked: Array, pending: Array) -> None:
        """Begin a batch of n questions of a kind.

        Triplets that were asked or are pending are not asked again, in any order of their items, and no question is
        about an item that a pending one is about.
        """
        self.kind, self.n = kind, n
        self.labels, self.n_clusters = posterior.argmax(axis=1), posterior.shape[1]
        self.used = set(map(tuple, canonical(np.concatenate([asked, pending]), kind).tolist()))
        self.items = set((pending if kind == "outlier" else pending[:, 0]).ravel().tolist())
        self.chosen: list[tuple[int, ...]] = []
        self.information: list[float] = []

    def by_turns(self, informative: Ranking, seldom: Ranking) -> None:
        """Take questions from two rankings in turns until there are n: one about each item, then a second one."""
        before = -1
        while before < len(self.chosen) < self.n:
            before = len(self.chosen)
            self._once_about_each(self._take_evenly(informative), self._take(seldom))
            self.items.clear()

    def _once_about_each(self, *turns: Iterator[None]) -> None:
        before = -1
        while before < len(self.chosen):
            before = len(self.chosen)
            for turn in turns:
                next(turn, None)

    def fill(self, ranking: Ranking) -> None:
        """Fill the batch from a ranking, even with several questions about one item."""
        for row in range(len(ranking.triplets)):
            if len(self.chosen) == self.n:
                return
            self._add(ranking, row)

    def _take(self, ranking: Ranking) -> Iterator[None]:
        """Add one question about another item at each step until the batch is full."""
        for row in range(len(ranking.triplets)):
            if len(self.chosen) == self.n:
                return
            if self._add_about_another(ranking, row):
                yield

    def _take_evenly(self, ranking: Ranking) -> Iterator[None]:
        """Add one question about another item at each step, the first one whose cluster has less than its part.

        A step adds none where no cluster with questions left has less; its part grows with the questions added by
        others.
        """
        clusters, item_of = self.labels[ranking.triplets[:, 0]], ranking.triplets[:, 0].tolist()
        rows_of = [np.flatnonzero(clusters == cluster).tolist()[::-1] for cluster in range(self.n_clusters)]
        taken = [0] * self.n_clusters
        while len(self.chosen) < self.n and any(rows_of):
            for rows in rows_of:  # what is about an item that has a question by now could not be added
                while rows and item_of[rows[-1]] in self.items:
                    rows.pop()
            part = -(-_PARTS * (len(self.chosen) + 1) // self.n_clusters)
            open_clusters = [cluster for cluster, rows in enumerate(rows_of) if rows and taken[cluster] < part]
            if not open_clusters:
                yield
                continue
            cluster = min(open_clusters, key=lambda cluster: rows_of[cluster][-1])
            if self._add_about_another(ranking, rows_of[cluster].pop()):
                taken[cluster] += 1
                yield

    def _add_about_another(self, ranking: Ranking, row: int) -> bool:
        """Add a question unless it was used or another is about the same item; return whether it was added."""
        item = int(ranking.triplets[row, 0])
        if item in self.items or not self._add(ranking, row):
            return False
        self.items.add(item)
        return True

    def _add(self, ranking: Ranking, row: int) -> bool:
        """Add a question unless it was used; return whether it was added."""
        triplet = tuple(canonical(ranking.triplets[row : row + 1], self.kind)[0].tolist())
        if triplet in self.used:
            return False
        self.used.add(triplet)
        self.chosen.append(triplet)
        self.information.append(float(ranking.information[row]))
        return True
