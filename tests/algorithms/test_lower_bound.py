"""The objective of DCRC: its value by the formula, its gradient by finite differences, EM's promise."""

import numpy as np
import pytest

from algorithms.discriminative import LowerBound, climb, fit_classifier
from algorithms.mean_field import MeanField
from algorithms.simulate import random_triplets
from algorithms.validation import Constraints

OPTIONS = [(True, 1.0), (False, 1.0), (True, 0.3)]


def problem(balance=True, tau=1.0, n_items=14, n=6, n_clusters=3, seed=0):
    rng = np.random.default_rng(seed)
    triplets = random_triplets(n_items, n, rng)
    given = Constraints(triplets, rng.integers(3, size=n), np.zeros(n, dtype=int))
    field = MeanField(triplets, np.log(given.likelihoods(0.1)), n_clusters)
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    X = X[np.concatenate([field.items, np.setdiff1d(np.arange(n_items), field.items)])]
    bound = LowerBound(X, field, tau=tau, lam=0.01, balance=balance, weight=1 / n)
    W = rng.normal(size=(n_clusters, 3))
    bound.expect_posteriors(W)
    return bound, W


def by_the_formula(bound, W):
    """Eq 10, term by term."""
    logits = bound.X @ W.T
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    n, q = bound.n_constrained, bound.field.q
    value = bound.weight * (bound.field.expected_log_likelihood() + (q * np.log(p[:n] / q)).sum())
    value -= bound.lam * (W[:, :-1] ** 2).sum()
    value += bound.tau * (p[n:] * np.log(p[n:])).sum() / len(p[n:])
    share = p.mean(axis=0)
    return value - bound.balance * bound.tau * (share * np.log(share)).sum()


def slope(function, W, step=1e-6):
    found = np.zeros_like(W)
    for place in np.ndindex(*W.shape):
        shift = np.zeros_like(W)
        shift[place] = step
        found[place] = (function(W + shift)[0] - function(W - shift)[0]) / (2 * step)
    return found


@pytest.mark.parametrize(("balance", "tau"), OPTIONS)
def test_bound_is_the_formula(balance, tau):
    bound, W = problem(balance, tau)
    bound.field.settle(np.log(np.full((bound.n_constrained, 3), 1 / 3)), 0.0, 1)
    assert np.isclose(bound.at_fixed_q(W)[0], by_the_formula(bound, W), atol=1e-12)


@pytest.mark.parametrize(("balance", "tau"), OPTIONS)
@pytest.mark.parametrize("n", [3, 40])  # 40 triplets leave no item unconstrained
def test_gradient_at_fixed_q_equals_finite_differences(balance, tau, n):
    bound, W = problem(balance, tau, n=n)
    assert np.allclose(bound.at_fixed_q(W)[1], slope(bound.at_fixed_q, W), atol=1e-7)


def test_profile_gradient_equals_finite_differences_of_the_settled_bound():
    bound, W = problem()

    def settled(W):
        bound.refresh(bound.log_posteriors(W)[1], tol=1e-12)
        return bound.at_fixed_q(W)

    assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


def test_without_answers_the_gradient_still_holds():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(9, 2)), np.ones(9)])
    bound = LowerBound(X, None, tau=1.0, lam=0.01, balance=True, weight=0.0)
    W = rng.normal(size=(3, 3))
    assert np.allclose(bound.profile(W)[1], slope(bound.profile, W), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_em_that_keeps_q_never_lowers_the_bound(seed):
    bound, W = problem(n=12, seed=seed)
    values = [bound.at_fixed_q(W)[0]]
    for _ in range(8):
        bound.refresh(bound.log_posteriors(W)[1], tol=1e-8)
        values.append(bound.at_fixed_q(W)[0])
        W, value, _ = climb(bound.at_fixed_q, W, 10, 1e-9)
        values.append(value)
    assert np.all(np.diff(values) > -1e-9)


def test_single_precision_gives_the_same_bound_and_gradient():
    bound, W = problem()
    given = bound.field
    single = LowerBound(bound.X.astype(np.float32), given, tau=1.0, lam=0.01, balance=True, weight=1 / 6)
    for exact, rough in zip(bound.at_fixed_q(W), single.at_fixed_q(W), strict=True):
        assert np.allclose(exact, rough, atol=1e-5)


def test_classifier_finds_the_given_labels():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = np.column_stack([rng.normal(size=(3, 4))[labels] * 3 + rng.normal(size=(60, 4)), np.ones(60)])
    W = fit_classifier(X, labels, 3, 2**-8)
    assert np.mean((X @ W.T).argmax(axis=1) == labels) > 0.95
