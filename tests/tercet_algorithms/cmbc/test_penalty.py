"""CMBC's penalty against the formulas it stands for, computed the long way, and the identities they imply."""

import numpy as np
import pytest

from tercet_algorithms.cmbc.penalty import coefficients, conditionals, make_penalty

CASES = [(2, 2), (2, 8), (3, 4), (4, 3)]
every = pytest.mark.parametrize(("n_clusters", "n_values"), CASES)
bounds = pytest.mark.parametrize("bound", ["joint", "variance"])

# Table 1 of the paper: three remaining and two negative features.
REMAINING = np.array([[1, 1, 1], [1, 1, 1], [1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]], float)
NEGATIVE = np.array([0, 0, 1, 1, 0, 0, 1, 1])


def drawn(n_clusters, n_values, bound="joint", gamma=0.9, n_features=6, seed=0):
    """A penalty of random data in which features tell something of v, and theta, S and N to go with it."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([np.arange(n_values), rng.integers(n_values, size=60 - n_values)])
    bits = (rng.random((60, n_features)) < rng.random((n_values, n_features))[values]).astype(float)
    q = rng.dirichlet(np.ones(n_clusters), size=60)
    theta = rng.uniform(0.05, 0.95, size=(n_clusters, n_features))
    return make_penalty(bits, [values], n_clusters, bound).at(gamma), theta, q.T @ bits / 60, q.mean(axis=0)


def objective(theta, S, N, penalty):
    """What an M-step maximises, from the definitions alone."""
    p = penalty.p_negative(theta)
    marginal = p.mean(axis=0)
    K = len(theta)
    bound = penalty.constant - penalty.beta * np.sum((p / K) ** 2) + penalty.kappa * np.sum(marginal**2)
    likelihood = np.sum(S * np.log(theta) + (N[:, None] - S) * np.log(1 - theta))
    return (1 - penalty.gamma) * likelihood + penalty.gamma * bound


def test_shares_of_the_papers_example():
    p1, p0 = conditionals(REMAINING, NEGATIVE)
    assert p1[0] == pytest.approx([2 / 4, 4 / 5, 4 / 4])
    assert p0[0] == pytest.approx([2 / 4, 0 / 3, 0 / 4])
    assert p1.sum(axis=0) == pytest.approx(np.ones(3))
    assert p0.sum(axis=0) == pytest.approx(np.ones(3))


def test_a_constant_feature_and_items_not_known_tell_nothing():
    bits = np.column_stack([REMAINING, np.ones(8), np.zeros(8)])
    p1, p0 = conditionals(bits, NEGATIVE)
    assert p1[:, 3:] == pytest.approx(p0[:, 3:])
    assert p1[:, 3] == pytest.approx([0.5, 0.5])
    more = np.vstack([bits, 1 - bits[:3]])
    longer = conditionals(more, np.concatenate([NEGATIVE, [-1, -1, -1]]))
    assert np.array_equal(longer, (p1, p0))


@every
@bounds
def test_distributions_are_distributions(n_clusters, n_values, bound):
    penalty, theta, _, _ = drawn(n_clusters, n_values, bound)
    p = penalty.p_negative(theta)
    assert p.shape == (n_clusters, n_values)
    assert p.sum(axis=1) == pytest.approx(np.ones(n_clusters))
    assert p.min() >= 0
    # (A.6): the mean over features of p(v | y_j), y_j drawn from theta.
    assert len(penalty.root) <= n_values - 1


@every
@bounds
def test_value_is_that_of_the_definition(n_clusters, n_values, bound):
    penalty, theta, S, N = drawn(n_clusters, n_values, bound)
    K, V = n_clusters, n_values
    p = penalty.p_negative(theta)
    marginal, Q = p.mean(axis=0), 1 / (1 - 1 / V)
    upper = np.log(V) * (1 - Q * (np.sum(marginal**2) - 1 / V))  # (3.10)
    d = K * V
    if bound == "joint":  # (3.7) to (3.9)
        delta, beta = np.log(d + 1) + d * np.log(1 + 1 / d), (d + 1) * d * np.log(1 + 1 / d)
        lower = delta - beta * np.sum((p / K) ** 2)
        assert lower <= -np.sum(p / K * np.log(p / K))
    else:
        variance = np.sum((p - marginal) ** 2) / K
        lower = np.log(d) - np.log(V) + upper - Q * np.log(V) * variance
    assert penalty.value(penalty.project(theta)) == pytest.approx(penalty.gamma * (lower - upper))
    with_likelihood = objective(theta, S, N, penalty) - objective(theta, S, N, penalty.at(0.0)) * (1 - penalty.gamma)
    assert with_likelihood == pytest.approx(penalty.value(penalty.project(theta)))


@every
@bounds
def test_gradient_and_curvature_are_finite_differences(n_clusters, n_values, bound):
    penalty, theta, _, _ = drawn(n_clusters, n_values, bound)
    gradient, step = penalty.gradient(penalty.project(theta)), 1e-4
    for k, h in np.ndindex(theta.shape):
        values = []
        for shift in (-step, 0, step):
            moved = theta.copy()
            moved[k, h] += shift
            values.append(penalty.value(penalty.project(moved)))
        assert gradient[k, h] == pytest.approx((values[2] - values[0]) / (2 * step), abs=1e-9)
        assert penalty.curvature()[h] == pytest.approx((values[2] - 2 * values[1] + values[0]) / step**2, abs=1e-6)


@every
@bounds
def test_the_cubic_is_the_slope_of_the_objective(n_clusters, n_values, bound):
    penalty, theta, S, N = drawn(n_clusters, n_values, bound)
    w, step = 1 - penalty.gamma, 1e-6
    for k, h in np.ndindex(theta.shape):
        F = np.polynomial.Polynomial(penalty.cubic(theta, S, N, k, h)[::-1])
        assert F(0) == pytest.approx(w * S[k, h])
        assert F(1) == pytest.approx(w * (S[k, h] - N[k]))
        for x in (0.1, 0.5, 0.8):
            low, high = theta.copy(), theta.copy()
            low[k, h], high[k, h] = x - step, x + step
            slope = (objective(high, S, N, penalty) - objective(low, S, N, penalty)) / (2 * step)
            assert F(x) == pytest.approx(x * (1 - x) * slope, rel=1e-5, abs=1e-8)


@every
@bounds
def test_the_penalty_is_concave(n_clusters, n_values, bound):
    penalty = drawn(n_clusters, n_values, bound)[0]
    A2 = penalty.root.T @ penalty.root
    K = n_clusters
    hessian = np.kron(penalty.push / K * np.ones((K, K)) - penalty.pull * np.eye(K), A2)
    assert np.linalg.eigvalsh(hessian).max() < 1e-12
    assert penalty.curvature().max() <= 0


def test_the_factors_keep_it_concave_for_all_sizes():
    for K in range(1, 30):
        for V in range(2, 200, 7):
            kappa, beta, _ = coefficients(V, K, "joint")
            assert beta >= K * kappa
            assert coefficients(V, K, "variance")[1] == pytest.approx(K * kappa)


@bounds
def test_clusters_that_are_alike_are_not_penalised_for_what_they_share(bound):
    penalty, theta, _, _ = drawn(3, 4, bound)
    alike = np.tile(theta.mean(axis=0), (3, 1))
    assert penalty.value(penalty.project(alike)) > penalty.value(penalty.project(theta))
    if bound == "variance":
        identical = np.tile(theta[0], (3, 1))
        assert penalty.value(penalty.project(identical)) == pytest.approx(penalty.value(penalty.project(alike)))


def test_one_combination_is_no_penalty():
    rng = np.random.default_rng(0)
    bits = (rng.random((30, 5)) < 0.5).astype(float)
    penalty = make_penalty(bits, [np.zeros(30, dtype=int)], 2, "joint").at(0.9)
    theta = rng.uniform(size=(2, 5))
    assert penalty.value(penalty.project(theta)) == 0
    assert not penalty.gradient(penalty.project(theta)).any()
    assert penalty.p_negative(theta) == pytest.approx(np.ones((2, 1)))


def test_the_order_of_combinations_does_not_matter():
    rng = np.random.default_rng(0)
    values, bits = rng.integers(4, size=50), (rng.random((50, 5)) < 0.5).astype(float)
    theta = rng.uniform(size=(3, 5))
    ordered, permuted = (
        make_penalty(bits, [codes], 3, "joint").at(0.5) for codes in (values, np.array([2, 0, 3, 1])[values])
    )
    assert ordered.value(ordered.project(theta)) == pytest.approx(permuted.value(permuted.project(theta)), abs=1e-14)
    assert ordered.gradient(ordered.project(theta)) == pytest.approx(
        permuted.gradient(permuted.project(theta)), abs=1e-14
    )


@bounds
def test_parts_of_what_is_known_add_up(bound):
    rng = np.random.default_rng(0)
    bits = (rng.random((80, 6)) < 0.5).astype(float)
    codes = [rng.integers(3, size=80), np.where(rng.random(80) < 0.1, -1, rng.integers(5, size=80))]
    theta = rng.uniform(size=(3, 6))
    both, first, second = (make_penalty(bits, parts, 3, bound).at(0.5) for parts in (codes, codes[:1], codes[1:]))
    hessian = np.kron(both.push / 3 * np.ones((3, 3)) - both.pull * np.eye(3), both.root.T @ both.root)
    assert np.linalg.eigvalsh(hessian).max() < 1e-12
    assert both.p_negative(theta) == pytest.approx(np.hstack([first.p_negative(theta), second.p_negative(theta)]))
    values = [penalty.value(penalty.project(theta)) for penalty in (both, first, second)]
    if bound == "variance":
        assert values[0] == pytest.approx(values[1] + values[2])
    else:  # of their beta / kappa the larger one is taken for both
        assert values[0] < values[1] + values[2]
    alone = make_penalty(bits, [codes[0], np.zeros(80, dtype=int)], 3, bound).at(0.5)
    assert alone.gradient(alone.project(theta)) == pytest.approx(first.gradient(first.project(theta)))
