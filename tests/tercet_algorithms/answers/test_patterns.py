"""Pattern and answer probabilities against enumeration of all cluster assignments."""

from itertools import product

import numpy as np
import pytest

from tercet_algorithms.answers.patterns import (
    ANSWERS,
    answer_probabilities,
    answer_table,
    expected_information,
    pair_log_odds,
    pattern_probabilities,
    patterns_of,
    right_answers,
)

TRIPLETS = np.array([[0, 1, 2], [3, 0, 4], [2, 4, 1]])


def posteriors(n_clusters, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_clusters), size=5)


def enumerated_patterns(P, triplet):
    chances = np.zeros(5)
    for clusters in product(range(P.shape[1]), repeat=3):
        chance = np.prod([P[item, cluster] for item, cluster in zip(triplet, clusters, strict=True)])
        chances[patterns_of(np.array(clusters), np.array([[0, 1, 2]]))[0]] += chance
    return chances


def test_patterns_of_hard_labels():
    labels = np.array([0, 0, 0, 1, 2])
    triplets = np.array([[0, 1, 2], [3, 0, 1], [0, 3, 1], [0, 1, 3], [0, 3, 4]])
    assert patterns_of(labels, triplets).tolist() == [0, 1, 2, 3, 4]


def test_tables_follow_the_paper():
    relative = answer_table("relative", 0.1)
    assert np.allclose(relative[3], [0.9, 0.05, 0.05])  # anchor and left alike: yes
    assert np.allclose(relative[2], [0.05, 0.9, 0.05])  # anchor and right alike: no
    assert np.allclose(relative[[0, 1, 4]], [0.05, 0.05, 0.9])
    outlier = answer_table("outlier", 0.3)
    assert np.allclose(outlier[1:4, :3].diagonal(), 0.7)
    assert np.allclose(outlier[[0, 4], 3], 0.7)
    assert np.allclose(outlier.sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_people_say_dont_know_more_often_than_they_mix_items_up(kind):
    table = answer_table(kind, "people")
    wrong = np.delete(table[1:4], 0, axis=1) if kind == "outlier" else table[2:4]
    assert np.allclose(table.sum(axis=1), 1)
    assert (table.argmax(axis=1) == right_answers(kind)).all()
    assert (wrong[:, :-1].min(axis=1) < wrong[:, -1]).all()
    assert (table.min(axis=1) == 0.04).all()


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_log_odds_of_pairs_equal_enumeration(n_clusters):
    table = answer_table("relative", "people")
    odds = pair_log_odds(table.T, n_clusters)
    chances = np.zeros((3, 2, 3))  # answer, whether the pair is in one cluster, pair
    for clusters in product(range(n_clusters), repeat=3):
        pattern = patterns_of(np.array(clusters), np.array([[0, 1, 2]]))[0]
        for place, (a, b) in enumerate([(1, 2), (0, 2), (0, 1)]):
            chances[:, int(clusters[a] == clusters[b]), place] += table[pattern]
    alike, apart = n_clusters**2, n_clusters**2 * (n_clusters - 1)  # so many assignments
    assert np.allclose(odds, np.log(chances[:, 1] / alike) - np.log(chances[:, 0] / apart))


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_pattern_probabilities_equal_enumeration(n_clusters):
    P = posteriors(n_clusters)
    expected = [enumerated_patterns(P, triplet) for triplet in TRIPLETS]
    assert np.allclose(pattern_probabilities(P, TRIPLETS), expected, atol=1e-12)


@pytest.mark.parametrize("n_clusters", range(2, 11))
@pytest.mark.parametrize("kind", ANSWERS)
def test_information_of_a_sure_answer_under_even_posteriors(n_clusters, kind):
    """Eq 3 for the relative question; for both, the entropy of the answer, which the pattern decides."""
    K = n_clusters
    even = np.full((5, K), 1 / K)
    chances = np.bincount(right_answers(kind), weights=pattern_probabilities(even, TRIPLETS)[0])
    entropy = -sum(chance * np.log(chance) for chance in chances if chance > 0)
    result = expected_information(even, TRIPLETS, answer_table(kind, 0))
    assert np.allclose(result, entropy)
    if kind == "relative":
        dnk = 1 - 2 * (K - 1) / K**2
        eq_3 = 2 * np.log(K) - (1 - dnk) * np.log(K - 1) - dnk * np.log(K**2 - 2 * (K - 1))
        assert np.allclose(result, eq_3)


def test_information_of_a_noisy_answer_equals_the_definition():
    P, table = posteriors(4), answer_table("relative", 0.2)
    joint = pattern_probabilities(P, TRIPLETS)[:, :, None] * table
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=2, keepdims=True)
    expected = (joint * np.log(joint / independent)).sum(axis=(1, 2))
    assert np.allclose(expected_information(P, TRIPLETS, table), expected)


def test_answer_probabilities_sum_to_one_and_are_even_for_an_empty_table():
    P = posteriors(3).astype(np.float32)
    result = answer_probabilities(P, TRIPLETS, answer_table("relative", 2 / 3))
    assert result.dtype == np.float32
    assert np.allclose(result, 1 / 3, atol=1e-6)


def test_many_triplets_are_cut_into_chunks_without_a_seam():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(3), size=40)
    triplets = np.array([rng.choice(40, 3, replace=False) for _ in range(20)])
    many = np.tile(triplets, (1000, 1))
    assert np.array_equal(pattern_probabilities(P, many), np.tile(pattern_probabilities(P, triplets), (1000, 1)))
