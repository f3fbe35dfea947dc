"""How sure posteriors are made: against enumeration, and where the right temperature is known."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from tercet_algorithms.answers.patterns import KINDS, Array, Kind, answer_table, patterns_of
from tercet_algorithms.answers.temperature import TEMPERATURES, log_likelihoods, temperature_of, tempered


def random_posterior(n_items: int, n_clusters: int, seed: int) -> Array:
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.7), size=n_items)


def test_log_odds_are_divided_and_the_likeliest_cluster_stays() -> None:
    P = random_posterior(40, 5, seed=0)
    for temperature in (0.5, 1.0, 3.0):
        cooled = tempered(P, temperature)
        np.testing.assert_allclose(cooled.sum(axis=1), 1)
        np.testing.assert_array_equal(cooled.argmax(axis=1), P.argmax(axis=1))
        odds, before = (np.log(rows[:, 1:] / rows[:, :1]) for rows in (cooled, P))
        np.testing.assert_allclose(odds, before / temperature)
        np.testing.assert_allclose(tempered(cooled, 1 / temperature), P)


def test_single_precision_and_impossible_clusters() -> None:
    """A cluster of probability 0 stays as improbable as the smallest number, and comes back as 0 or nearly."""
    P = np.array([[1.0, 0.0, 0.0], [0.7, 0.3, 0.0]], np.float32)
    cooled = tempered(P, 4.0)
    assert cooled.dtype == np.float32
    assert np.isfinite(cooled).all()
    np.testing.assert_allclose(tempered(cooled, 0.25), P, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_is_that_of_all_labelings(kind: Kind) -> None:
    P, table = random_posterior(5, 3, seed=1), answer_table(kind, "people")
    triplets, columns, weights = np.array([[0, 1, 2], [4, 2, 3]]), np.array([1, table.shape[1] - 1]), [1.0, 0.25]
    expected = np.zeros(len(TEMPERATURES))
    for number, temperature in enumerate(TEMPERATURES):
        believed = P ** (1 / temperature) / (P ** (1 / temperature)).sum(axis=1, keepdims=True)
        for triplet, column, weight in zip(triplets, columns, weights, strict=True):
            labelings = np.array(list(product(range(3), repeat=3)))
            chances = np.prod(believed[triplet][np.arange(3), labelings], axis=1)
            patterns = patterns_of(labelings.ravel(), np.arange(labelings.size).reshape(-1, 3))
            expected[number] += weight * np.log(chances @ table[patterns, column])
    np.testing.assert_allclose(log_likelihoods(P, triplets, columns, table, np.array(weights)), expected)


@cache
def expected_answers(n_items: int, n_clusters: int, n_triplets: int) -> tuple[Array, Array, Array]:
    """A posterior, triplets, and the probability of each answer to each triplet, a row a triplet."""
    P, table = random_posterior(n_items, n_clusters, seed=2), answer_table("relative", "people")
    triplets = np.array([np.random.default_rng(seed).permutation(n_items)[:3] for seed in range(n_triplets)])
    at_one = int(np.argmin(np.abs(TEMPERATURES - 1)))
    shares = [
        [log_likelihoods(P, row[None], np.array([column]), table)[at_one] for column in range(table.shape[1])]
        for row in triplets
    ]
    return P, triplets, np.exp(shares)


@pytest.mark.parametrize("too_sure", [1.0, 2.0, 4.0])
def test_answers_as_often_as_they_are_expected_give_the_temperature_back(too_sure: float) -> None:
    """Cross entropy is least where the prediction is the distribution (Gibbs): no sampling, so no tolerance for it."""
    P, triplets, shares = expected_answers(30, 4, 200)
    n_triplets, n_answers = shares.shape
    likelihoods = log_likelihoods(
        tempered(P, 1 / too_sure),
        np.repeat(triplets, n_answers, axis=0),
        np.tile(np.arange(n_answers), n_triplets),
        answer_table("relative", "people"),
        1000 * shares.ravel(),
    )
    assert TEMPERATURES[likelihoods.argmax()] == pytest.approx(too_sure)
    assert temperature_of(likelihoods) == pytest.approx(too_sure, rel=1e-3)


def test_without_answers_the_temperature_is_that_of_the_prior_and_clusters_have_no_order() -> None:
    assert temperature_of(np.zeros(len(TEMPERATURES))) == pytest.approx(1.5, rel=0.01)
    P, table = random_posterior(9, 4, seed=3), answer_table("relative", 0.1)
    triplets, columns = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]]), np.array([0, 1, 2])
    once = log_likelihoods(P, triplets, columns, table)
    np.testing.assert_allclose(log_likelihoods(P[:, [2, 0, 3, 1]], triplets, columns, table), once)
    none = log_likelihoods(P, np.empty((0, 3), np.int64), np.empty(0, np.int64), table)
    np.testing.assert_array_equal(none, np.zeros(len(TEMPERATURES)))
