"""The objective of DCRC: its value by the formula, its gradient by finite differences, EM's promise."""

from functools import partial

import numpy as np
import pytest

from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.answers.simulated_labelers import random_triplets
from tercet_algorithms.dcrc.lower_bound import LowerBound, climb, fit_classifier
from tercet_algorithms.dcrc.mean_field import MeanField

OPTIONS = [(True, 1.0), (False, 1.0), (True, 0.3)]


def problem(balance=True, tau=1.0, n_items=14, n=6, n_clusters=3, seed=0):
    rng = np.random.default_rng(seed)
    triplets = random_triplets(n_items, n, rng)
    constraints = Constraints(triplets, rng.integers(3, size=n), np.zeros(n, dtype=int))
    field = MeanField(triplets, np.log(constraints.likelihoods(0.1)))
    X = np.column_stack([rng.normal(size=(n_items, 2)), np.ones(n_items)])
    X = X[np.concatenate([field.items, np.setdiff1d(np.arange(n_items), field.items)])]
    bound = LowerBound(X, field, tau=tau, lam=0.01, balance=balance, weight=1 / n)
    W = rng.normal(size=(n_clusters, 3))
    return bound, W, bound.first_posteriors(W, bound.evidence())


def by_the_formula(bound, W, q):
    """Eq 10, term by term."""
    logits = bound.X @ W.T
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    n = bound.n_constrained
    value = bound.weight * (bound.field.expected_log_likelihood(q) + (q * np.log(p[:n] / q)).sum())
    value -= bound.lam * (W[:, :-1] ** 2).sum()
    value += bound.tau * (p[n:] * np.log(p[n:])).sum() / len(p[n:])
    share = p.mean(axis=0)
    return value - bound.balance * bound.tau * (share * np.log(share)).sum()


def slope(function, W, *arguments, step=1e-6):
    derivative = np.zeros_like(W)
    for place in np.ndindex(*W.shape):
        shift = np.zeros_like(W)
        shift[place] = step
        derivative[place] = (function(W + shift, *arguments)[0] - function(W - shift, *arguments)[0]) / (2 * step)
    return derivative


@pytest.mark.parametrize(("balance", "tau"), OPTIONS)
def test_bound_is_the_formula(balance, tau):
    bound, W, q = problem(balance, tau)
    bound.field.settle(q, np.log(np.full((bound.n_constrained, 3), 1 / 3)), 0.0, 1)
    assert np.isclose(bound.at_fixed_q(W, q, bound.evidence())[0], by_the_formula(bound, W, q), atol=1e-12)


@pytest.mark.parametrize(("balance", "tau"), OPTIONS)
@pytest.mark.parametrize("n", [3, 40])  # 40 triplets leave no item unconstrained
def test_gradient_at_fixed_q_equals_finite_differences(balance, tau, n):
    bound, W, q = problem(balance, tau, n=n)
    gradient = bound.at_fixed_q(W, q, bound.evidence())[1]
    assert np.allclose(gradient, slope(bound.at_fixed_q, W, q, bound.evidence()), atol=1e-7)


def test_profile_gradient_equals_finite_differences_of_the_settled_bound():
    bound, W, q = problem()

    def settled(W):
        bound.refresh(q, bound.softmax(W), bound.evidence(), tol=1e-12)
        return bound.at_fixed_q(W, q, bound.evidence())

    assert np.allclose(settled(W)[1], slope(settled, W), atol=1e-5)


def test_without_answers_the_gradient_still_holds():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(9, 2)), np.ones(9)])
    bound = LowerBound(X, None, tau=1.0, lam=0.01, balance=True, weight=0.0)
    W = rng.normal(size=(3, 3))
    nothing = np.empty((0, 3)), bound.evidence()
    assert np.allclose(bound.profile(W, *nothing)[1], slope(bound.profile, W, *nothing), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_em_that_keeps_q_never_lowers_the_bound(seed):
    bound, W, q = problem(n=12, seed=seed)
    at_fixed_q = partial(bound.at_fixed_q, q=q, evidence=bound.evidence())
    values = [at_fixed_q(W)[0]]
    for _ in range(8):
        bound.refresh(q, bound.softmax(W), bound.evidence(), tol=1e-8)
        values.append(at_fixed_q(W)[0])
        W, value, _ = climb(at_fixed_q, W, 10, 1e-9)
        values.append(value)
    assert np.all(np.diff(values) > -1e-9)


def test_single_precision_gives_the_same_bound_and_gradient():
    bound, W, q = problem()
    single = LowerBound(bound.X.astype(np.float32), bound.field, tau=1.0, lam=0.01, balance=True, weight=1 / 6)
    for exact, rough in zip(*(model.at_fixed_q(W, q, model.evidence()) for model in (bound, single)), strict=True):
        assert np.allclose(exact, rough, atol=1e-5)


def test_classifier_finds_the_given_labels():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = np.column_stack([rng.normal(size=(3, 4))[labels] * 3 + rng.normal(size=(60, 4)), np.ones(60)])
    W = fit_classifier(X, labels, 3, 2**-8)
    assert np.mean((X @ W.T).argmax(axis=1) == labels) > 0.95
