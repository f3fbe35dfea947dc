"""Items that are put where others are which stand for a cluster: against enumeration, and what they leave alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tercet_algorithms import DCRC, DCRCCV
from tercet_algorithms.answers.reading import NO_PLACEMENTS, Placements, read_constraints, read_placements
from tercet_algorithms.dcrc import sampling
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tercet_algorithms.dcrc.pattern_evidence import PatternEvidence
from tests.tercet_algorithms.dcrc.test_lower_bound import slope

EPSILON = 0.1
# Items 0 and 1 are where 2 is; 0 is where 3 is and not where 4 is.
PAIRS, WEIGHTS = np.array([[0, 2], [1, 2], [0, 3], [0, 4]]), np.array([1.0, 2.0, 1.0, -1.0])
NO_PAIRS = np.empty((0, 2), np.int64)


def evidence() -> PatternEvidence:
    nothing = read_constraints(None, None, n_items=5)
    return PatternEvidence(nothing, NO_PAIRS, NO_PAIRS, placements=Placements(PAIRS, WEIGHTS))


def bound_of(observed: PatternEvidence, n_items: int = 9) -> tuple[LowerBound, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    logs = observed.log_likelihoods(EPSILON)
    field = MeanField(observed.triplets, logs, stand_in_counts=np.abs(observed.placements.weights))
    features = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    bound = LowerBound(features, field, tau=1.0, lam=0.01, balance=True, weight=0.5)
    W = rng.normal(size=(3, 3))
    return bound, W, bound.first_posteriors(W, bound.evidence())


def posterior_by_enumeration(p: np.ndarray, item: int) -> np.ndarray:
    """P(y of an item | its links), where each counted link has a copy of its other item, of cluster p(y | x)."""
    copies = [
        (other, weight > 0)
        for (first, other), weight in zip(PAIRS.tolist(), WEIGHTS.tolist(), strict=True)
        if first == item
        for _ in range(int(abs(weight)))
    ]
    chances = np.zeros(3)
    for cluster, *clusters in product(range(3), repeat=1 + len(copies)):
        chance = p[item, cluster]
        for (other, is_alike), of_copy in zip(copies, clusters, strict=True):
            chance *= p[other, of_copy] * (1 - EPSILON if (of_copy == cluster) == is_alike else EPSILON)
        chances[cluster] += chance
    return chances / chances.sum()


def test_each_link_has_a_copy_of_what_stands_for_the_cluster() -> None:
    bound, W, q = bound_of(evidence())
    softmax = bound.softmax(W)
    p = softmax.P[:, : bound.n_constrained].T.copy()
    bound.refresh(q, softmax, bound.evidence(), tol=1e-12)
    for item in (0, 1):
        assert np.allclose(q[item], posterior_by_enumeration(p, item), atol=1e-12)
    assert np.allclose(q[2:], p[2:], atol=1e-12), "nothing is said of those that stand for clusters"


def test_gradient_equals_finite_differences() -> None:
    answered = read_constraints([[0, 5, 6], [2, 3, 7]], ["yes", "dnk"], n_items=9)
    for observed in (evidence(), replace(evidence(), constraints=answered, must_link=np.array([[1, 3]]))):
        bound, W, q = bound_of(observed)
        assert np.allclose(
            bound.at_fixed_q(W, q, bound.evidence())[1], slope(bound.at_fixed_q, W, q, bound.evidence()), atol=1e-7
        )

        def settled(W: np.ndarray, bound: LowerBound = bound, q: np.ndarray = q) -> tuple[float, np.ndarray]:
            bound.refresh(q, bound.softmax(W), bound.evidence(), tol=1e-12)
            return bound.at_fixed_q(W, q, bound.evidence())

        assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


def test_those_that_stand_for_a_cluster_are_not_drawn_to_the_many_that_are_put_there() -> None:
    """Twelve items of one cluster are put where the same four of another are; all were in theirs for sure."""
    pairs = np.array([[item, 12 + other] for item in range(12) for other in range(4)])
    linked = replace(evidence(), must_link=pairs, placements=NO_PLACEMENTS)
    placed = replace(evidence(), placements=Placements(pairs, np.ones(len(pairs))))
    p = np.repeat([[1 - 1e-6, 1e-6], [1e-6, 1 - 1e-6]], [12, 4], axis=0)
    remaining = []
    for observed in (linked, placed):
        counts = np.abs(observed.placements.weights)
        field = MeanField(observed.triplets, observed.log_likelihoods(EPSILON), stand_in_counts=counts)
        log_p = np.log(p)
        if field.stand_ins is not None:
            field.stand_ins.add_factors(log_p, p.T)
        q = p.copy()
        field.settle(q, log_p, 1e-12, 100)
        remaining.append(int((q[12:].argmax(axis=1) == 1).sum()))
    assert remaining == [0, 4]


def test_cross_validation_passes_them_on_to_every_fit() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2)) + 4 * (np.arange(30) % 2)[:, None]
    search = DCRCCV(2, tau=1.0, lam=2**-8, epsilon=0.05, n_init=1, n_moves=0, random_state=0)
    search.fit(X, stand_ins=[[0, 1], [0, 3], [0, 5]])
    assert search.best_estimator_.constrained_.tolist() == [0, 1, 3, 5]


def test_a_sample_takes_its_share_of_them() -> None:
    answers = read_constraints([[0, 5, 6], [2, 3, 7]] * 2, ["yes", "dnk", "no", "no"], n_items=9)
    observed = replace(evidence(), constraints=answers)
    bound, _, _ = bound_of(observed)
    links = []
    for seed in range(8):
        small = sampling.sample(bound, observed.log_likelihoods(EPSILON), 0.5, np.random.RandomState(seed))
        assert small.field is not None
        counts = small.field.stand_in_counts
        links.append(len(counts))
        if small.field.stand_ins is not None:
            rows, columns = small.field.stand_ins.counts.nonzero()
            items, others = small.field.items[rows], small.field.items[small.field.stand_ins.others[columns]]
            places = [PAIRS.tolist().index(list(pair)) for pair in zip(items, others, strict=True)]
            assert sorted(counts) == sorted(np.abs(WEIGHTS[places]))
    assert min(links) < max(links) <= 4


def test_they_count_as_links_in_starts_and_weights() -> None:
    observed = evidence()
    linked = replace(observed, must_link=PAIRS[:3], cannot_link=PAIRS[3:], placements=NO_PLACEMENTS)
    linked = replace(linked, link_weights=np.abs(WEIGHTS))
    assert len(observed) == len(linked) == 4
    assert observed.n_mentions == linked.n_mentions == 2 * 5
    assert np.array_equal(observed.triplets, linked.triplets)
    assert np.allclose(observed.pair_log_odds(EPSILON, 3), linked.pair_log_odds(EPSILON, 3))


def test_what_is_wrong_with_them_is_named() -> None:
    for pairs, weights, message in (
        ([[0, 9]], None, r"stand_ins row 0 is \[0, 9\]: expected positions from 0 to 4"),
        ([[1, 1]], None, r"stand_ins row 0 is \[1, 1\]: expected two different items"),
        ([[0, 1]], [1, 2], "stand_in_weights must be 1 finite numbers"),
        ([[0, 1]], [np.nan], "stand_in_weights must be 1 finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            read_placements(pairs, weights, 5)
    pairs, weights = read_placements([[3, 1], [0, 1]], [0, -2], 5)
    assert (pairs.tolist(), weights.tolist()) == ([[0, 1]], [-2]), "the first is the one that is placed"
    with pytest.raises(ValueError, match="need epsilon below 1/2"):
        DCRC(2, epsilon=0.6).fit(np.eye(4), stand_ins=[[0, 1]])
