"""Eigenvalues and vectors found by products alone against LAPACK's of the whole matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tercet_algorithms.answers.bag_labels import read_bags
from tercet_algorithms.bags.constraints import Factors
from tercet_algorithms.bags.graph import dense_graph, neighbor_graph
from tercet_algorithms.bags.methods import METHODS, Similarity, SimilarityRecipe
from tercet_algorithms.bags.spectrum import largest, penalty_inverse
from tests.tercet_algorithms.bags.data import bagged

X, Y, BAGS, LABELS = bagged(n_bags=60)
READ = read_bags(BAGS, LABELS, n_items=len(X))


def similarity(name, *, sparse):
    W = neighbor_graph(X, 12, 7)[0] if sparse else dense_graph(X, 7)[0]
    return SimilarityRecipe(METHODS[name], 0.5, "relative", "identity").similarity(W, READ, 4)[0]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_the_largest_eigenvalues_are_lapacks(name, sparse):
    S = similarity(name, sparse=sparse)
    assert len(S) > 300  # or LAPACK itself would be used
    eigen = largest(S, 5, np.random.RandomState(0))
    values = np.linalg.eigvalsh(S.toarray())[::-1][:5]
    assert eigen.converged
    assert np.allclose(eigen.values, values, atol=1e-6)
    assert np.allclose(S @ eigen.vectors, eigen.vectors * values, atol=2e-4)
    assert np.allclose(eigen.vectors.T @ eigen.vectors, np.eye(5), atol=1e-6)


def test_few_items_and_many_clusters_take_the_whole_matrix():
    W = np.random.default_rng(0).random((30, 30))
    S = Similarity((W + W.T) / 2, Factors(csr_array((30, 0)), np.empty(0)), np.zeros(30))
    for k in (1, 29, 30):
        eigen = largest(S, k, np.random.RandomState(0))
        assert np.allclose(eigen.values, np.linalg.eigvalsh(S.toarray())[::-1][:k])
        assert eigen.vectors.shape == (30, k)


@pytest.mark.parametrize("sparse", [False, True])
def test_signs_and_vectors_are_the_same_from_any_start(sparse):
    S = similarity("bag", sparse=sparse)
    first, second = (largest(S, 4, np.random.RandomState(seed)) for seed in (0, 1))
    assert np.allclose(first.vectors, second.vectors, atol=1e-4)


def test_the_preconditioner_inverts_all_but_the_graph():
    S = similarity("regularized", sparse=True)
    dense = np.eye(len(S)) - np.diag(S.diagonal) - S.factors.toarray()
    V = np.random.default_rng(0).normal(size=(len(S), 3))
    assert np.allclose(penalty_inverse(S) @ (dense @ V), V)


@pytest.mark.parametrize("n_neighbors", [10, None])
def test_an_eigenvalue_that_comes_several_times_is_found_as_often(n_neighbors):
    """Ten groups far apart: the graph is in ten pieces, or as good as, and Lanczos alone sees some of them."""
    rng = np.random.default_rng(0)
    points = 100 * rng.normal(size=(10, 5))[np.repeat(np.arange(10), 60)] + rng.normal(size=(600, 5))
    W = dense_graph(points, 7)[0] if n_neighbors is None else neighbor_graph(points, n_neighbors, 7)[0]
    S = SimilarityRecipe(METHODS["spectral"], 0, "absolute", "identity").similarity(W, READ, 10)[0]
    eigen = largest(S, 10, np.random.RandomState(0))
    assert np.allclose(eigen.values, 1, atol=1e-5)
    groups = np.abs(eigen.vectors @ eigen.vectors.T).reshape(10, 60, 10, 60).sum(axis=(1, 3))
    assert np.allclose(groups, np.diag(np.diag(groups)), atol=1e-3)


@pytest.mark.parametrize(("k", "n_neighbors", "seeds"), [(5, None, (0, 1)), (13, 11, (2, 3)), (26, 5, (31, 32, 33))])
def test_few_different_items_have_few_different_eigenvalues(k, n_neighbors, seeds):
    """So few that Lanczos gives up on some of these graphs: there is nothing left after some steps."""
    for seed in seeds:
        points = np.random.default_rng(seed).integers(3, size=(205, 2)).astype(float)
        W = dense_graph(points, 7)[0] if n_neighbors is None else neighbor_graph(points, n_neighbors, 7)[0]
        S = SimilarityRecipe(METHODS["spectral"], 0, "absolute", "identity").similarity(W, READ, k)[0]
        eigen = largest(S, k, np.random.RandomState(seed))
        assert eigen.converged
        assert np.allclose(eigen.values, np.linalg.eigvalsh(S.toarray())[::-1][:k], atol=1e-6)
        assert np.allclose(eigen.vectors.T @ eigen.vectors, np.eye(k), atol=1e-6)


def test_a_graph_in_more_pieces_than_asked_for_ends():
    pieces = csr_array(np.kron(np.eye(150), np.ones((3, 3)) / 3))
    S = Similarity(pieces, Factors(csr_array((450, 0)), np.empty(0)), np.zeros(450))
    eigen = largest(S, 4, np.random.RandomState(0))
    assert np.allclose(eigen.values, 1)
