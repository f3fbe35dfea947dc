"""Linked items against every way to cluster them, and k-means with links against what it lowers."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.metrics.pairwise import euclidean_distances

from tercet_algorithms.common.linked_kmeans import assign, centers_of, linked_kmeans, scaled_links, value_of
from tercet_algorithms.common.links import ItemLinks, lower_bound, mean_field, memberships, most_probable, read_start

N, K = 5, 3
MUST, CANNOT = np.array([[0, 1], [1, 2]]), np.array([[0, 3]])
LINKS = ItemLinks.of_pairs(MUST, CANNOT, np.array([0.8, 1.5]), np.array([1.1]), N)
SCORES = np.random.RandomState(3).normal(scale=1.5, size=(N, K))


def log_probability(clusters: tuple[int, ...], scores: np.ndarray = SCORES) -> float:
    """The logarithm of prod_i exp s_i(c_i) prod_ij exp(a_ij [c_i = c_j]), link by link."""
    total = sum(scores[item, cluster] for item, cluster in enumerate(clusters))
    total += sum(w * (clusters[i] == clusters[j]) for (i, j), w in zip(MUST, (0.8, 1.5), strict=True))
    return float(total - 1.1 * (clusters[0] == clusters[3]))


def test_groups_hold_every_linked_item_once_and_no_two_that_are_linked() -> None:
    items = np.concatenate(LINKS.groups)
    assert sorted(items.tolist()) == [0, 1, 2, 3]
    for group in LINKS.groups:
        assert LINKS.strengths[group][:, group].nnz == 0


def test_mean_field_is_a_fixed_point_and_a_lower_bound_that_only_rises() -> None:
    q = mean_field(SCORES, LINKS)
    np.testing.assert_allclose(q, softmax(SCORES + LINKS.strengths @ q, axis=1), atol=1e-8)
    evidence = logsumexp([log_probability(clusters) for clusters in product(range(K), repeat=N)])
    value = lower_bound(SCORES, LINKS, q)
    assert value <= evidence
    assert value > evidence - 0.5, "links as weak as these leave items nearly independent"
    worse = [softmax(SCORES + noise, axis=1) for noise in np.random.RandomState(0).normal(size=(20, N, K))]
    assert all(lower_bound(SCORES, LINKS, each) < value for each in worse)
    climbed = [lower_bound(SCORES, LINKS, mean_field(SCORES, LINKS, each)) for each in worse]
    assert all(after >= lower_bound(SCORES, LINKS, each) - 1e-9 for after, each in zip(climbed, worse, strict=True))


def test_without_links_or_with_links_of_no_weight_items_are_independent() -> None:
    no_weight = ItemLinks.of_pairs(MUST, CANNOT, np.zeros(2), np.zeros(1), N)
    assert no_weight.groups == ()
    np.testing.assert_array_equal(mean_field(SCORES, no_weight), mean_field(SCORES, no_weight, np.eye(K)[[0] * N]))
    np.testing.assert_allclose(mean_field(SCORES, no_weight), softmax(SCORES, axis=1), atol=1e-15)
    assert lower_bound(SCORES, no_weight, softmax(SCORES, axis=1)) == pytest.approx(logsumexp(SCORES, axis=1).sum())


@pytest.mark.parametrize("seed", range(5))
def test_the_most_probable_clusters_cannot_be_bettered_by_one_item_and_are_often_the_best_of_all(seed: int) -> None:
    scores = np.random.RandomState(seed).normal(scale=1.5, size=(N, K))
    everything = {clusters: log_probability(clusters, scores) for clusters in product(range(K), repeat=N)}
    labels = most_probable(scores, LINKS)
    reached = everything[tuple(labels.tolist())]
    for item, cluster in product(range(N), range(K)):
        other = labels.copy()
        other[item] = cluster
        assert everything[tuple(other.tolist())] <= reached + 1e-12
    best = max(everything, key=lambda clusters: everything[clusters])
    assert tuple(most_probable(scores, LINKS, np.array(best)).tolist()) == best, "what is best stays"


def test_kmeans_with_links_lowers_its_cost_and_keeps_pairs_that_features_tell_apart() -> None:
    rng = np.random.RandomState(0)
    Y = np.repeat([[0.0, 0.0], [6.0, 0.0]], 30, axis=0) + rng.normal(size=(60, 2))
    must = np.array([[item, 30 + item] for item in range(5)])
    links = scaled_links(ItemLinks.of_pairs(must, np.empty((0, 2), int), np.full(5, 5.0), np.empty(0), 60), Y)
    start = np.repeat([0, 1], 30)
    start[:5] = 1
    values = []
    labels, centers = start, centers_of(Y, start, 2)
    for _ in range(10):
        labels = assign(Y, centers, links, labels)
        values.append(value_of(Y, centers, links, labels))
        centers = centers_of(Y, labels, 2)
        values.append(value_of(Y, centers, links, labels))
    assert np.all(np.diff(values) <= 1e-9)
    fit = linked_kmeans(Y, centers_of(Y, start, 2), links, start)
    assert fit.converged
    assert fit.labels.tolist() == start.tolist(), "linked items stay where they were put, and all others where they are"
    distances = euclidean_distances(Y, fit.centers, squared=True)
    assert np.all(distances[:5, 0] < distances[:5, 1]), "although by their features they are elsewhere"
    assert fit.value == pytest.approx(value_of(Y, fit.centers, links, fit.labels))


def test_a_cluster_without_items_has_the_mean_of_all() -> None:
    Y = np.array([[0.0], [2.0]])
    np.testing.assert_array_equal(centers_of(Y, np.array([0, 0]), 2), [[1.0], [1.0]])
    np.testing.assert_array_equal(memberships(np.array([1, 0]), 2), [[0, 1], [1, 0]])


@pytest.mark.parametrize("start", [[0, 1], [0.0, 1.0, 2.0], [0, 1, 3], [-1, 0, 1]])
def test_what_is_no_start_is_refused(start: list[float]) -> None:
    with pytest.raises(ValueError, match="start must be"):
        read_start(start, 3, 3)
