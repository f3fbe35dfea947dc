"""Bag labels as a likelihood: bound and gradient, witnesses, and which labels go with which cluster."""

from itertools import product

import numpy as np
import pytest

from tercet_algorithms.answers.bag_labels import read_bags
from tercet_algorithms.answers.patterns import patterns_of
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.answers.simulated_labelers import random_triplets
from tercet_algorithms.dcrc import sampling
from tercet_algorithms.dcrc.bag_evidence import _NO_ITEM, BagEvidence, are_labelled, evidence_of
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tests.tercet_algorithms.dcrc.test_lower_bound import slope

EPSILON = 0.1


def evidence(n_items, n_labels=3, seed=0, last_silent=0):
    """Bags of about three items with any labels; the last items are in bags without labels."""
    rng = np.random.default_rng(seed)
    sets = np.vstack([np.array(list(product([0, 1], repeat=n_labels)))[1:], np.zeros(n_labels)]).astype(float)
    bag = rng.integers(1 + n_items // 3, size=n_items)
    place = rng.integers(len(sets) - 1, size=n_items)[bag]
    place[n_items - last_silent :] = len(sets) - 1
    bag[n_items - last_silent :] = n_items
    return BagEvidence(sets, place, bag, EPSILON)


def problem(n=6, n_items=14, seed=0, last_silent=3, witnesses=True, **terms):
    """A bound with answered items, items with bag labels alone and items with nothing."""
    rng = np.random.default_rng(seed)
    triplets = random_triplets(max(n_items - 6, 3), n, rng)
    constraints = Constraints(triplets, rng.integers(3, size=n), np.zeros(n, dtype=int))
    field = MeanField(triplets, np.log(constraints.likelihoods(0.1)))
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    order = np.concatenate([field.items, np.setdiff1d(np.arange(n_items), field.items)])
    bags = evidence(n_items, seed=seed, last_silent=last_silent).of(order)
    bound = LowerBound(X, field, **{"tau": 1.0, "lam": 0.01, "balance": True, "weight": 0.3, **terms}, bags=bags)
    W, without = rng.normal(size=(3, 3)), bound.evidence(np.eye(3))
    q = bound.first_posteriors(W, without)
    if not witnesses:
        return bound, W, q, without, []
    called = bags.witnesses(bound.posterior(W, q, without), np.eye(3))
    return bound, W, q, bound.evidence(np.eye(3), called), called


def labels_of(bags, item):
    return set(np.flatnonzero(bags.sets[bags.place[item]]))


def pairs_of(bags):
    """Every label of every bag, label by label as witnesses are: (label, items of the bag)."""
    bag_labels = [(label, bag) for item, bag in enumerate(bags.bag) for label in labels_of(bags, item)]
    return [(label, np.flatnonzero(bags.bag == bag)) for label, bag in sorted(set(bag_labels))]


def factors_by_hand(bags, witnesses=()):
    """P(label set | cluster) of every item, (N, K), cluster k going with label k, and a witness's for its label."""
    factors = np.ones((len(bags.place), 3))
    for item in range(len(factors)):
        labels = labels_of(bags, item)
        if labels:
            factors[item] = [1 - EPSILON if k in labels else EPSILON for k in range(3)]
    for (label, _), witness in zip(pairs_of(bags), witnesses, strict=len(witnesses) > 0):
        factors[witness, label] /= _NO_ITEM
    return factors


# --- the objective ---


@pytest.mark.parametrize("witnesses", [True, False])
@pytest.mark.parametrize(("balance", "tau"), [(True, 1.0), (False, 1.0), (True, 0.3)])
def test_bound_is_the_formula(balance, tau, witnesses):
    bound, W, q, observed, called = problem(balance=balance, tau=tau, witnesses=witnesses)
    p = np.exp(bound.X @ W.T)
    p /= p.sum(axis=1, keepdims=True)
    n, m = bound.n_constrained, bound.n_evident
    r = factors_by_hand(bound.bags, called)
    value = bound.field.expected_log_likelihood(q) + (q * np.log(p[:n] * r[:n] / q)).sum()
    value += np.log((p * r)[n:m].sum(axis=1)).sum() + len(called) * np.log(_NO_ITEM)
    value = bound.weight * value - bound.lam * (W[:, :-1] ** 2).sum()
    value += tau * (p[m:] * np.log(p[m:])).sum(axis=1).mean()
    share = p.mean(axis=0)
    value -= balance * tau * (share * np.log(share)).sum()
    assert 0 < n < m < len(p)
    assert bound.at_fixed_q(W, q, observed)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("last_silent", [0, 3])  # 0: everybody has evidence, so there is no entropy term
@pytest.mark.parametrize("n", [2, 6, 30])
def test_gradient_equals_finite_differences(n, last_silent):
    bound, W, q, observed, _ = problem(n=n, last_silent=last_silent)
    assert np.allclose(bound.at_fixed_q(W, q, observed)[1], slope(bound.at_fixed_q, W, q, observed), atol=1e-7)


def test_profile_gradient_equals_finite_differences_of_the_settled_bound():
    bound, W, q, observed, _ = problem()

    def settled(W):
        bound.refresh(q, bound.softmax(W), observed, tol=1e-12)
        return bound.at_fixed_q(W, q, observed)

    assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


@pytest.mark.heavy(but="0")
@pytest.mark.parametrize("seed", range(3))
def test_bound_stays_below_the_exact_log_likelihood_of_answers_and_labels(seed):
    terms = {"tau": 0.0, "lam": 0.0, "balance": False, "weight": 1.0}
    bound, W, q, _, called = problem(n=3, n_items=8, last_silent=0, seed=seed, **terms)
    rng, triplets = np.random.default_rng(seed), bound.field.triplets
    logs = np.log(np.where(rng.random((len(triplets), 5)) < 0.5, 0.9, 0.05))
    field = bound.field.with_log_likelihoods(logs)
    log_joint = bound.softmax(W).log_p.T + np.log(factors_by_hand(bound.bags))
    terms = []
    for clusters in product(range(3), repeat=8):
        labels = np.array(clusters)  # cluster k goes with label k
        unmet = sum(label not in labels[items] for label, items in pairs_of(bound.bags))
        answers = logs[np.arange(len(logs)), patterns_of(labels, triplets)].sum()
        terms.append(log_joint[np.arange(8), labels].sum() + answers + unmet * np.log(_NO_ITEM))
    exact, bounds = np.logaddexp.reduce(terms), []
    for _ in range(4):
        observed = bound.evidence(np.eye(3), called, field)
        bound.refresh(q, bound.softmax(W), observed, tol=1e-10)
        bounds.append(bound.at_fixed_q(W, q, observed)[0])
        called = bound.bags.witnesses(bound.posterior(W, q, observed), np.eye(3))
        bounds.append(bound.at_fixed_q(W, q, bound.evidence(np.eye(3), called, field))[0])
    assert np.all(np.diff(bounds) > -1e-9), "better posteriors, better witnesses"
    assert exact - 4 < bounds[-1] <= exact + 1e-9
    assert len(called) == len(pairs_of(bound.bags))


def test_witnesses_are_the_likeliest_items():
    bound, W, q, observed, _ = problem(witnesses=False)
    posterior = bound.posterior(W, q, observed)
    called = bound.bags.witnesses(posterior, np.eye(3))
    for (label, items), witness in zip(pairs_of(bound.bags), called, strict=True):
        assert witness in items
        assert posterior[label, witness] == posterior[label, items].max()


def test_posterior_of_an_item_without_answers_is_bayes_rule():
    bound, W, q, observed, called = problem()
    P = bound.softmax(W).P.copy()
    joint = P * factors_by_hand(bound.bags, called).T
    posterior, n = bound.posterior(W, q, observed), bound.n_constrained
    assert np.allclose(posterior[:, n:], (joint / joint.sum(axis=0))[:, n:])
    assert np.allclose(posterior[:, bound.n_evident :], P[:, bound.n_evident :]), "nothing is observed of these"
    assert np.allclose(posterior[:, :n], q.T)


def test_labels_that_say_nothing_leave_answers_as_they_are():
    bound, W, q, _, _ = problem(witnesses=False)
    plain = LowerBound(bound.X, bound.field, tau=1.0, lam=0.01, balance=True, weight=0.3)
    everything = bound.evidence(np.ones((3, 3)))  # every cluster goes with every label: one factor for all clusters
    alone = q.copy()
    bound.refresh(q, bound.softmax(W), everything, tol=1e-10)
    plain.refresh(alone, plain.softmax(W), plain.evidence(), tol=1e-10)
    assert np.allclose(q, alone, atol=1e-8)


def test_a_sample_weighs_every_term_as_the_whole_does():
    rng = np.random.default_rng(0)
    n_items, W = 4000, rng.normal(size=(3, 3))
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    terms = {"tau": 0.7, "lam": 0.01, "balance": True, "weight": 3 / (n_items - 1000)}
    all_items = LowerBound(X, None, **terms, bags=evidence(n_items, last_silent=1000))
    parts = [sampling.sample(all_items, np.empty((0, 5)), 0.25, np.random.RandomState(seed)) for seed in range(20)]

    def value(bound):
        return bound.at_fixed_q(W, np.empty((0, 3)), bound.evidence(np.eye(3)))[0]

    assert np.mean([value(part) for part in parts]) == pytest.approx(value(all_items), abs=0.02)
    assert {len(part.X) for part in parts} == {1000}


# --- labels and clusters ---


def test_evidence_reads_bags_and_drops_labels_that_no_bag_has():
    read = read_bags([0, 2, None, 2, 1], np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]), n_items=5)
    assert are_labelled(read).tolist() == [True, True, False, True, False]
    witnesses_found = evidence_of(read, np.array([4, 3, 2, 1, 0]), 0.1)
    assert witnesses_found.sets[witnesses_found.place].tolist() == [[0, 0], [0, 1], [0, 0], [0, 1], [1, 1]]
    assert witnesses_found.labelled.tolist() == [False, True, False, True, True]


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_matching_covers_every_cluster_and_label_and_is_best_where_it_can_be(n_clusters):
    for seed in range(5):
        bags = evidence(40, seed=seed, last_silent=4)
        posterior = np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.2), size=40).T
        cluster_labels = bags.match(posterior)
        assert cluster_labels.any(axis=0).all()
        assert cluster_labels.any(axis=1).all()
        if n_clusters > 3:
            every = [np.eye(3)[list(labels)] for labels in product(range(3), repeat=5) if len(set(labels)) == 3]
            values = [(posterior * bags.log_factors(labels)[:, bags.place]).sum() for labels in every]
            value = (posterior * bags.log_factors(cluster_labels)[:, bags.place]).sum()
            assert value == pytest.approx(max(values))
        if n_clusters == 3:
            every = [
                np.eye(3)[list(order)] for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
            ]
            values = [(posterior * bags.log_factors(labels)[:, bags.place]).sum() for labels in every]
            assert np.array_equal(cluster_labels, every[int(np.argmax(values))])
            assert np.array_equal(np.eye(3)[bags.order(posterior, np.eye(3))].T, cluster_labels), (
                "the same, seen from the labels"
            )
