"""Starts made from answers: Ward's method where there are none, and what answers change."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import pair_log_odds
from tercet_algorithms.answers.reading import read_constraints
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.answer_starts import NO_PAIRS, PairOdds, _merged, start_from_answers

ALL = slice(None)


def stripes(n_items=240, seed=0):
    """Two features with four groups each; people see only those of the second, whose differences are the smaller."""
    rng = np.random.default_rng(seed)
    columns, classes = rng.integers(4, size=(2, n_items))
    X = np.column_stack([3 * columns, 2 * classes]) + rng.normal(scale=0.2, size=(n_items, 2))
    return X, classes


def right_pairs(y, n_answers, seed=1):
    triplets = random_triplets(len(y), n_answers, np.random.default_rng(seed))
    constraints = read_constraints(triplets, true_answers(y, triplets), n_items=len(y))
    return PairOdds(constraints.triplets, pair_log_odds(constraints.likelihoods(0.05), 4))


def test_without_answers_groups_merge_as_in_wards_method():
    points = np.random.default_rng(0).normal(size=(60, 3))
    clusters, loss = _merged(points, np.ones(60), np.zeros((60, 60)), 5)
    tree = linkage(points, "ward")
    assert adjusted_rand_score(fcluster(tree, 5, "maxclust"), clusters) == 1
    assert loss == pytest.approx(np.square(tree[:55, 2]).sum() / 2), "a distance of Ward's is the root of two losses"


def test_the_sizes_of_groups_count_as_so_many_points():
    rng = np.random.default_rng(1)
    points, sizes = rng.normal(size=(12, 2)), rng.integers(1, 5, size=12)
    clusters, _ = _merged(points, sizes.astype(float), np.zeros((12, 12)), 3)
    repeated = fcluster(linkage(np.repeat(points, sizes, axis=0), "ward"), 3, "maxclust")
    assert adjusted_rand_score(repeated, np.repeat(clusters, sizes)) == 1


def test_odds_of_merged_groups_add_up():
    """Groups on a line: 0 and 1 are alike and near, and what is said against 2 with 0 holds for 1 too."""
    points, odds = np.array([[0.0], [0.1], [1.0], [9.0]]), np.zeros((4, 4))
    odds[0, 2] = odds[2, 0] = -1000.0
    clusters, _ = _merged(points, np.ones(4), odds, 2)
    assert clusters.tolist() == [0, 0, 1, 1]


def test_answers_bring_out_what_features_hide():
    X, y = stripes()
    plain, led = (
        np.mean([adjusted_rand_score(y, start_from_answers(X, ALL, pairs, 4, 1.0, seed)) for seed in range(5)])
        for pairs in (NO_PAIRS, right_pairs(y, 400))
    )
    assert plain < 0.6
    assert led > 0.8


def test_answers_about_items_that_a_start_does_not_see_count_too():
    X, y = stripes()
    rows = np.arange(0, 240, 2)
    unseen = right_pairs(y[1::2], 400)
    pairs = PairOdds(2 * unseen.triplets + 1, unseen.log_odds)
    assert adjusted_rand_score(y[rows], start_from_answers(X, rows, pairs, 4, 1.0, 0)) > 0.6


@pytest.mark.parametrize(("n_items", "n_clusters"), [(3, 3), (7, 3), (5, 1)])
def test_a_few_items_have_all_their_clusters(n_items, n_clusters):
    X = np.random.default_rng(0).normal(size=(n_items, 2))
    assert len(set(start_from_answers(X, ALL, NO_PAIRS, n_clusters, 0.3, 0).tolist())) == n_clusters


def test_equal_items_are_one_group():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    labels = start_from_answers(X, ALL, NO_PAIRS, 3, 0.3, 0)
    assert labels.tolist() == [labels[0]] * 20 + [labels[20]] * 20


def test_links_lead_a_start_as_answers_do():
    X, y = stripes()
    pairs = np.array([[a, b] for a, b in np.random.default_rng(0).integers(240, size=(400, 2)) if a != b])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    model = DCRC(4, n_init=3, n_moves=0, random_state=0).fit(X, must_link=pairs[same], cannot_link=pairs[~same])
    assert adjusted_rand_score(y, model.labels_) > 0.9
