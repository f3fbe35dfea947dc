"""Bag labels as a likelihood: bound and gradient, witnesses, and which labels go with which cluster."""

from itertools import product

import numpy as np
import pytest

from algorithms import sampling
from algorithms.bag_evidence import _NO_ITEM, BagEvidence, are_told, evidence_of
from algorithms.bag_labels import read_bags
from algorithms.discriminative import LowerBound
from algorithms.mean_field import MeanField
from algorithms.patterns import patterns_of
from algorithms.simulate import random_triplets
from algorithms.validation import Constraints
from tests.algorithms.test_lower_bound import slope

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
    given = Constraints(triplets, rng.integers(3, size=n), np.zeros(n, dtype=int))
    field = MeanField(triplets, np.log(given.likelihoods(0.1)), 3)
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    order = np.concatenate([field.items, np.setdiff1d(np.arange(n_items), field.items)])
    bags = evidence(n_items, seed=seed, last_silent=last_silent).of(order)
    bound = LowerBound(X, field, **{"tau": 1.0, "lam": 0.01, "balance": True, "weight": 0.3, **terms}, bags=bags)
    bound.use_labels(np.eye(3))
    W = rng.normal(size=(3, 3))
    bound.expect_posteriors(W)
    called = bound.call_witnesses(W) if witnesses else []
    return bound, W, called


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
    bound, W, called = problem(balance=balance, tau=tau, witnesses=witnesses)
    p = np.exp(bound.X @ W.T)
    p /= p.sum(axis=1, keepdims=True)
    n, m, q = bound.n_constrained, bound.n_evident, bound.field.q
    r = factors_by_hand(bound.bags, called)
    value = bound.field.expected_log_likelihood() + (q * np.log(p[:n] * r[:n] / q)).sum()
    value += np.log((p * r)[n:m].sum(axis=1)).sum() + len(called) * np.log(_NO_ITEM)
    value = bound.weight * value - bound.lam * (W[:, :-1] ** 2).sum()
    value += tau * (p[m:] * np.log(p[m:])).sum(axis=1).mean()
    share = p.mean(axis=0)
    value -= balance * tau * (share * np.log(share)).sum()
    assert 0 < n < m < len(p)
    assert bound.at_fixed_q(W)[0] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("last_silent", [0, 3])  # 0: everybody has evidence, so there is no entropy term
@pytest.mark.parametrize("n", [2, 6, 30])
def test_gradient_equals_finite_differences(n, last_silent):
    bound, W, _ = problem(n=n, last_silent=last_silent)
    assert np.allclose(bound.at_fixed_q(W)[1], slope(bound.at_fixed_q, W), atol=1e-7)


def test_profile_gradient_equals_finite_differences_of_the_settled_bound():
    bound, W, _ = problem()

    def settled(W):
        bound.refresh(bound.log_posteriors(W)[1], tol=1e-12)
        return bound.at_fixed_q(W)

    assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_bound_stays_below_the_exact_log_likelihood_of_answers_and_labels(seed):
    bound, W, called = problem(n=3, n_items=8, last_silent=0, seed=seed, tau=0.0, lam=0.0, balance=False, weight=1.0)
    rng, triplets = np.random.default_rng(seed), bound.field.triplets
    logs = np.log(np.where(rng.random((len(triplets), 5)) < 0.5, 0.9, 0.05))
    bound.field.set_log_likelihoods(logs)
    log_joint = bound.log_posteriors(W)[1].T + np.log(factors_by_hand(bound.bags))
    terms = []
    for clusters in product(range(3), repeat=8):
        labels = np.array(clusters)  # cluster k goes with label k
        unmet = sum(label not in labels[items] for label, items in pairs_of(bound.bags))
        answers = logs[np.arange(len(logs)), patterns_of(labels, triplets)].sum()
        terms.append(log_joint[np.arange(8), labels].sum() + answers + unmet * np.log(_NO_ITEM))
    exact, bounds = np.logaddexp.reduce(terms), []
    for _ in range(4):
        bound.refresh(bound.log_posteriors(W)[1], tol=1e-10)
        bounds.append(bound.at_fixed_q(W)[0])
        called = bound.call_witnesses(W)
        bounds.append(bound.at_fixed_q(W)[0])
    assert np.all(np.diff(bounds) > -1e-9), "better posteriors, better witnesses"
    assert exact - 4 < bounds[-1] <= exact + 1e-9
    assert len(called) == len(pairs_of(bound.bags))


def test_witnesses_are_the_likeliest_items():
    bound, W, called = problem(witnesses=False)
    posterior = bound.posterior(W)
    called = bound.bags.witnesses(posterior, np.eye(3))
    for (label, items), witness in zip(pairs_of(bound.bags), called, strict=True):
        assert witness in items
        assert posterior[label, witness] == posterior[label, items].max()


def test_posterior_of_an_item_without_answers_is_bayes_rule():
    bound, W, called = problem()
    P = bound.log_posteriors(W)[0].copy()
    joint = P * factors_by_hand(bound.bags, called).T
    posterior, n = bound.posterior(W), bound.n_constrained
    assert np.allclose(posterior[:, n:], (joint / joint.sum(axis=0))[:, n:])
    assert np.allclose(posterior[:, bound.n_evident :], P[:, bound.n_evident :]), "nothing is said of these"
    assert np.allclose(posterior[:, :n], bound.field.q.T)


def test_labels_that_say_nothing_leave_answers_as_they_are():
    bound, W, _ = problem(witnesses=False)
    plain = LowerBound(bound.X, bound.field, tau=1.0, lam=0.01, balance=True, weight=0.3)
    bound.use_labels(np.ones((3, 3)))  # every cluster goes with everything: one factor for all clusters
    log_p = bound.log_posteriors(W)[1].copy()
    bound.refresh(log_p, tol=1e-10)
    q = bound.field.q.copy()
    plain.refresh(log_p, tol=1e-10)
    assert np.allclose(q, bound.field.q, atol=1e-8)


def test_a_sample_weighs_every_term_as_the_whole_does():
    rng = np.random.default_rng(0)
    n_items, W = 4000, rng.normal(size=(3, 3))
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    terms = {"tau": 0.7, "lam": 0.01, "balance": True, "weight": 3 / (n_items - 1000)}
    whole = LowerBound(X, None, **terms, bags=evidence(n_items, last_silent=1000))
    parts = [sampling.sample(whole, np.empty((0, 5)), 3, 0.25, np.random.RandomState(seed)) for seed in range(20)]
    for bound in (whole, *parts):
        bound.use_labels(np.eye(3))
    assert np.mean([part.at_fixed_q(W)[0] for part in parts]) == pytest.approx(whole.at_fixed_q(W)[0], abs=0.02)
    assert {len(part.X) for part in parts} == {1000}


# --- labels and clusters ---


def test_evidence_reads_bags_and_drops_labels_that_no_bag_has():
    read = read_bags([0, 2, None, 2, 1], np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]), n_items=5)
    assert are_told(read).tolist() == [True, True, False, True, False]
    found = evidence_of(read, np.array([4, 3, 2, 1, 0]), 0.1)
    assert found.sets[found.place].tolist() == [[0, 0], [0, 1], [0, 0], [0, 1], [1, 1]]
    assert found.told.tolist() == [False, True, False, True, True]


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_matching_covers_every_cluster_and_label_and_is_best_where_it_can_be(n_clusters):
    for seed in range(5):
        bags = evidence(40, seed=seed, last_silent=4)
        posterior = np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.2), size=40).T
        goes = bags.match(posterior)
        assert goes.any(axis=0).all()
        assert goes.any(axis=1).all()
        if n_clusters > 3:
            every = [np.eye(3)[list(labels)] for labels in product(range(3), repeat=5) if len(set(labels)) == 3]
            values = [(posterior * bags.log_factors(one)[:, bags.place]).sum() for one in every]
            value = (posterior * bags.log_factors(goes)[:, bags.place]).sum()
            assert value == pytest.approx(max(values))
        if n_clusters == 3:
            every = [
                np.eye(3)[list(order)] for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
            ]
            values = [(posterior * bags.log_factors(one)[:, bags.place]).sum() for one in every]
            assert np.array_equal(goes, every[int(np.argmax(values))])
            assert np.array_equal(np.eye(3)[bags.order(posterior, np.eye(3))].T, goes), (
                "the same, seen from the labels"
            )
