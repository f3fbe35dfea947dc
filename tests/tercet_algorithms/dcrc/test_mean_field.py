"""The E-step against enumeration, its fixed point, and the promise that sweeps never lower the bound."""

from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from tercet_algorithms.answers.patterns import KINDS, patterns_of
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.answers.simulated_labelers import random_triplets
from tercet_algorithms.dcrc import e_step_loops as loops
from tercet_algorithms.dcrc.mean_field import MeanField, entropy
from tests.tercet_algorithms.dcrc.data import messages


def constraints(n_items, n, seed):
    rng = np.random.default_rng(seed)
    triplets = random_triplets(n_items, n, rng)
    kinds = rng.integers(2, size=n)
    return Constraints(triplets, np.where(kinds == 0, rng.integers(3, size=n), rng.integers(4, size=n)), kinds)


def field_with_random_q(n_items=7, n=9, n_clusters=3, seed=0, epsilon=0.1):
    read = constraints(n_items, n, seed)
    logs = np.log(read.likelihoods(epsilon))
    field = MeanField(read.triplets, logs)
    rng = np.random.default_rng(seed + 1)
    q = rng.dirichlet(np.ones(n_clusters), size=len(field.items))
    log_p = np.log(rng.dirichlet(np.ones(n_clusters), size=len(field.items)))
    return field, q, logs, log_p


def log_likelihood(field, logs, clusters):
    return logs[np.arange(len(logs)), patterns_of(np.asarray(clusters), field.triplets)].sum()


def expectation(field, logs, q):
    """E_q[log P(L | Y)] by enumeration of all assignments."""
    total = 0.0
    for clusters in product(range(q.shape[1]), repeat=len(q)):
        total += np.prod(q[np.arange(len(q)), list(clusters)]) * log_likelihood(field, logs, clusters)
    return total


def swept(field, q, log_p, hard, tie):
    """The posteriors after one sweep of all items, as Eq 13 and Eq 14 say it."""
    q = q.copy()
    for item in range(len(q)):
        message = messages(field, q, item)
        if hard:
            message = np.where(message >= message.max() - tie, 0, -np.inf)
        q[item] = softmax(message + log_p[item])
    return q


def bound(field, q, log_p):
    return field.expected_log_likelihood(q) + entropy(q) + (q * log_p).sum()


@pytest.mark.parametrize("seed", range(4))
def test_expected_log_likelihood_equals_enumeration(seed):
    field, q, logs, _ = field_with_random_q(n_items=6, seed=seed)
    assert np.isclose(field.expected_log_likelihood(q), expectation(field, logs, q), atol=1e-10)


@pytest.mark.heavy(but="0")
@pytest.mark.parametrize("seed", range(4))
def test_messages_equal_enumeration(seed):
    field, q, logs, _ = field_with_random_q(n_items=6, seed=seed)
    for item in range(len(field.items)):
        expected = []
        for cluster in range(3):
            certain = q.copy()
            certain[item] = np.eye(3)[cluster]
            expected.append(expectation(field, logs, certain))
        difference = messages(field, q, item) - np.array(expected)
        assert np.allclose(difference, difference[0], atol=1e-10)


def test_each_likelihood_row_is_the_column_of_the_observed_answer():
    read = constraints(8, 30, 5)
    likelihoods = read.likelihoods(0.1)
    for code, wrong in enumerate((0.05, 0.1 / 3)):
        rows = likelihoods[read.kinds == code]
        assert len(rows), KINDS[code]
        assert np.all(np.isclose(rows, 0.9) | np.isclose(rows, wrong))


def test_items_keep_their_triplets():
    read = constraints(12, 40, 3)
    field = MeanField(read.triplets, np.log(read.likelihoods(0.1)))
    assert np.array_equal(field.items[field.triplets], read.triplets)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sweep_is_that_of_the_equations(hard, dtype):
    field, q, _, log_p = field_with_random_q(n_items=20, n=30)
    field.settle(q, log_p, 0.0, 1, hard)
    again, tie = q.astype(dtype), 1e-4
    stored = field.messages._replace(weights=field.messages.weights.astype(dtype))
    assert loops.settle(again, log_p.astype(dtype), stored, hard, tie, 0.0, 1) == 1
    assert np.allclose(again, swept(field, q, log_p, hard, tie), atol=1e-5 if dtype == np.float32 else 1e-12)


def test_the_number_of_sweeps_is_that_after_which_nothing_moves():
    field, q, _, log_p = field_with_random_q(n_items=20, n=30)
    settled, expected, moved = q.copy(), 0, True
    while moved:
        before, q = q, swept(field, q, log_p, False, 0.0)
        expected, moved = expected + 1, np.abs(q - before).max() >= 1e-3
    assert field.settle(settled, log_p, 1e-3, 100) == expected > 2
    assert np.allclose(settled, q, atol=1e-2)


@pytest.mark.parametrize("seed", range(10))
def test_sweeps_never_lower_the_bound(seed):
    field, q, _, log_p = field_with_random_q(n_items=9, n=30, n_clusters=4, seed=seed, epsilon=0.02)
    bounds = [bound(field, q, log_p)]
    for _ in range(15):
        field.settle(q, log_p, 0.0, 1)
        bounds.append(bound(field, q, log_p))
    assert np.all(np.diff(bounds) > -1e-10)
    assert bounds[-1] > bounds[0]


def test_settled_posteriors_solve_the_fixed_point_equation():
    field, q, _, log_p = field_with_random_q(n_items=20, n=30)
    field.settle(q, log_p, tol=1e-12, max_sweeps=5000)
    weights = np.exp([messages(field, q, item) + log_p[item] for item in range(len(field.items))])
    assert np.allclose(q, weights / weights.sum(axis=1, keepdims=True), atol=1e-9)


def test_bound_stays_below_the_exact_log_likelihood():
    field, q, logs, log_p = field_with_random_q(n_items=6, n=8, seed=2)
    field.settle(q, log_p, tol=1e-10, max_sweeps=1000)
    terms = [
        log_p[np.arange(len(log_p)), list(clusters)].sum() + log_likelihood(field, logs, clusters)
        for clusters in product(range(3), repeat=len(log_p))
    ]
    exact = np.logaddexp.reduce(terms)
    assert exact - 5 < bound(field, q, log_p) <= exact + 1e-9


def test_uniform_noise_makes_answers_say_nothing():
    rng = np.random.default_rng(0)
    triplets = random_triplets(10, 20, rng)
    relative = Constraints(triplets, rng.integers(3, size=20), np.zeros(20, int))
    field = MeanField(triplets, np.log(relative.likelihoods(2 / 3)))
    p = rng.dirichlet(np.ones(3), size=len(field.items))
    q = np.full_like(p, 1 / 3)
    field.settle(q, np.log(p), tol=1e-10, max_sweeps=10)
    assert np.allclose(q, p)


def test_hard_update_is_the_limit_of_small_epsilon():
    field, q, _, log_p = field_with_random_q(n_items=30, n=20, seed=4)
    soft, soft_q, _, _ = field_with_random_q(n_items=30, n=20, seed=4, epsilon=1e-300)
    field.settle(q, log_p, 0.0, 1, hard=True)
    soft.settle(soft_q, log_p, 0.0, 1)
    assert np.allclose(q, soft_q, atol=1e-3)


def test_dense_answers_do_not_overflow_in_single_precision():
    read = constraints(4, 12, 0)
    many = np.tile(read.triplets, (500, 1))
    logs = np.tile(np.log(read.likelihoods(1e-6)), (500, 1))
    field = MeanField(many, logs, np.float32)
    q = np.full((4, 3), 1 / 3, np.float32)
    field.settle(q, np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=4)).astype(np.float32), 1e-4, 100)
    assert np.allclose(q.sum(axis=1), 1, atol=1e-5)
