"""Which questions of a pool are asked, and in which order.

By turns, a question is the one that is expected to tell most, of an item that none before is about, and one about an
item that was asked about least. The first alone would repeat a fit's mistakes: a fit that is sure of a wrong cluster
never asks about it again. No cluster takes much more than its part of the first, so that questions whose answers come
together do not say one thing many times. That holds from the first question on: how many of a queue are asked before
the next fit, nobody knows.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from tercet_algorithms.answers.exemplars import between_exemplars, exemplars
from tercet_algorithms.answers.patterns import Array, Kind, expected_information
from tercet_algorithms.answers.pool import canonical, draw_pool, without_repeats

# How many times its even part of all questions so far a cluster may take, of those that tell most.
_PARTS = 2
# So many of the items that were asked about least are looked at.
_SELDOM = 1_000


class Ranking(NamedTuple):
    """Questions, the first to be asked first, the item that each is about in front."""

    triplets: Array  # (n, 3)
    information: Array  # (n,), in nats


def most_telling(posterior: Array, table: Array, pool: Array) -> Ranking:
    """Return the questions of a pool by what they are expected to tell."""
    information = expected_information(posterior, pool, table)
    order = np.argsort(-information, kind="stable")
    return Ranking(pool[order], information[order])


def least_asked(ranking: Ranking, times_asked: Array) -> Ranking:
    """Return the questions of a ranking by how seldom their items were asked about, else in their order."""
    order = np.argsort(times_asked[ranking.triplets[:, 0]], kind="stable")
    return Ranking(ranking.triplets[order], ranking.information[order])


def rankings(
    posterior: Array, table: Array, times_asked: Array, X: Array | None, about: Array, rng: Generator
) -> tuple[Ranking, Ranking]:
    """Return the two rankings that questions are taken from: the most telling ones, and those of items seldom asked.

    They are about the items `about` alone.
    """
    examples = exemplars(posterior, times_asked)
    telling = most_telling(posterior, table, draw_pool(posterior, examples, X, about, rng))
    seldom = about[np.lexsort((posterior[about].max(axis=1), times_asked[about]))][:_SELDOM]
    between = without_repeats(between_exemplars(seldom, posterior, examples, rng))
    return telling, least_asked(most_telling(posterior, table, between), times_asked)


class Batch:
    """Questions that are chosen one by one, none twice."""

    def __init__(self, posterior: Array, kind: Kind, n: int, asked: Array, pending: Array) -> None:
        """Begin a batch of n questions of a kind.

        What was asked or is pending is not asked again, in any order of its items, and items that pending questions
        are about are left alone.
        """
        self.kind, self.n = kind, n
        self.labels, self.n_clusters = posterior.argmax(axis=1), posterior.shape[1]
        self.used = set(map(tuple, canonical(np.concatenate([asked, pending]), kind).tolist()))
        self.items = set((pending if kind == "outlier" else pending[:, 0]).ravel().tolist())
        self.chosen: list[tuple[int, ...]] = []
        self.information: list[float] = []

    def by_turns(self, telling: Ranking, seldom: Ranking) -> None:
        """Take questions from two rankings by turns while there are some: one about each item, then another one."""
        before = -1
        while before < len(self.chosen) < self.n:
            before = len(self.chosen)
            self._once_about_each(self._take_evenly(telling), self._take(seldom))
            self.items.clear()

    def _once_about_each(self, *turns: Iterator[None]) -> None:
        before = -1
        while before < len(self.chosen):
            before = len(self.chosen)
            for turn in turns:
                next(turn, None)

    def fill(self, ranking: Ranking) -> None:
        """Take what is still wanted from a ranking, however often an item comes."""
        for row in range(len(ranking.triplets)):
            if len(self.chosen) == self.n:
                return
            self._add(ranking, row)

    def _take(self, ranking: Ranking) -> Iterator[None]:
        """Add a question about another item at each step until all are there."""
        for row in range(len(ranking.triplets)):
            if len(self.chosen) == self.n:
                return
            if self._add_about_another(ranking, row):
                yield

    def _take_evenly(self, ranking: Ranking) -> Iterator[None]:
        """Add a question about another item at each step, the first one whose cluster has not had more than its part.

        A step adds none where every cluster that has questions has had its part, which grows with other questions.
        """
        clusters = self.labels[ranking.triplets[:, 0]]
        rows_of = [np.flatnonzero(clusters == cluster).tolist()[::-1] for cluster in range(self.n_clusters)]
        taken = [0] * self.n_clusters
        while len(self.chosen) < self.n and any(rows_of):
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
        """Add a question unless it was used or is about an item that others are about; return whether it was added."""
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
