"""What keeps an analyst's picture steady: cluster numbers and the map."""

import numpy as np
import pytest

from tercet_algorithms.common.layout import cluster_map
from tercet_algorithms.common.matching import match_clusters


def blobs(n_items=300, n_clusters=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_clusters
    X = rng.normal(size=(n_clusters, 6))[y] * 4 + rng.normal(size=(n_items, 6))
    P = np.full((n_items, n_clusters), 0.05 / (n_clusters - 1))
    P[np.arange(n_items), y] = 0.95
    return X, y, P


def test_a_renumbering_is_undone():
    previous = np.arange(40) % 4
    turned = np.array([2, 0, 3, 1])[previous]
    assert np.array_equal(match_clusters(previous, turned, 4)[turned], previous)


def test_numbers_stay_a_permutation_when_clusters_vanish_appear_or_share_nothing():
    numbers = match_clusters([0, 0, 5, 5], [1, 1, 0, 0], 3)
    assert sorted(numbers) == [0, 1, 2]
    assert numbers[1] == 0
    assert match_clusters([0, 0, 1, 1], [2, 2, 0, 1], 4)[2] == 0
    assert match_clusters([], [], 3).tolist() == [0, 1, 2]


def test_unknown_and_added_items_do_not_matter():
    numbers = match_clusters([-1, -1, -1, 1, 0], [0, 0, 0, 0, 1, 1, 1], 2)
    assert numbers.tolist() == [1, 0]


def test_clusters_lie_apart_and_an_undecided_item_between_its_two():
    X, y, P = blobs()
    P[0] = 0
    P[0, :2] = 0.5
    points = cluster_map(X, P)
    centres = np.stack([np.median(points[y == k], axis=0) for k in range(5)])
    nearest = np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1)
    assert np.mean(nearest == y) > 0.98
    gap = np.linalg.norm(centres[0] - centres[1])
    assert all(np.linalg.norm(points[0] - centres[k]) < 0.75 * gap for k in (0, 1))


def test_neighbours_within_a_cluster_are_near():
    X, y, P = blobs()
    points = cluster_map(X, P)
    members = y == 2
    apart = np.linalg.norm(X[members][:, None] - X[members], axis=2)
    drawn = np.linalg.norm(points[members][:, None] - points[members], axis=2)
    assert np.corrcoef(apart.ravel(), drawn.ravel())[0, 1] > 0.3


def test_same_input_same_map_and_renumbered_clusters_same_map():
    X, _, P = blobs()
    points = cluster_map(X, P)
    assert np.array_equal(points, cluster_map(X, P))
    assert np.allclose(points, cluster_map(X, P, points), atol=0.01)
    assert np.allclose(points, cluster_map(X, P[:, ::-1], points), atol=0.01)


def test_a_turned_previous_map_turns_the_next_one():
    X, _, P = blobs()
    points = cluster_map(X, P)
    turned = points @ np.array([[0, 2.0], [-2.0, 0]]) * [1, -1] + [3, 4]
    assert np.allclose(cluster_map(X, P, turned), turned, atol=0.03)


def test_small_changes_move_the_map_little_and_many_runs_do_not_shrink_it():
    X, _, P = blobs()
    rng = np.random.default_rng(1)
    first = points = cluster_map(X, P)
    for _ in range(10):
        P = P * rng.uniform(0.9, 1.1, P.shape)
        P /= P.sum(axis=1, keepdims=True)
        moved = cluster_map(X, P, points)
        assert np.median(np.linalg.norm(moved - points, axis=1)) < 0.03
        points = moved
    assert 0.9 < points.std() / first.std() < 1.1


def test_new_items_have_no_previous_place():
    X, _, P = blobs()
    previous = cluster_map(X, P)
    previous[::7] = np.nan
    assert np.isfinite(cluster_map(X, P, previous)).all()
    assert np.isfinite(cluster_map(X, P, np.full((300, 2), np.nan))).all()


@pytest.mark.parametrize("n_features", [1, 2, 100])
@pytest.mark.parametrize("n_items", [3, 80])
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_degenerate_maps_are_finite(n_features, n_items, n_clusters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_items, n_features))
    X[:, 0] = 1
    P = np.zeros((n_items, n_clusters + 1))  # the last cluster is empty
    P[np.arange(n_items), np.arange(n_items) % n_clusters] = 1
    points = cluster_map(X, P)
    assert points.shape == (n_items, 2)
    assert points.dtype == np.float32
    assert np.isfinite(points).all()
    assert np.isfinite(cluster_map(X * 0, P, points)).all()
