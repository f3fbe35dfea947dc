"""Pairs of clusters that are confused, and the items between them."""

from itertools import chain

import numpy as np

from tercet.runs.confusion import SURE, ConfusedPair, confused_pairs, items_between
from tercet.runs.results import Result


def result_of(posterior: np.ndarray) -> Result:
    return Result((posterior.argmax(axis=1) + 1).astype(np.int16), posterior.max(axis=1), posterior)


def test_pairs_come_by_how_many_of_their_items_are_probably_wrong() -> None:
    rows = [[0.5, 0.5, 0, 0]] * 2 + [[0, 0.8, 0.1, 0.1 - 1e-9]] * 3 + [[0, 0, 0.95, 0.05]] * 9 + [[0.3, 0, 0, 0.7]] * 5
    result = result_of(np.array(rows))
    assert confused_pairs(result) == [ConfusedPair(1, 4, 5), ConfusedPair(1, 2, 2), ConfusedPair(2, 3, 3)]
    assert items_between(result, 4, 1).tolist() == [14, 15, 16, 17, 18]
    assert items_between(result, 3, 4).tolist() == [], "sure"


def test_the_items_between_pairs_are_the_doubtful_items_each_once() -> None:
    posterior = np.random.default_rng(0).dirichlet(np.full(5, 0.3), 400)
    result = result_of(posterior)
    between = [items_between(result, a, b).tolist() for a in range(1, 6) for b in range(a + 1, 6)]
    assert sorted(chain.from_iterable(between)) == np.flatnonzero(posterior.max(axis=1) < SURE).tolist()
    for positions in between:
        assert np.all(np.diff(result.confidence[positions]) >= 0), "the most doubtful first"
    for pair in confused_pairs(result):
        assert pair.items == len(items_between(result, pair.first, pair.second))


def test_items_set_aside_and_single_clusters_are_between_nothing() -> None:
    result = Result(np.array([-1, 1]), np.array([0.0, 0.6]), np.array([[0, 0], [0.6, 0.4]]))
    assert confused_pairs(result) == [ConfusedPair(1, 2, 1)]
    assert items_between(result, 1, 2).tolist() == [1]
    alone = Result(np.ones(3), np.ones(3), np.ones((3, 1)))
    assert confused_pairs(alone) == []
    assert len(items_between(alone, 1, 2)) == 0
