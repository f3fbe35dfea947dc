"""Q and its relatives against the paper's formulas written out: entries, sums over all pairs of bags, edits."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from tercet_algorithms.answers.bag_labels import read_bags
from tercet_algorithms.bags.constraints import bag_factors, clique_columns, edit_graph, mu
from tercet_algorithms.bags.methods import BETA, METHODS, SimilarityRecipe, relative_alpha
from tests.tercet_algorithms.bags.data import affinity, dense_parts, links, random_bags

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_mu_is_the_mean_over_all_pairs_of_bags(seed):
    bags = random_bags(seed)
    _, Y, _ = dense_parts(bags)
    assert mu(bags) == pytest.approx((Y.T @ Y).mean())


@pytest.mark.parametrize("seed", SEEDS)
def test_products_with_q_are_those_with_the_matrix_of_equation_12(seed):
    bags = random_bags(seed)
    B, Y, _ = dense_parts(bags)
    M = Y.shape[1]
    gram, m = Y.T @ Y, np.sum(Y.T @ Y) / M**2
    V = np.random.default_rng(seed).normal(size=(25, 3))
    for center, inner in (("identity", gram - m * np.eye(M)), ("ones", gram - m * np.ones((M, M)))):
        Q = bag_factors(bags, center)
        expected = B @ inner @ B.T
        assert np.allclose(Q.toarray(), expected)
        assert np.allclose(Q @ V, expected @ V)
        assert np.allclose(Q @ V[:, 0], expected @ V[:, 0])


@pytest.mark.parametrize("seed", SEEDS)
def test_centred_by_ones_it_is_the_sum_over_all_pairs_of_pairs_of_bags(seed):
    """Equation 9, term by term; with the printed identity it is not."""
    bags = random_bags(seed, n_bags=5, n_items=12)
    B, Y, _ = dense_parts(bags)
    rng = np.random.default_rng(seed)
    Z, d = np.linalg.qr(rng.normal(size=(12, 3)))[0], rng.uniform(1, 2, size=12)
    R = Z / np.sqrt(d)[:, None]
    of_labels, of_clusters = Y.T @ Y, (R.T @ B).T @ (R.T @ B)
    pairs = list(product(range(5), repeat=2))
    total = sum(
        (of_labels[i, j] - of_labels[r, s]) * (of_clusters[i, j] - of_clusters[r, s])
        for (i, j), (r, s) in product(pairs, pairs)
    ) / (2 * 5**2)
    exact, printed = (float(np.trace(R.T @ (bag_factors(bags, center) @ R))) for center in ("ones", "identity"))
    assert exact == pytest.approx(total)
    assert printed != pytest.approx(total, rel=1e-3)


def test_entries_are_those_of_table_1():
    labels = [[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]]
    bags = read_bags([0, 0, 1, 2, 2, 3, 4], labels, n_items=7)
    Q, m = bag_factors(bags).toarray(), mu(bags)
    assert Q[0, 1] == pytest.approx(1 - m)  # one single-label bag: must-link
    assert Q[0, 2] == pytest.approx(1)  # two of one label: must-link
    assert Q[0, 5] == 0  # nothing shared: cannot-link
    assert Q[3, 4] == pytest.approx(1 / 2 - m)  # one bag of two labels
    assert Q[0, 3] == pytest.approx(1 / 2)  # something shared
    assert Q[3, 6] == pytest.approx(1 / 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_links_their_entries_are_zero_and_the_others_what_they_were(seed):
    bags = random_bags(seed)
    must, cannot = links(bags)
    assert must.any()
    assert cannot.any()
    full, without_links = bag_factors(bags).toarray(), bag_factors(bags, links=False).toarray()
    assert np.allclose(without_links, np.where(must | cannot, 0, full))


def test_one_bag_and_unlabelled_bags_say_nothing():
    single = read_bags([0] * 6, [[1, 1, 0]], n_items=6)
    for center in ("identity", "ones"):
        Q = bag_factors(single, center)
        assert np.allclose(Q.toarray(), 0)
        assert relative_alpha(Q, 0.9) == 0
    for silent in (read_bags([0, 0, 1], [[0, 0], [0, 0]], n_items=3), read_bags(None, None, n_items=3)):
        assert np.array_equal(bag_factors(silent).toarray(), np.zeros((3, 3)))
        assert relative_alpha(bag_factors(silent), 0.5) == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("must", [True, False])
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_edits_are_those_of_every_pair(seed, must, form):
    bags, W = random_bags(seed), affinity(seed)
    linked, apart = links(bags)
    edited, ones = edit_graph(form(W), bags, must=must)
    expected = np.where(apart, 0, W)
    if must:
        expected = np.where(linked, 1, expected)
    assert np.allclose(edited + ones.toarray(), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", [np.array, csr_array])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_its_formula(seed, form, name):
    bags, W = random_bags(seed), affinity(seed)
    must, cannot = links(bags)
    alpha, Q = 0.6, bag_factors(bags).toarray()
    cut = np.where(cannot, 0, W)
    tied = np.where(must, 1, cut)
    penalty = np.diag(must.sum(axis=1)) - must
    expected = {
        "bag": symmetric(W + alpha * Q, W.sum(axis=1)),
        "bag-without-links": symmetric(W + alpha * np.where(must | cannot, 0, Q), W.sum(axis=1)),
        "spectral": symmetric(W, W.sum(axis=1)),
        "links": symmetric(tied, tied.sum(axis=1)),
        "links-additive": additive(tied),
        "cannot-link": symmetric(cut, cut.sum(axis=1)),
        "regularized": symmetric(W - BETA * penalty, W.sum(axis=1)),
        "both": symmetric(cut + alpha * Q, cut.sum(axis=1)),
    }
    S, used = SimilarityRecipe(METHODS[name], alpha, "absolute", "identity").similarity(form(W), bags, 4)
    assert np.allclose(S.toarray(), expected[name])
    assert used == (alpha if METHODS[name].rewards else 0)
    V = np.random.default_rng(seed).normal(size=(25, 2))
    assert np.allclose(S @ V, expected[name] @ V)


def symmetric(A, d):
    return A / np.sqrt(np.outer(d, d))


def additive(A):
    d = A.sum(axis=1)
    return (A + np.diag(d.max() - d)) / d.max()


def test_more_clusters_than_labels_leave_no_must_link():
    bags, W = random_bags(0), affinity(0)
    few, many = (
        {
            name: SimilarityRecipe(METHODS[name], 0.6, "absolute", "identity").similarity(W.copy(), bags, K)[0]
            for name in METHODS
        }
        for K in (4, 5)
    )
    for name in METHODS:
        same = np.allclose(few[name].toarray(), many[name].toarray())
        assert same == (name not in ("links", "links-additive", "regularized")), name
    assert np.allclose(many["links"].toarray(), few["cannot-link"].toarray())
    assert np.allclose(many["regularized"].toarray(), few["spectral"].toarray())


@pytest.mark.parametrize("n_items", [25, 150])
def test_relative_alpha_sets_the_largest_eigenvalue_of_the_constraints(n_items):
    bags = random_bags(1, n_items=n_items)
    W = csr_array(affinity(1, n_items))
    for alpha in (0.2, 0.7, 0.9):
        S, used = SimilarityRecipe(METHODS["bag"], alpha, "relative", "identity").similarity(W, bags, 4)
        assert np.linalg.eigvalsh(S.factors.toarray())[-1] == pytest.approx(alpha / (1 - alpha), rel=1e-4)
        plain = SimilarityRecipe(METHODS["bag"], used, "absolute", "identity").similarity(W, bags, 4)[0]
        assert np.allclose(plain.toarray(), S.toarray())


def test_the_largest_eigenvalue_of_next_to_nothing():
    """One labelled bag among many that are not: a reward of rank one, and mu's small losses."""
    bags = read_bags(np.arange(300) // 3, {4: ["x"]}, n_items=300)
    Q = bag_factors(bags)
    assert relative_alpha(Q, 0.5) == pytest.approx(1 / np.linalg.eigvalsh(Q.toarray())[-1])
    silent = read_bags(np.arange(300) // 3, {}, n_items=300)
    single = read_bags([0] * 300, [[1, 1, 0]], n_items=300)
    assert [relative_alpha(bag_factors(bags), 0.5) for bags in (silent, single)] == [0, 0]


def test_an_item_cut_off_from_all_others_has_no_large_eigenvalue():
    W = np.eye(6)
    W[1:, 1:] = 1
    S, _ = SimilarityRecipe(METHODS["spectral"], 0, "absolute", "identity").similarity(W, random_bags(0), 2)
    values = np.linalg.eigvalsh(S.toarray())
    assert np.allclose(values[-2:], [0.5, 1])


def test_cliques_hold_the_items_of_single_label_bags():
    bags = read_bags(["a", "b", "a", "c", None], {"a": ["x"], "b": ["x", "y"], "c": ["y"]}, n_items=5)
    assert np.array_equal(clique_columns(bags).toarray(), [[1, 0], [0, 0], [1, 0], [0, 1], [0, 0]])
