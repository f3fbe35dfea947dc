"""Flows between two clusterings: matching against enumeration, totals, and a picture whose bands fill its bars."""

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest

from tercet.history.drawing import draw
from tercet.history.flows import flows_between, match


@pytest.mark.parametrize("seed", range(20))
def test_no_other_matching_shares_more_items(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    counts = rng.integers(0, 4, (size, size))
    matched = match(counts)
    shared = sum(counts[row - 1, column - 1] for row, column in matched.items())
    every = [sum(counts[row, order[row]] for row in range(size)) for order in permutations(range(size))]
    assert shared == max(every)
    assert len(set(matched.values())) == len(matched)


def test_equal_numbers_break_ties() -> None:
    assert match(np.array([[2, 2], [2, 2]])) == {1: 1, 2: 2}


def test_renumbered_clusters_moved_nothing() -> None:
    before = np.array([1, 1, 2, 2, 3])
    flows = flows_between(before, np.array([3, 3, 1, 1, 2]))
    assert flows.matched == {1: 3, 2: 1, 3: 2}
    assert len(flows.moved) == 0


def test_items_that_are_in_one_run_only_are_left_out() -> None:
    flows = flows_between(np.array([1, -1, 2, 2]), np.array([1, 1, -1, 1, 2, 2]))
    assert flows.items == 2
    assert flows.moved.tolist() == [3]


@pytest.mark.parametrize("seed", range(10))
def test_flows_count_every_item_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, now = rng.integers(1, 7, 200), rng.integers(1, 5, 200)
    flows = flows_between(before, now)
    assert {(flow.before, flow.now): flow.items for flow in flows.flows} == Counter(zip(before, now, strict=True))
    assert sum(flow.items for flow in flows.flows if flow.moved) == len(flows.moved)
    assert all(flows.matched.get(int(before[i])) != now[i] for i in flows.moved)


def test_bands_fill_the_bars_of_both_sides() -> None:
    rng = np.random.default_rng(3)
    drawing = draw(flows_between(rng.integers(1, 5, 300), rng.integers(1, 6, 300)))
    for bars, side in ((drawing.left, "before"), (drawing.right, "now")):
        for bar in bars:
            items = [band.flow.items for band in drawing.bands if getattr(band.flow, side) == bar.cluster]
            assert sum(items) == bar.items
        assert all(a.y + a.height < b.y for a, b in pairwise(bars))
    starts = sorted(float(band.path.split()[0].split(",")[1]) for band in drawing.bands)
    assert starts[0] == 0
    assert starts[-1] < drawing.height


def test_no_items_are_an_empty_picture() -> None:
    drawing = draw(flows_between(np.array([], dtype=int), np.array([1])))
    assert (drawing.left, drawing.bands, drawing.height) == ([], [], 0)
