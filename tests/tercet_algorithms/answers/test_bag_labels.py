"""Bags and their labels in every form that people write them, graphs of items, and what is wrong with some."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tercet_algorithms.answers.bag_labels import read_bags
from tercet_algorithms.bags.graph import dense_graph, neighbor_graph, precomputed_graph

# --- bags ---


def test_names_and_tables_say_the_same():
    named = read_bags(["b", "a", "b", None, "c"], {"a": {"x", "y"}, "b": ["y"], "c": [], "d": ["z"]}, n_items=5)
    table = read_bags([0, 1, 0, np.nan, 3], [[0, 1], [1, 1], [1, 0], [0, 0]], n_items=5)
    assert named.names == ("x", "y")
    assert table.names == (0, 1)
    for bags in (named, table):
        assert np.array_equal(bags.labels.toarray(), [[0, 1], [1, 1], [0, 0]])
        assert np.array_equal(bags.bag_of_item, [0, 1, 0, -1, 2])
        assert np.array_equal(bags.n_labels, [1, 2, 0])
        assert np.array_equal(bags.members.toarray(), [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]])
        assert np.array_equal(bags.shares.toarray(), [[0, 1], [0.5, 0.5], [0, 0]])
        assert np.array_equal(bags.labels_of_items.toarray(), [[0, 1], [1, 1], [0, 1], [0, 0], [0, 0]])


def test_labels_may_be_a_string_repeated_or_of_several_kinds():
    assert read_bags(["a"], {"a": "thrush"}, n_items=1).names == ("thrush",)
    mixed = read_bags(["a", ("b", 2)], {"a": ["x", 3, "x"], ("b", 2): np.array([3])}, n_items=2)
    assert mixed.names == (3, "x")
    assert np.array_equal(mixed.labels.toarray(), [[1, 1], [1, 0]])


def test_bags_without_labels_and_nothing_at_all():
    assert read_bags(["a", "a"], None, n_items=2).labels.shape == (1, 0)
    nothing = read_bags(None, None, n_items=3)
    assert nothing.members.shape == (3, 0)
    assert np.array_equal(nothing.bag_of_item, [-1, -1, -1])


@pytest.mark.parametrize(
    ("bags", "bag_labels", "words"),
    [
        (None, {"a": ["x"]}, "without bags"),
        (["a"], None, "bags has 1 rows, X has 3"),
        (["a", ["b"], "c"], {}, r"bags row 1 is \['b'\]"),
        (["a", "b", "c"], {"b": 7}, "bag 'b' is 7"),
        (["a", "b", "c"], {"b": [["x"]]}, "bag 'b' is .*: expected hashable"),
        ([0, 1, 2], [[1, 0], [0, 1]], "bags row 2 is 2: expected a row of bag_labels, 0 to 1"),
        ([0, "one", 1], [[1, 0], [0, 1]], "bags row 1 is 'one'"),
        ([0, 0.5, 1], [[1, 0], [0, 1]], "bags row 1 is 0.5"),
        ([0, 1, -1], [[1, 0], [0, 1]], "bags row 2 is -1"),
        ([0, 1, 1], [[1, 0], [0, 2]], "bag_labels row 1, column 1 is 2: expected 0 or 1"),
        ([0, 1, 1], [1, 0], r"shape \(bags, labels\), got shape \(2,\)"),
    ],
)
def test_what_is_wrong_is_named(bags, bag_labels, words):
    with pytest.raises(ValueError, match=words):
        read_bags(bags, bag_labels, n_items=3)


# --- graphs ---


def test_the_graph_of_all_pairs_is_local_scaling():
    X = np.random.default_rng(0).normal(size=(30, 3))
    W, sigma = dense_graph(X, 7)
    d = np.linalg.norm(X[:, None] - X, axis=2)
    assert np.allclose(sigma, np.sort(d, axis=1)[:, 7])
    assert np.allclose(W, np.exp(-(d**2) / (2 * np.outer(sigma, sigma))))


def test_neighbours_keep_the_entries_of_all_pairs():
    X = np.random.default_rng(1).normal(size=(40, 3))
    dense, sigma = dense_graph(X, 5)
    everybody, same = neighbor_graph(X, 39, 5)
    assert np.allclose(everybody.toarray(), dense)
    assert np.allclose(sigma, same)
    d = np.linalg.norm(X[:, None] - X, axis=2)
    near = d <= np.sort(d, axis=1)[:, [4]]
    few = neighbor_graph(X, 4, 5)[0].toarray()
    assert np.allclose(few, np.where(near | near.T, dense, 0))


@pytest.mark.parametrize("n_neighbors", [None, 12])
def test_duplicates_are_alike_and_keep_their_ties_to_others(n_neighbors):
    rng = np.random.default_rng(2)
    X = np.concatenate([np.repeat(1e3 + rng.normal(size=(1, 3)), 10, axis=0), 1e3 + rng.normal(size=(20, 3))])
    W, sigma = dense_graph(X, 5) if n_neighbors is None else neighbor_graph(X, n_neighbors, 5)
    W = W if n_neighbors is None else W.toarray()
    assert np.all(W[:10, :10] == 1)
    assert np.all(W[:10, 10:].max(axis=1) > 0.05)
    nearest = np.linalg.norm(X[10:] - X[0], axis=1).min()
    assert np.allclose(sigma[:10], nearest)


def test_items_that_are_all_the_same_are_all_alike():
    assert np.all(dense_graph(np.ones((12, 2)), 7)[0] == 1)
    assert neighbor_graph(np.ones((12, 2)), 3, 7)[0].max() == 1


def test_a_given_graph_is_copied_and_checked():
    W = np.array([[1, 0.5], [0.5, 1]])
    for form in (np.array, csr_array):
        read = precomputed_graph(form(W))
        read *= 2
        assert W[0, 0] == 1
    for wrong, words in (
        (np.ones((2, 3)), "square"),
        (np.array([[1, -0.5], [-0.5, 1]]), "row 0, column 1, expected at least 0"),
        (np.zeros((2, 2)), "positive entries"),
        (np.array([[1, 0.5], [0.4, 1]]), "row 0, column 1 differs"),
        (np.array([[1, np.nan], [np.nan, 1]]), "finite"),
    ):
        for form in (np.array, csr_array):
            with pytest.raises(ValueError, match=words):
                precomputed_graph(form(wrong))
