"""SKLR's mathematics: its optimum against a generic convex solver, and the identities that hold on the way."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from tercet_algorithms.answers.reading import read_constraints, read_pairs
from tercet_algorithms.sklr import search
from tercet_algorithms.sklr.constraints import (
    CANNOT_LINK,
    MUST_LINK,
    DistanceConstraints,
    carry_over,
    distance_constraints,
)
from tercet_algorithms.sklr.dual import FactoredKernel, make_problem, transformation
from tercet_algorithms.sklr.newton import CertifiedStep, box_maximum, curvature, newton_step
from tercet_algorithms.sklr.projection import sweeps
from tercet_algorithms.sklr.search import Learning

GAMMA = 2.0


def read(triplets, answers, kinds=None, *, n_items, must_link=None, cannot_link=None, mapping="class", **more):
    constraints = read_constraints(triplets, answers, kinds, n_items=n_items, merge=False, **more)
    links = [
        read_pairs(name, pairs, n_items) for name, pairs in (("must_link", must_link), ("cannot_link", cannot_link))
    ]
    return distance_constraints(constraints, *links, mapping)


def coordinates(n=14, r=14, seed=0):
    """Rows of Z for points in the plane under a Gaussian kernel, of rank r."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    K = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    values, vectors = np.linalg.eigh(K)
    return vectors[:, -r:] * np.sqrt(values[-r:])


def answered(n=14, n_answers=8, seed=0, kinds="outlier", answers=("3",), **more):
    """Answers that agree with a clustering into halves or, with "dnk", say nothing about it."""
    rng = np.random.default_rng(seed)
    half = np.arange(n) % 2
    triplets = []
    while len(triplets) < n_answers:
        a, b, c = rng.choice(n, 3, replace=False)
        if half[a] == half[b] != half[c]:
            triplets.append((a, b, c))
    values = [answers[i % len(answers)] for i in range(n_answers)]
    return read(triplets, values, kinds, n_items=n, **more)


PROBLEMS = {
    "hard": (coordinates(), answered(), np.inf),
    "hard, low rank": (coordinates(r=9), answered(n_answers=5), np.inf),
    "mixed with equalities": (coordinates(seed=1), answered(seed=1, answers=("3", "dnk")), np.inf),
    "relative": (coordinates(seed=2), answered(seed=2, kinds="relative", answers=("yes", "dnk")), np.inf),
    "soft": (coordinates(seed=3), answered(seed=3, n_answers=12, answers=("3", "1", "dnk")), 0.3),
    "many items": (coordinates(30, 6, seed=5), answered(30, 14, seed=5, answers=("3", "dnk")), 1.0),
    "links": (coordinates(seed=4), answered(seed=4, must_link=[(0, 1)], cannot_link=[(2, 3), (4, 6)]), 20.0),
}


def problem(name):
    Z, rows, C = PROBLEMS[name]
    return make_problem(Z, rows, GAMMA, C, near=0.2, far=1.6)


def optimum(posed, solver="newton", tol=1e-8, max_iter=3000):
    learning = Learning(posed, posed, solver, max_iter, tol)
    state, _ = learning.run(learning.first_state(np.zeros(len(posed)), seed=0), None)
    assert state.converged
    return posed.point(state.lam)


def learned(name):
    """A problem, its optimum, the items' rows in the learned space and logdet M there."""
    Z, posed, point = PROBLEMS[name][0], problem(name), optimum(problem(name))
    T = transformation(posed, point.lam, Z)
    return posed, point, (Z @ T)[posed.items], 2 * np.linalg.slogdet(T)[1]


def inverse(posed, lam):
    lower = posed.inverse(lam, posed.coordinates)
    return np.tril(lower) + np.tril(lower, -1).T


def inside(posed, point):
    """M in the space of the constrained items."""
    return np.linalg.inv(inverse(posed, point.lam))


def gradient(posed, lam):
    point = posed.point(lam)
    return posed.gradient(point.p, point.q)


def relative(posed, point):
    return posed.relative(point.p, point.q)


def swept(posed, point, n_sweeps=1):
    return sweeps(posed, point, np.random.RandomState(0), n_sweeps=n_sweeps, corrected=True, tol=0.0)


def divergence(M):
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(M)


@pytest.mark.parametrize("name", sorted(PROBLEMS.keys() - {"many items"}))
def test_the_kernel_of_an_earlier_fit_need_not_be_learned_again(name):
    posed, point, rows, logdet = learned(name)
    again = posed.point_of_embedding(point.lam, rows, logdet)
    np.testing.assert_allclose(again.value, point.value, atol=1e-9)
    np.testing.assert_allclose(again.kernel.upper, point.kernel.upper, atol=1e-9)
    np.testing.assert_allclose([again.p, again.q], [point.p, point.q], atol=1e-9)


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_a_kernel_that_the_multipliers_do_not_lead_to_is_not_taken_for_theirs(name):
    posed, point, rows, logdet = learned(name)
    moved = point.lam.copy()
    moved[np.abs(moved).argmax()] *= 1 + 1e-6
    assert posed.point_of_embedding(moved, rows, logdet) is None
    assert posed.point_of_embedding(point.lam, np.full_like(rows, np.nan), logdet) is None
    Z, constraints, C = PROBLEMS[name]
    assert (
        make_problem(Z, constraints, GAMMA + 1e-6, C, near=0.2, far=1.6).point_of_embedding(point.lam, rows, logdet)
        is None
    )


@pytest.mark.parametrize(
    ("share_of_high", "gradient", "largest"),
    [(0, 0.5, 0.5), (0, -0.5, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (1, 0.5, 0), (1, -0.5, 0.5)],
)
def test_a_gradient_counts_where_the_box_lets_its_multiplier_move(share_of_high, gradient, largest):
    posed = problem("soft")
    lam, relative = np.zeros(len(posed)), np.zeros(len(posed))
    place = int(np.flatnonzero(posed.low == 0)[0])
    lam[place], relative[place] = share_of_high * posed.high[place], gradient
    assert posed.largest_free_gradient(lam, relative) == largest


@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_agrees_with_a_generic_convex_solver(name):
    cvxpy = pytest.importorskip("cvxpy")
    posed = problem(name)
    s = posed.coordinates.shape[1]
    M = cvxpy.Variable((s, s), PSD=True)
    cost, limits = cvxpy.trace(M) - cvxpy.log_det(M) - s, []
    a, b, e = (posed.coordinates[role] for role in posed.places.T)
    x, y = a - b, a - e
    for c in range(len(posed)):
        C = posed.g[c] * np.outer(x[c], x[c]) - posed.h[c] * np.outer(y[c], y[c])
        excess = cvxpy.trace(M @ C) - posed.t[c]
        if np.isfinite(posed.high[c]):
            cost += posed.high[c] * (cvxpy.abs(excess) if posed.low[c] < 0 else cvxpy.pos(excess))
        else:
            limits.append(excess == 0 if posed.low[c] < 0 else excess <= 0)
    cvxpy.Problem(cvxpy.Minimize(cost), limits).solve(solver="CLARABEL")
    ours = inside(posed, optimum(posed))
    assert np.linalg.norm(ours - M.value) <= 2e-4 * np.linalg.norm(M.value)


@pytest.mark.parametrize("name", PROBLEMS)
def test_corrected_projections_reach_the_optimum_of_newton(name):
    posed = problem(name)
    newton, projected = inside(posed, optimum(posed)), inside(posed, optimum(posed, "projection", 1e-7))
    assert np.linalg.norm(newton - projected) <= 1e-4 * np.linalg.norm(newton)


SOFT = [name for name, (_, _, C) in PROBLEMS.items() if np.isfinite(C)]


@pytest.mark.parametrize("name", SOFT)
def test_many_soft_answers_have_the_optimum_that_newton_finds(name, monkeypatch):
    posed = problem(name)
    newton = optimum(posed)
    monkeypatch.setattr(search, "_MOST_IN_STEP", 0)
    swept_only = optimum(posed)
    assert swept_only.value == pytest.approx(newton.value, abs=1e-9)
    assert np.linalg.norm(inside(posed, newton) - inside(posed, swept_only)) <= 1e-6 * np.linalg.norm(
        inside(posed, newton)
    )


def many_answers(n=120, r=12, n_answers=600):
    """More answers than the kernel has entries: most multipliers are at their caps or share what is to be said."""
    rows = answered(n, n_answers, seed=7, kinds="relative", answers=("yes", "no", "dnk", "yes"))
    return make_problem(coordinates(n, r, seed=7), rows, GAMMA, 1.0)


def test_many_soft_answers_are_learned_from_in_single_precision(monkeypatch):
    """What is rounded on the way is not in the result, whose residual is that of its multipliers."""
    posed = many_answers()
    newton = optimum(posed)
    monkeypatch.setattr(search, "_MOST_IN_STEP", 100)
    learning = Learning(posed, posed, "newton", 200, 1e-3)
    state, _ = learning.run(learning.first_state(np.zeros(len(posed)), seed=0), None)
    assert state.converged
    assert state.residual <= 1e-3
    assert posed.residual(posed.point(state.lam)) <= 1e-3
    assert state.lower_bound == pytest.approx(posed.value(state.lam)[0], rel=1e-6)
    assert newton.value * (1 - 1e-3) <= state.lower_bound <= newton.value + 1e-9
    assert np.all(np.diff(state.bounds) >= -1e-6)


@pytest.mark.parametrize("relaxation", [1.3, 1.6, 1.95])
@pytest.mark.parametrize("name", PROBLEMS)
def test_relaxed_sweeps_never_go_down(name, relaxation):
    """Each as long as no multiplier passes twice the way to its optimum, not only where f is nearly a parabola."""
    posed = problem(name)
    point, values = posed.point(np.zeros(len(posed))), []
    for seed in range(12):
        rng = np.random.RandomState(seed)
        point = sweeps(posed, point, rng, n_sweeps=1, corrected=True, tol=0.0, relaxation=relaxation)
        assert np.all((posed.low <= point.lam) & (point.lam <= posed.high))
        assert point.value == pytest.approx(posed.value(point.lam)[0], abs=1e-9)
        values.append(point.value)
    assert np.all(np.diff([0.0, *values]) >= -1e-12)


@pytest.mark.parametrize(
    "posed", [make_problem(coordinates(), answered(n_answers=1), GAMMA), many_answers()], ids=["few", "many"]
)
def test_the_inverse_is_that_of_all_constraints_written_out(posed):
    lam = np.random.default_rng(0).uniform(size=len(posed)) * 0.01
    a, b, e = (posed.coordinates[role] for role in posed.places.T)
    x, y = a - b, a - e
    expected = np.eye(posed.coordinates.shape[1]) + (x.T * (lam * posed.g)) @ x - (y.T * (lam * posed.h)) @ y
    np.testing.assert_allclose(inverse(posed, lam), expected, rtol=1e-9, atol=1e-9)
    assert (len(posed.pairs[0]) > len(posed.items)) == (len(posed) > 100)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_and_hessian_are_those_of_the_dual(name):
    posed = problem(name)
    rng = np.random.default_rng(0)
    lam = np.abs(rng.normal(size=len(posed))) * 0.1
    here = gradient(posed, lam)
    assert check_grad(lambda at: posed.value(at)[0], lambda at: gradient(posed, at), lam) < 1e-5
    H = np.tril(curvature(posed, posed.point(lam), np.arange(len(posed))))
    H += np.tril(H, -1).T
    for direction in rng.normal(size=(3, len(posed))):
        moved = gradient(posed, lam + 1e-6 * direction)
        np.testing.assert_allclose((here - moved) / 1e-6, H @ direction, rtol=1e-3, atol=1e-4)
    # Of some constraints, which are about some of the items, it is a part.
    some = np.arange(0, len(posed), 5)
    of_some = np.tril(curvature(posed, posed.point(lam), some))
    np.testing.assert_allclose(of_some, np.tril(H[np.ix_(some, some)]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["hard", "hard, low rank", "mixed with equalities", "relative"])
def test_the_trace_of_the_optimum_is_its_rank_and_there_is_no_duality_gap(name):
    posed = problem(name)
    point = optimum(posed)
    M = inside(posed, point)
    assert np.trace(M) == pytest.approx(len(M), abs=1e-6)
    assert divergence(M) == pytest.approx(point.value, abs=1e-6)
    assert np.linalg.eigvalsh(M).min() > 0


def test_every_single_projection_keeps_the_trace_and_meets_its_constraint():
    posed = problem("mixed with equalities")
    for c in np.flatnonzero(relative(posed, posed.point(np.zeros(len(posed)))) > 0):
        alone = posed.without(np.arange(len(posed)) != c)
        after = swept(alone, alone.point(np.zeros(len(posed))))
        assert np.trace(inside(alone, after)) == pytest.approx(posed.coordinates.shape[1], abs=1e-9)
        assert relative(posed, after)[c] == pytest.approx(0, abs=1e-9)


def test_newton_and_corrected_sweeps_never_go_down():
    posed = problem("mixed with equalities")
    point = posed.point(np.zeros(len(posed)))
    for _ in range(4):
        further = newton_step(posed, point)
        assert further.value >= point.value
        point = swept(posed, further)
        assert point.value >= further.value - 1e-12


@pytest.mark.parametrize("tol", [1e-6, 0.5])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_that_is_not_looked_at_ends_where_it_was_foreseen(name, tol):
    """0.5 takes the first step that anything can be said about, where the bound must still hold."""
    posed = problem(name)
    point = swept(posed, posed.point(np.zeros(len(posed))), n_sweeps=4)
    for _ in range(20):
        previous, point = point, newton_step(posed, point, tol)
        if isinstance(point, CertifiedStep):
            break
    assert isinstance(point, CertifiedStep)
    there = posed.point(point.lam)
    assert posed.residual(there) <= point.residual + 1e-12
    assert point.residual <= tol
    assert previous.value - 1e-12 <= point.value <= there.value + 1e-12


@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_that_sweeps_keep_up_to_date_follows_from_their_multipliers(name, corrected):
    posed = problem(name)
    point = posed.point(np.zeros(len(posed)))
    assert isinstance(point.kernel, FactoredKernel) == (name == "many items")
    swept_there = sweeps(posed, point, np.random.RandomState(0), n_sweeps=3, corrected=corrected, tol=1e-6)
    there = posed.point(swept_there.lam)
    assert swept_there.lam.any()
    assert swept_there.value == pytest.approx(there.value, abs=1e-9)
    np.testing.assert_allclose([swept_there.p, swept_there.q], [there.p, there.q], atol=1e-9)
    everything = np.arange(len(posed.items))
    np.testing.assert_allclose(
        swept_there.kernel.between_items(everything), there.kernel.between_items(everything), atol=1e-9
    )


def test_constraints_on_the_same_three_items_are_projected_on_one_after_another():
    """What is done on two numbers by two is what projecting on the whole matrix does."""
    posed = make_problem(coordinates(), read([(0, 1, 2)], ["3"], "outlier", n_items=14), GAMMA, np.inf)
    K = posed.coordinates @ posed.coordinates.T
    lam = np.zeros(2)
    for c in (0, 1, 0, 1):
        a, b, e = posed.places[c]
        x, y = (np.eye(3)[a] - np.eye(3)[end] for end in (b, e))
        p, q, s = x @ K @ x, y @ K @ y, x @ K @ y
        alpha = max((GAMMA * p - q) / (2 * GAMMA * (p * q - s * s)), -lam[c])
        lam[c] += alpha
        K = np.linalg.inv(np.linalg.inv(K) + alpha * (GAMMA * np.outer(x, x) - np.outer(y, y)))
    point = swept(posed, posed.point(np.zeros(2)))
    assert lam.any()
    np.testing.assert_allclose(point.lam, lam, rtol=1e-9)
    np.testing.assert_allclose(np.triu(K), point.kernel.upper, atol=1e-12)


@pytest.mark.parametrize("corrected", [True, False])
def test_sweeps_leave_alone_what_is_held_at_nothing(corrected):
    posed = problem("hard")
    held = posed.without(np.arange(len(posed)) % 3 == 0)
    point = sweeps(
        held, held.point(np.zeros(len(posed))), np.random.RandomState(0), n_sweeps=5, corrected=corrected, tol=0.0
    )
    assert (point.lam[::3] == 0).all()
    assert point.lam.any()


def test_the_paper_s_algorithm_is_feasible_but_farther_than_the_optimum():
    ratios = []
    for seed in range(4):
        posed = make_problem(coordinates(24, 24, seed), answered(24, 14, seed), GAMMA, np.inf)
        plain = optimum(posed, "paper", tol=1e-6)
        assert relative(posed, plain).max() <= 1e-6
        ratios.append(divergence(inside(posed, plain)) / optimum(posed).value)
    assert min(ratios) > 1 - 1e-6
    assert np.mean(ratios) > 1.1


def test_scaling_the_kernel_scales_the_multipliers_only():
    Z, rows, C = PROBLEMS["mixed with equalities"]
    once, thrice = make_problem(Z, rows, GAMMA, C), make_problem(np.sqrt(3) * Z, rows, GAMMA, C)
    a, b = optimum(once), optimum(thrice)
    np.testing.assert_allclose(3 * b.lam, a.lam, atol=1e-5)
    assert b.value == pytest.approx(a.value, abs=1e-7)


def test_soft_answers_become_hard_ones_as_their_cap_grows():
    Z, rows, _ = PROBLEMS["hard"]
    hard = inside(problem("hard"), optimum(problem("hard")))
    gaps = []
    for C in (0.1, 1.0, 10.0, 1e4):
        posed = make_problem(Z, rows, GAMMA, C)
        gaps.append(np.linalg.norm(inside(posed, optimum(posed)) - hard))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-6 < gaps[0]


def test_contradictory_hard_answers_come_with_a_certificate():
    Z = coordinates()
    rows = read([(0, 1, 2), (0, 1, 2), (3, 4, 5)], ["3", "1", "3"], "outlier", n_items=14)
    posed, soft = (make_problem(Z, rows, GAMMA, C) for C in (np.inf, 1.0))
    learning = Learning(posed, soft, "newton", 200, 1e-6)
    state, _ = learning.run(learning.first_state(np.zeros(len(posed)), 0), None)
    assert state.converged
    # lam >= 0 with Z'A(lam)Z >= 0: no kernel can meet these constraints together.
    proof = inverse(posed, state.blame) - np.eye(posed.coordinates.shape[1])
    assert np.linalg.eigvalsh(proof).min() > -1e-6
    assert (rows.largest_by_answer(state.blame) > 0).tolist() == [True, True, False]


def test_sweeps_end_when_no_constraint_is_off_by_more_than_enough():
    posed = problem("hard")
    start = posed.point(np.zeros(len(posed)))
    residuals = []
    for sufficient in (0.5, 0.1, 1e-4):
        rng = np.random.RandomState(0)
        point = sweeps(posed, start, rng, n_sweeps=200, corrected=True, tol=0.0, sufficient=sufficient)
        residuals.append(posed.residual(point))
    assert (np.array(residuals) <= [0.5, 0.1, 1e-4]).all()
    assert residuals[0] > residuals[1] > residuals[2] > 1e-7


def test_box_maximum_agrees_with_a_generic_solver():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(12, 12))
        H, gradient = root @ root.T + 0.1 * np.eye(12), 5 * rng.normal(size=12)
        low, high = -rng.uniform(size=12), rng.uniform(size=12)
        maximum = box_maximum(H, gradient, low, high)
        there = minimize(
            lambda d, H=H, g=gradient: d @ H @ d / 2 - g @ d,
            np.zeros(12),
            jac=lambda d, H=H, g=gradient: H @ d - g,
            bounds=np.column_stack([low, high]),
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        np.testing.assert_allclose(maximum, there.x, atol=1e-5)


@pytest.mark.parametrize("inside", [0.0, 1e-18, 1e-12])
def test_box_maximum_moves_on_from_bounds_against_which_a_newton_step_pushes(inside):
    """Also where rounding has left a multiplier a little inside of its bound: the search stayed there."""
    for seed in range(500):
        rng = np.random.default_rng(seed)
        n = rng.integers(2, 25)
        root = rng.normal(size=(n, n + 2)) * 10 ** rng.uniform(-1, 1, (n, 1))
        H, gradient = root @ root.T + 0.01 * np.eye(n), rng.normal(size=n)
        low = np.full(n, -inside)
        maximum = box_maximum(H.copy(order="F"), gradient, low, np.full(n, np.inf))
        slope = gradient - H @ maximum
        assert (slope < 1e-4).all()
        assert (slope[maximum > low] > -1e-4).all()


@pytest.mark.parametrize("r", [6, 12])
def test_the_transformation_is_that_of_all_constraints_written_out(r):
    Z = coordinates(n=20, r=r)
    rows = answered(n_answers=3)
    posed = make_problem(Z, rows, GAMMA)
    lam = np.linspace(0.01, 0.1, len(posed))
    M_inverse = np.eye(r)
    for (a, b, e, _), weight in zip(rows.keys, lam, strict=True):
        M_inverse += weight * (GAMMA * np.outer(Z[a] - Z[b], Z[a] - Z[b]) - np.outer(Z[a] - Z[e], Z[a] - Z[e]))
    T = transformation(posed, lam, Z)
    np.testing.assert_allclose(T @ T.T @ M_inverse, np.eye(r), atol=1e-9)


def keys(triplet, answer, kind, mapping="class"):
    return {tuple(key) for key in read([triplet], [answer], kind, mapping=mapping, n_items=9).keys.tolist()}


@pytest.mark.parametrize(
    ("answer", "kind", "mapping", "expected"),
    [
        ("yes", "relative", "class", {(0, 1, 2, 0), (1, 0, 2, 0)}),
        ("no", "relative", "class", {(0, 2, 1, 0), (2, 0, 1, 0)}),
        ("yes", "relative", "strict", {(0, 1, 2, 0)}),
        ("no", "relative", "strict", {(0, 2, 1, 0)}),
        ("dnk", "relative", "class", {(0, 1, 2, 1)}),
        ("1", "outlier", "strict", {(1, 2, 0, 0), (2, 1, 0, 0)}),
        ("2", "outlier", "class", {(0, 2, 1, 0), (2, 0, 1, 0)}),
        ("3", "outlier", "class", {(0, 1, 2, 0), (1, 0, 2, 0)}),
        ("dnk", "outlier", "class", {(0, 1, 2, 1), (1, 0, 2, 1)}),
    ],
)
def test_what_an_answer_says_about_distances(answer, kind, mapping, expected):
    assert keys((0, 1, 2), answer, kind, mapping) == expected


def test_the_same_information_is_one_constraint_with_more_weight():
    rows = read(
        [(0, 1, 2), (0, 2, 1), (1, 0, 2), (0, 1, 2)],
        ["yes", "no", "yes", "yes"],
        labelers=["ann", "ann", "ann", "bob"],
        weights=[1, 1, 2, 5],
        n_items=9,
    )
    assert len(rows) == 2
    np.testing.assert_array_equal(rows.weights, [8, 8])  # ann's second row repeats her first
    assert (np.sort(rows.of_answer, axis=1) == [0, 1]).all()


def test_links_become_bounds_on_one_distance():
    rows = read(None, None, must_link=[(3, 1)], cannot_link=[(2, 4)], n_items=9)
    assert rows.keys.tolist() == [[1, 3, 1, MUST_LINK], [2, 4, 2, CANNOT_LINK]]
    posed = make_problem(coordinates(), rows, GAMMA, np.inf, near=0.1, far=1.9)
    point = optimum(posed)
    assert point.p[0] <= 0.1 + 1e-6
    assert point.p[1] >= 1.9 - 1e-6


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"weights": [1, -1]}, "weights row 1 is -1.0"),
        ({"weights": [1]}, "each of the 2 answers"),
        ({"labelers": ["ann"]}, "labelers has 1 rows"),
        ({"must_link": [(0, 9)]}, r"must_link row 0 is \[0, 9\]"),
        ({"cannot_link": [(0, 1), (2, 2)]}, r"cannot_link row 1 is \[2, 2\]"),
        ({"cannot_link": [(0.5, 1)]}, "integer"),
    ],
)
def test_bad_rows_are_named(more, words):
    with pytest.raises(ValueError, match=words):
        read([(0, 1, 2), (3, 4, 5)], ["yes", "no"], n_items=9, **more)


def test_multipliers_are_carried_over_by_what_a_constraint_says():
    old = answered(n_answers=4)
    new = answered(n_answers=6)
    carried = carry_over(new.keys, old.keys, np.arange(1.0, len(old) + 1))
    assert sorted(carried[carried > 0]) == list(np.arange(1.0, len(old) + 1))
    assert np.sum(carried == 0) == len(new) - len(old)


def test_no_rows_at_all():
    rows = read(None, None, n_items=5)
    assert isinstance(rows, DistanceConstraints)
    assert optimum(make_problem(coordinates(5, 3), rows, GAMMA)).value == 0
