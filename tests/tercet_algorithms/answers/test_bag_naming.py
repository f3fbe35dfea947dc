"""Which labels clusters get and what a bag says about its items, against optimisers and against the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tercet_algorithms import bag_prior
from tercet_algorithms.answers.bag_labels import read_bags
from tercet_algorithms.answers.bag_naming import label_affinity
from tests.tercet_algorithms.bags.data import bagged, random_bags


def likelihood(theta, posterior, bags):
    """Log likelihood of the bags' labels, item by item, each weighed with its posterior."""
    table, total = bags.labels.toarray(), 0.0
    for item, bag in enumerate(bags.bag_of_item):
        if bag >= 0 and table[bag].any():
            total += float(posterior[item] @ np.log(np.maximum(theta @ table[bag], 1e-300)))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_affinity_is_the_most_likely_one(seed):
    bags = random_bags(seed, n_bags=12, n_items=60, n_classes=3)
    posterior = np.random.default_rng(seed).dirichlet(np.ones(2), size=60)
    theta = label_affinity(posterior, bags)
    assert np.allclose(theta.sum(axis=1), 1)

    def cost(free):
        weights = np.exp(free.reshape(2, 3))
        return -likelihood(weights / weights.sum(axis=1, keepdims=True), posterior, bags)

    best = -minimize(cost, np.zeros(6), tol=1e-10).fun
    assert likelihood(theta, posterior, bags) == pytest.approx(best, abs=1e-3)


def test_a_label_that_only_comes_along_goes_with_nothing():
    """Every bag of cluster 0 has wind in it, which cluster 1 is."""
    labels = {0: ["wren", "wind"], 1: ["wren", "wind"], 2: ["wren"], 3: ["wind"], 4: ["wind"]}
    bags = [0, 0, 0, 1, 1, 2, 3, 3, 4]
    clusters = np.array([0, 0, 1, 0, 1, 0, 1, 1, 1])
    read = read_bags(bags, labels, n_items=9)
    assert np.allclose(label_affinity(np.eye(2)[clusters], read), [[0, 1], [1, 0]], atol=1e-3)
    assert read.names == ("wind", "wren")


def test_clusters_of_the_classes_are_named_after_them():
    _, y, bags, labels = bagged()
    theta = label_affinity(np.eye(4)[y], read_bags(bags, labels, n_items=len(y)))
    assert np.array_equal(theta.argmax(axis=1), np.arange(4))
    assert theta.max(axis=1).min() > 0.9


def test_a_cluster_without_labelled_bag_goes_with_nothing():
    read = read_bags([0, 0, 1, 1], [[1, 0], [0, 0]], n_items=4)
    assert np.array_equal(label_affinity(np.eye(2)[[0, 0, 1, 1]], read), [[1, 0], [0, 0]])
    assert label_affinity(np.eye(2)[[0, 1]], read_bags(None, None, n_items=2)).shape == (2, 0)


def test_the_prior_is_what_the_labels_allow():
    theta = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    bag_arguments = {"bags": ["a", "b", "c", None], "bag_labels": {"a": ["x"], "b": ["y", "z"], "c": []}}
    prior = bag_prior(**bag_arguments, cluster_label_affinity=theta)
    assert np.allclose(prior, [[2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3], [1 / 3] * 3, [1 / 3] * 3])
    weighed = bag_prior(**bag_arguments, cluster_label_affinity=theta, weights=[1, 2, 1])
    assert np.allclose(weighed, [[1 / 2, 1 / 2, 0], [0, 1 / 2, 1 / 2], [1 / 4, 1 / 2, 1 / 4], [1 / 4, 1 / 2, 1 / 4]])


def test_a_label_no_cluster_has_leaves_the_sizes():
    prior = bag_prior([0], [[0, 1]], np.array([[1.0, 0], [1.0, 0]]), weights=[3, 1])
    assert np.allclose(prior, [[0.75, 0.25]])


def test_the_prior_refuses_other_labels():
    with pytest.raises(ValueError, match="2 labels, cluster_label_affinity 3"):
        bag_prior([0], [[0, 1]], np.ones((2, 3)))
