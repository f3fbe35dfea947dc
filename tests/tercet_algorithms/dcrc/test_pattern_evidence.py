"""Weights of answers, must-links and cannot-links: against enumeration, finite differences and what they stand for."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC, DCRCCV
from tercet_algorithms.answers.patterns import patterns_of
from tercet_algorithms.answers.reading import read_constraints, read_weighted_pairs
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tercet_algorithms.dcrc.pattern_evidence import PatternEvidence, link_table
from tests.tercet_algorithms.dcrc.data import messages
from tests.tercet_algorithms.dcrc.test_lower_bound import slope
from tests.tercet_algorithms.estimators import SMALL, X, Y, questions

EPSILON = 0.1
MUST, CANNOT = np.array([[0, 1], [2, 5]]), np.array([[1, 3], [4, 5], [0, 4]])


def evidence(n=4, seed=0, n_items=6):
    rng = np.random.default_rng(seed)
    answers = read_constraints(
        random_triplets(n_items, n, rng), rng.integers(-1, 2, n), weights=rng.uniform(0.2, 3, n), n_items=n_items
    )
    return PatternEvidence(answers, MUST, CANNOT)


def by_definition(observed, clusters):
    """log P(answers, links | clusters): each answer as often as it counts, each link right but for epsilon."""
    answers = observed.constraints
    patterns = patterns_of(clusters, answers.triplets)
    total = answers.weights @ np.log(answers.likelihoods(EPSILON)[np.arange(len(answers)), patterns])
    for pairs, together in ((observed.must_link, True), (observed.cannot_link, False)):
        agree = (clusters[pairs[:, 0]] == clusters[pairs[:, 1]]) == together
        total += np.log(np.where(agree, 1 - EPSILON, EPSILON)).sum()
    return total


def expectation(observed, q):
    """E_q[log P(answers, links | clusters)] by enumeration of all assignments of the items."""
    total = 0.0
    for clusters in product(range(q.shape[1]), repeat=len(q)):
        chance = np.prod(q[np.arange(len(q)), list(clusters)])
        total += chance * by_definition(observed, np.array(clusters))
    return total


def field_and_q(observed, seed=1, n_clusters=3):
    field = MeanField(observed.triplets, observed.log_likelihoods(EPSILON))
    assert field.items.tolist() == list(range(6)), "every item has evidence, so rows of q are items"
    return field, np.random.default_rng(seed).dirichlet(np.ones(n_clusters), size=6)


@pytest.mark.parametrize("seed", range(3))
def test_expected_log_likelihood_equals_enumeration(seed):
    observed = evidence(seed=seed)
    field, q = field_and_q(observed)
    assert np.isclose(field.expected_log_likelihood(q), expectation(observed, q), atol=1e-10)


@pytest.mark.heavy(but="0")
@pytest.mark.parametrize("seed", range(3))
def test_messages_equal_enumeration(seed):
    observed = evidence(seed=seed)
    field, q = field_and_q(observed)
    for item in range(6):
        expected = []
        for cluster in range(3):
            certain = q.copy()
            certain[item] = np.eye(3)[cluster]
            expected.append(expectation(observed, certain))
        difference = messages(field, q, item) - np.array(expected)
        assert np.allclose(difference, difference[0], atol=1e-10)


def test_a_link_is_a_table_over_the_patterns_of_its_pair_and_any_third_item():
    for clusters in product(range(3), repeat=3):
        row = link_table(EPSILON)[patterns_of(np.array(clusters), np.array([[0, 1, 2]]))[0]]
        together = clusters[0] == clusters[1]
        assert np.allclose(row, [0.9, 0.1] if together else [0.1, 0.9])


def test_gradient_equals_finite_differences():
    observed = evidence(n=3)
    field, q = field_and_q(observed)
    rng = np.random.default_rng(2)
    features = np.column_stack([rng.normal(size=(9, 2)), np.ones(9)])
    bound = LowerBound(features, field, tau=1.0, lam=0.01, balance=True, weight=0.5)
    W = rng.normal(size=(3, 3))
    fixed = q, bound.evidence()
    assert np.allclose(bound.at_fixed_q(W, *fixed)[1], slope(bound.at_fixed_q, W, *fixed), atol=1e-7)

    def settled(W):
        bound.refresh(q, bound.softmax(W), bound.evidence(), tol=1e-12)
        return bound.at_fixed_q(W, *fixed)

    assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


NOISY = random_triplets(len(Y), 40, np.random.default_rng(3))
NOISY_ANSWERS = noisy_answers(Y, NOISY, TABLE_IV, np.random.default_rng(4))


@pytest.mark.heavy(but="{}")
@pytest.mark.parametrize("parameters", [{}, {"weight": "paper"}, {"solver": "em", "tol": 1e-7}], ids=str)
def test_an_answer_of_weight_2_is_the_same_answer_of_two_labelers(parameters):
    weights = 1 + np.arange(40) % 2
    twice = np.repeat(np.arange(40), weights)
    people = np.concatenate([np.arange(weight) for weight in weights])
    # From one optimum to the other: two searches may part by a rounding, and end at different ones.
    model = DCRC(
        3, candidates="features", random_state=0, warm_start=True, **{**SMALL, "n_init": 1, "n_moves": 0}, **parameters
    )
    model.fit(X, triplets=NOISY, answers=NOISY_ANSWERS, weights=weights)
    bound, posterior = model.lower_bound_, model.posterior_
    model.fit(X, triplets=NOISY[twice], answers=NOISY_ANSWERS[twice], labelers=people)
    assert np.isclose(bound, model.lower_bound_, atol=2e-3)
    assert np.allclose(posterior, model.posterior_, atol=2e-2)
    once = model.fit(X, triplets=NOISY, answers=NOISY_ANSWERS)
    assert not np.allclose(posterior, once.posterior_, atol=2e-2), "weights matter"


@pytest.mark.parametrize(
    "model",
    [
        DCRC(3, random_state=0, **SMALL),
        DCRC(3, random_state=0, labeler_tables="learn", **SMALL),
        DCRCCV(3, tau=(0.5, 1.0), lam=2**-8, epsilon=0.05, cv=2, n_init=1, n_moves=0, random_state=0),
    ],
    ids=["DCRC", "tables", "DCRCCV"],
)
def test_an_answer_of_weight_0_is_left_out(model):
    some = np.arange(40) % 3 > 0
    weights = np.where(some, 1.5, 0)
    people = np.arange(40) % 2
    model.fit(X, triplets=NOISY, answers=NOISY_ANSWERS, weights=weights, labelers=people)
    labels, posterior = model.labels_, model.posterior_
    model.fit(X, triplets=NOISY[some], answers=NOISY_ANSWERS[some], weights=weights[some], labelers=people[some])
    assert np.array_equal(labels, model.labels_)
    assert np.array_equal(posterior, model.posterior_)


def test_links_alone_show_what_features_do_not():
    assert adjusted_rand_score(Y, DCRC(3, random_state=0, **SMALL).fit(X).labels_) < 0.5
    pairs = random_triplets(len(Y), 120, np.random.default_rng(5))[:, :2]
    together = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    for epsilon in (0.05, 0):
        model = DCRC(3, random_state=0, epsilon=epsilon, n_init=6, n_moves=4)
        model.fit(X, must_link=pairs[together], cannot_link=pairs[~together])
        assert adjusted_rand_score(Y, model.labels_) == 1
    assert np.array_equal(model.constrained_, np.unique(pairs))


def test_many_must_links_join_two_items_and_cannot_links_part_them():
    observed = questions(Y, 30)
    first, second = (np.flatnonzero(cluster == Y)[:8] for cluster in (0, 1))
    pairs = np.column_stack([first, second])
    apart, joined = (
        DCRC(3, random_state=0, **SMALL).fit(X, **observed, **{name: pairs}).posterior_
        for name in ("cannot_link", "must_link")
    )
    chance = [float(np.mean(np.sum(P[first] * P[second], axis=1))) for P in (apart, joined)]
    assert chance[0] < 0.05
    assert chance[1] > chance[0] + 0.3


def test_learned_tables_and_links_go_together():
    observed = {"triplets": NOISY, "answers": NOISY_ANSWERS, "labelers": np.arange(40) % 2}
    model = DCRC(3, random_state=0, labeler_tables="learn", **SMALL).fit(
        X, **observed, must_link=MUST, cannot_link=CANNOT
    )
    assert set(model.labeler_tables_) == {0, 1}
    alone = DCRC(3, random_state=0, labeler_tables="learn", **SMALL).fit(X, must_link=MUST, cannot_link=CANNOT)
    assert not hasattr(alone, "labeler_tables_")


def test_bad_links_are_named():
    with pytest.raises(ValueError, match=r"must_link row 0 is \[0, 60\]: expected positions from 0 to 59"):
        DCRC(3).fit(X, must_link=[[0, 60]])
    with pytest.raises(ValueError, match=r"need epsilon below 1/2, got 0.6"):
        DCRC(3, epsilon=0.6).fit(X, cannot_link=[[0, 1]])


def test_a_link_of_weight_two_counts_as_two():
    observed = evidence()
    doubled = replace(observed, link_weights=np.full(5, 2.0))
    one, two = (links.log_likelihoods(EPSILON)[-5:] for links in (observed, doubled))
    assert np.allclose(two, 2 * one)
    assert np.allclose(doubled.pair_log_odds(EPSILON, 3)[-5:], 2 * observed.pair_log_odds(EPSILON, 3)[-5:])
    assert doubled.n_mentions == observed.n_mentions + 2 * 5


def test_weights_of_links_are_checked_and_a_repeated_pair_has_the_largest():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"must_weights row 0 is -1"):
        DCRC(2).fit(X, must_link=[[0, 1]], must_weights=[-1])
    with pytest.raises(ValueError, match="cannot_weights must have one number for each of the 1 pairs"):
        DCRC(2).fit(X, cannot_link=[[0, 1]], cannot_weights=[1, 2])
    pairs, weights = read_weighted_pairs("must_link", [[1, 0], [2, 3], [0, 1]], [1, 2, 5], 4)
    assert pairs.tolist() == [[0, 1], [2, 3]]
    assert weights.tolist() == [5, 2]
