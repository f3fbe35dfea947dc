"""Kernels as features: the map against the kernel matrix, kernel DCRC against linear, predictions out of sample."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels

from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.common.feature_space import FeatureSpace, SpacePlan
from tercet_algorithms.common.kernels import MOST_EXACT, approximate_map, exact_map
from tests.tercet_algorithms.dcrc.test_dcrc import overlapping, questions, saved_and_loaded


def laplacian_by_hand(a, b, gamma=0.5):
    return float(np.exp(-gamma * np.abs(a - b).sum()))


def rows(n=60, seed=0, n_features=4):
    return np.random.default_rng(seed).normal(size=(n, n_features))


@pytest.mark.parametrize(
    ("kernel", "gamma", "params"),
    [("rbf", None, {}), ("rbf", 0.3, {}), ("laplacian", 0.2, {}), ("poly", 0.1, {"degree": 2, "coef0": 1.0})],
)
def test_exact_features_have_the_kernel_for_inner_product_at_the_items_and_elsewhere(kernel, gamma, params):
    Z, new = rows(), rows(20, seed=1)
    result = exact_map(Z, kernel, gamma, params)
    Phi = result.transform(Z)
    K = pairwise_kernels(Z, metric=kernel, filter_params=True, gamma=gamma, **params)
    assert np.allclose(Phi @ Phi.T, K, atol=1e-6 * np.abs(K).max())
    cross = pairwise_kernels(new, Z, metric=kernel, filter_params=True, gamma=gamma, **params)
    assert np.allclose(result.transform(new) @ Phi.T, cross, atol=1e-3 * np.abs(K).max())


def test_a_callable_is_the_kernel_of_its_formula():
    Z = rows(30)
    by_hand, named = exact_map(Z, laplacian_by_hand, None, {"gamma": 0.2}), exact_map(Z, "laplacian", 0.2, {})
    new = rows(10, seed=2)
    assert np.allclose(by_hand.transform(new), named.transform(new), atol=1e-6)


def test_dependent_features_are_dropped():
    Z = rows(50, n_features=3)
    assert exact_map(Z, "linear", None, {}).width == 3
    assert exact_map(np.zeros((5, 2)), "linear", None, {}).transform(np.zeros((3, 2))).tolist() == [[0]] * 3
    assert exact_map(np.repeat(rows(10), 4, axis=0), "rbf", None, {}).width <= 10


def test_approximate_features_come_near_the_gaussian_kernel():
    Z, rng = rows(200), np.random.RandomState(0)
    K = pairwise_kernels(Z, metric="rbf", gamma=0.25)
    landmarks = approximate_map(Z, "nystroem", None, 200, rng).transform(Z)
    assert np.allclose(landmarks @ landmarks.T, K, atol=1e-6), "with all items for landmarks it is exact"
    few = approximate_map(Z[:50], "nystroem", 0.25, 50, rng).transform(Z)
    waves = approximate_map(Z, "rff", 0.25, 4000, rng).transform(Z)
    assert np.abs(few @ few.T - K).mean() < 0.1 * K.mean()
    assert np.abs(waves @ waves.T - K).max() < 0.12


@pytest.mark.heavy(but="{}")
@pytest.mark.parametrize("parameters", [{}, {"balance": False, "solver": "em"}, {"standardize": False}], ids=str)
def test_the_linear_kernel_is_no_kernel(parameters):
    X, y = overlapping()
    answered = questions(y, 120)
    model = DCRC(4, candidates="features", n_init=3, n_moves=0, random_state=0, **parameters)
    plain, kernel = (clone(model).set_params(kernel=k).fit(X, **answered) for k in (None, "linear"))
    assert kernel.lower_bound_ == pytest.approx(plain.lower_bound_, abs=1e-3)
    assert adjusted_rand_score(plain.labels_, kernel.labels_) > 0.98
    assert np.abs(plain.predict_proba(X) - kernel.predict_proba(X)).mean() < 0.01


def circles(*arguments, **parameters):
    return make_circles(*arguments, factor=0.5, **parameters)


def mean_ari_of_new_items(make, **parameters):
    result = []
    for seed in range(3):
        X, y = make(330, noise=0.06, random_state=seed)
        triplets = random_triplets(250, 90, np.random.default_rng(seed))
        model = DCRC(2, candidates="features", n_init=4, n_moves=0, random_state=0, **parameters)
        model.fit(X[:250], triplets=triplets, answers=true_answers(y, triplets))
        result.append(adjusted_rand_score(y[250:], model.predict(X[250:])))
    return np.mean(result)


@pytest.fixture(scope="module")
def without_kernel():
    """What lines find of circles and of moons."""
    return mean_ari_of_new_items(circles), mean_ari_of_new_items(make_moons)


@pytest.mark.heavy(but="nystroem")
@pytest.mark.uncounted
@pytest.mark.parametrize("kernel", ["rbf", "nystroem", "rff"])
def test_kernels_find_what_no_line_separates(kernel, without_kernel):
    of_circles, of_moons = without_kernel
    assert of_circles < 0.2
    assert mean_ari_of_new_items(circles, kernel=kernel) > 0.9
    assert mean_ari_of_new_items(make_moons, kernel=kernel, gamma=2.0) > of_moons + 0.1


@pytest.mark.heavy(but="rff")
@pytest.mark.parametrize("kernel", ["rbf", "nystroem", "rff", laplacian_by_hand])
def test_a_kernel_model_predicts_and_refits_in_another_process(kernel, tmp_path):
    X, y = overlapping(n_items=120)
    first = DCRC(4, kernel=kernel, n_components=40, n_init=2, n_moves=0, random_state=0).fit(X, **questions(y, 120))
    arrays = saved_and_loaded(first.state_arrays(), tmp_path)
    loaded = DCRC(4, kernel=kernel, n_components=40, n_init=1, n_moves=0, warm_start=True, random_state=9)
    loaded.set_state_arrays(arrays)
    assert np.array_equal(loaded.predict_proba(X), first.predict_proba(X))
    loaded.fit(X, **questions(y, 120))
    assert loaded.lower_bound_ == pytest.approx(first.lower_bound_, abs=5e-3)
    assert adjusted_rand_score(loaded.labels_, first.labels_) > 0.95
    assert loaded.n_iter_ <= 3


@pytest.mark.heavy(but="rff")
@pytest.mark.parametrize("kernel", ["rbf", "nystroem", "rff"])
def test_a_warm_start_with_more_items_keeps_the_scores(kernel):
    X, y = overlapping()
    answered = questions(y[:200], 150)
    model = DCRC(4, kernel=kernel, n_init=2, n_moves=0, random_state=0).fit(X[:250], **answered)
    before = model.predict(X)
    model.set_params(warm_start=True, n_init=1, max_iter=1, tol=1.0).fit(X, **answered)
    assert adjusted_rand_score(model.predict(X), before) > 0.85


def test_a_warm_start_with_another_kernel_is_refused():
    X, _ = overlapping(n_items=60)
    model = DCRC(3, kernel="rbf", n_init=1, n_moves=0, warm_start=True).fit(X)
    with pytest.raises(ValueError, match="same kernel and gamma"):
        model.set_params(gamma=0.7).fit(X)
    with pytest.raises(ValueError, match="same kernel and gamma"):
        model.set_params(kernel=None, gamma=None).fit(X)
    with pytest.raises(ValueError, match="another kernel"):
        DCRC(3).set_state_arrays(model.set_params(kernel="rbf").state_arrays())


def test_bad_kernels_are_named():
    X, _ = overlapping(n_items=60)
    with pytest.raises(ValueError, match=r"'kernel' parameter of DCRC must be .* Got 'gauss'"):
        DCRC(3, kernel="gauss").fit(X)
    with pytest.raises(ValueError, match=r"'gamma' parameter of DCRC must be None or a float .* Got -1"):
        DCRC(3, kernel="rbf", gamma=-1).fit(X)
    with pytest.raises(ValueError, match="10001 items are more than 10000: use kernel='nystroem'"):
        DCRC(3, kernel="rbf").fit(np.zeros((MOST_EXACT + 1, 1)))
    with pytest.raises(ValueError, match="not finite"):
        DCRC(3, kernel=lambda a, b: np.nan).fit(X)
    with pytest.raises(ValueError, match="not positive"):
        DCRC(3, kernel=lambda a, b: -float(a @ b)).fit(X)


def test_a_kernel_sees_standardised_columns():
    X = rows() * [1, 10, 100, 1000] + 5
    plan = SpacePlan(True, "rbf", None, {}, 10)
    space = plan.fit(X, None, np.random.RandomState(0))
    standard = FeatureSpace(np.zeros(4), np.ones(4), exact_map((X - X.mean(0)) / X.std(0), "rbf", None, {}))
    assert np.allclose(space.transform(X), standard.transform((X - X.mean(0)) / X.std(0)), atol=1e-6)
