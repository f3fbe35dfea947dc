"""CMBC's rivals: the information bottleneck climbs its objective, and residuals know nothing of what was known."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score

from tercet_algorithms import CMBC
from tercet_algorithms.cmbc.bottleneck import Bottleneck
from tercet_algorithms.cmbc.known_clusterings import nmi, read_known
from tercet_algorithms.cmbc.regression import Residuals, regress
from tests.tercet_algorithms.cmbc.data import crossed_bits, crossed_numbers

BITS, GROUPS = crossed_bits(0.3, n_items=300, seed=1)
KNOWN = read_known(GROUPS[:, :2], BITS[:, :1], 300)


def bottleneck(gamma=2.5, n_clusters=2, parallel=False):
    return Bottleneck(BITS, KNOWN.parts(), gamma, n_clusters, parallel)


def begin(n_clusters=2, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_clusters), size=300)


def test_the_objective_of_hard_clusters_is_made_of_mutual_information():
    labels = np.random.default_rng(0).integers(3, size=300)
    q = np.eye(3)[labels]
    relevant = sum(mutual_info_score(labels, column) for column in BITS.T)
    avoided = sum(mutual_info_score(labels, column) for column in [*GROUPS[:, :2].T, BITS[:, 0]])
    shares = np.bincount(labels) / 300
    model = bottleneck(gamma=1.7, n_clusters=3)
    assert model.objective(q) == pytest.approx(relevant - 1.7 * avoided)
    assert model.value(q, 0.5) == pytest.approx(relevant - 1.7 * avoided + 0.5 * np.sum(shares * np.log(shares)))


@pytest.mark.parametrize("temperature", [0.01, 0.5, 2.0])
def test_the_proposal_is_uphill(temperature):
    for seed in range(3):
        model, q = bottleneck(n_clusters=3), begin(3, seed)
        direction = model.proposal(q, temperature) - q
        slope = (model.value(q + 1e-6 * direction, temperature) - model.value(q, temperature)) / 1e-6
        assert slope > 0


@pytest.mark.parametrize("gamma", [0.0, 2.5, 6.0])
def test_halved_steps_never_go_down_and_the_papers_do(gamma):
    _, values, _ = bottleneck(gamma).settle(begin(), 0.3, 0.0, 40)
    assert np.diff(values).min() >= 0
    _, values, _ = bottleneck(gamma, parallel=True).settle(begin(), 0.3, 0.0, 40)
    assert (np.diff(values).min() < -1e-3) == (gamma > 0)


@pytest.mark.filterwarnings("ignore:CMBC stopped after")
def test_noise_that_defeats_the_papers_update_does_not_defeat_halved_steps():
    nmi_by_update = {"exact": [], "batch": []}
    for seed in range(3):
        bits, groups = crossed_bits(0.3, n_items=600, seed=seed)
        for update, values in nmi_by_update.items():
            model = CMBC(method="dibws", update=update, gamma=2.5714, n_init=1, random_state=seed)
            values.append(model.fit(bits, known=groups[:, 0]).known_nmi_[0])
    assert max(nmi_by_update["exact"]) < 0.05
    assert np.mean(nmi_by_update["batch"]) > 0.5


def test_items_of_unknown_cluster_count_for_what_is_known_of_the_others():
    some = read_known(np.where(np.arange(300) < 200, GROUPS[:, 0], -1), None, 300)
    labels = np.random.default_rng(0).integers(2, size=300)
    q = np.eye(2)[labels]
    with_some = Bottleneck(BITS, some.parts(), 1.0, 2, parallel=False).objective(q)
    without = Bottleneck(BITS, [], 1.0, 2, parallel=False).objective(q)
    assert without - with_some == pytest.approx(2 / 3 * mutual_info_score(labels[:200], GROUPS[:200, 0]))


def test_residuals_are_those_of_a_regression():
    X, groups = crossed_numbers(seed=1)
    clusterings = read_known(groups, None, len(X))
    for standardize in (False, True):
        scaled = (X - X.mean(axis=0)) / (X.std(axis=0) if standardize else 1)
        plain = scaled - LinearRegression().fit(groups, scaled).predict(groups)
        assert regress(X, clusterings, standardize).residuals(X, clusterings) == pytest.approx(plain, abs=1e-10)


def test_rare_bits_are_not_blown_up():
    clusterings = read_known(GROUPS[:, 0], None, 300)
    assert regress(BITS, clusterings, True).scale.tolist() == [1] * 18
    assert regress(BITS * 2, clusterings, True).scale == pytest.approx(2 * BITS.std(axis=0))


def test_residuals_of_one_clustering_have_its_means_off():
    X, groups = crossed_numbers(seed=2)
    codes = groups[:, 0] + 2 * groups[:, 1]
    clusterings = read_known(np.where(np.arange(len(X)) < 50, -1, codes), None, len(X))
    residuals = regress(X, clusterings, standardize=False).residuals(X, clusterings)
    means = np.stack([residuals[50:][codes[50:] == code].mean(axis=0) for code in range(4)])
    assert np.ptp(means, axis=0) == pytest.approx(np.zeros(7), abs=1e-10)
    assert residuals[:50] == pytest.approx(X[:50] - X.mean(axis=0))  # of whom nothing is known


def test_nothing_known_is_k_means_and_constants_do_not_matter():
    X, groups = crossed_numbers(seed=3)
    model = CMBC(method="regress-out", random_state=0).fit(np.column_stack([X, np.full(len(X), 1e9 + 0.1)]))
    assert nmi(model.labels_, groups[:, 0]) > 0.8
    residuals = Residuals(X, 2)
    centers, values, _ = residuals.settle(residuals.initial_position(np.random.RandomState(0)), 1.0, 1e-6, 100)
    distances = np.linalg.norm(X[:, None] - centers, axis=2)
    assert residuals.labels(centers).tolist() == distances.argmin(axis=1).tolist()
    assert values == [pytest.approx(-np.mean(distances.min(axis=1) ** 2))]
