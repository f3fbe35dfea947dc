"""CMBC's M-steps against generic solvers, and what each step may never do: lower the objective."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tercet_algorithms.cmbc.m_step import (
    HIGHEST,
    LOWEST,
    CoordinateAscent,
    best_coordinate,
    expected,
    maximise,
    newton_step,
    sweep,
)
from tests.tercet_algorithms.cmbc.test_penalty import CASES, drawn

every = pytest.mark.parametrize(("n_clusters", "n_values"), CASES)
gammas = pytest.mark.parametrize("gamma", [0.5, 0.97, 0.9999])


def gradient(theta, S, N, penalty):
    likelihood = S / theta - (N[:, None] - S) / (1 - theta)
    return (1 - penalty.gamma) * likelihood + penalty.gradient(penalty.project(theta))


@every
@gammas
@pytest.mark.parametrize("bound", ["joint", "variance"])
def test_the_maximum_is_that_of_a_generic_solver(n_clusters, n_values, gamma, bound):
    penalty, theta, S, N = drawn(n_clusters, n_values, bound, gamma)
    scale = 1 / (1 - gamma)
    solved = minimize(
        lambda x: -scale * expected(x.reshape(theta.shape), S, N, penalty),
        theta.ravel(),
        jac=lambda x: -scale * gradient(x.reshape(theta.shape), S, N, penalty).ravel(),
        bounds=[(LOWEST, HIGHEST)] * theta.size,
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-10},
    )
    maximum = maximise(theta, S, N, penalty)
    assert expected(maximum, S, N, penalty) >= expected(solved.x.reshape(theta.shape), S, N, penalty) - 1e-6 / scale
    slopes = maximum * (1 - maximum) * gradient(maximum, S, N, penalty)
    assert scale * np.abs(slopes).max() < 2e-3


@pytest.mark.uncounted
@every
@gammas
def test_sweeps_end_where_newton_steps_do(n_clusters, n_values, gamma):
    penalty, theta, S, N = drawn(n_clusters, n_values, "joint", gamma)
    maximum, swept = maximise(theta, S, N, penalty), theta
    for _ in range(3000):
        before, swept = swept, sweep(swept, S, N, penalty)
        if np.abs(swept - before).max() < 1e-8:
            break
    assert swept == pytest.approx(maximum, abs=5e-3)
    assert expected(swept, S, N, penalty) == pytest.approx(expected(maximum, S, N, penalty), abs=1e-6)


@every
def test_the_newton_step_solves_the_whole_system(n_clusters, n_values):
    penalty, theta, S, N = drawn(n_clusters, n_values, "variance", 0.99)
    K, m = theta.shape
    slopes, A2 = gradient(theta, S, N, penalty).ravel(), penalty.root.T @ penalty.root
    diagonal = (1 - penalty.gamma) * (S / theta**2 + (N[:, None] - S) / (1 - theta) ** 2)
    system = np.diag(diagonal.ravel()) + np.kron(penalty.pull * np.eye(K) - penalty.push / K * np.ones((K, K)), A2)
    step, decrement = newton_step(theta, S, N, penalty)
    assert step.ravel() == pytest.approx(np.linalg.solve(system, slopes), rel=1e-6)
    assert decrement == pytest.approx(slopes @ step.ravel())
    assert step.shape == (K, m)


@gammas
def test_the_way_up_never_goes_down(gamma):
    for seed in range(5):
        penalty, theta, S, N = drawn(3, 4, "joint", gamma, seed=seed)
        value = expected(theta, S, N, penalty)
        swept = sweep(theta, S, N, penalty)
        assert expected(swept, S, N, penalty) >= value
        top = maximise(theta, S, N, penalty)
        assert expected(top, S, N, penalty) >= expected(swept, S, N, penalty)
        again = maximise(top, S, N, penalty)
        assert expected(top, S, N, penalty) <= expected(again, S, N, penalty) < expected(top, S, N, penalty) + 1e-6


def test_without_a_penalty_the_shares_are_best():
    penalty, theta, S, N = drawn(3, 4, gamma=0.0)
    assert maximise(theta, S, N, penalty) == pytest.approx(S / N[:, None])
    assert sweep(theta, S, N, penalty) == pytest.approx(S / N[:, None])


@pytest.mark.parametrize("gamma", [0.0, 0.9, 0.999])
def test_features_that_all_or_none_have_and_clusters_of_nobody(gamma):
    penalty, theta, S, N = drawn(3, 4, gamma=gamma)
    S[0, 0], S[1, 1], S[2], N[2] = 0, N[1], 0, 0
    for step in (maximise, sweep):
        maximum = step(theta, S, N, penalty)
        assert np.isfinite(maximum).all()
        assert maximum.min() >= LOWEST
        assert maximum.max() <= HIGHEST
        assert expected(maximum, S, N, penalty) >= expected(theta, S, N, penalty)
    assert maximise(theta, S, N, penalty)[:2] == pytest.approx(maximise(theta[::1], S, N, penalty)[:2])


@pytest.mark.parametrize("seed", range(20))
def test_a_coordinate_is_the_one_root_of_its_cubic(seed):
    rng = np.random.default_rng(seed)
    N = rng.uniform(0.01, 1)
    S, w, G1, G2 = N * rng.uniform(), 10 ** rng.uniform(-6, 0), rng.normal(), -rng.exponential()
    roots = np.roots([-G2, G2 - G1, G1 - w * N, w * S])
    inside = roots[(np.abs(roots.imag) < 1e-12) & (roots.real > 0) & (roots.real < 1)].real
    assert len(inside) == 1
    for start in (0.001, 0.5, 0.999):
        root = best_coordinate(start, G1, G2, S, N, w)
        assert root == pytest.approx(np.clip(inside[0], LOWEST, HIGHEST), abs=1e-7)


def test_a_walk_keeps_its_projections():
    penalty, theta, S, N = drawn(3, 4, gamma=0.97)
    by_features, by_coordinates = CoordinateAscent(theta.copy(), penalty), CoordinateAscent(theta.copy(), penalty)
    for j in range(theta.shape[1]):
        by_features.update_feature(j, S[:, j].tolist(), N.tolist())
        for k in range(3):
            by_coordinates.update_coordinate(k, j, S[k, j], N[k])
    assert by_features.theta == pytest.approx(by_coordinates.theta, abs=1e-12)
    for walk in (by_features, by_coordinates):
        assert np.allclose(walk.U, penalty.project(walk.theta), rtol=0, atol=1e-12)
    for k, j in np.ndindex(theta.shape):
        moved = by_features.theta.copy()
        before = expected(moved, S, N, penalty)
        F = np.polynomial.Polynomial(penalty.cubic(moved, S, N, k, j)[::-1])
        roots = [root.real for root in F.roots() if abs(root.imag) < 1e-12 and 0 < root.real < 1]
        moved[k, j] = roots[0]
        assert len(roots) == 1
        assert expected(moved, S, N, penalty) >= before - 1e-12
