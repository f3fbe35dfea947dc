"""CMBC's EM: it climbs its objective at every temperature, and without penalty is the textbook's EM."""

import numpy as np
import pytest

from tercet_algorithms.cmbc.mixture import Mixture, initial_temperature, log_likelihoods
from tercet_algorithms.cmbc.penalty import make_penalty
from tercet_algorithms.common.links import ItemLinks
from tests.tercet_algorithms.cmbc.data import crossed_bits

BITS, GROUPS = crossed_bits(0.2, n_items=200, seed=3)
KNOWN = np.unique(GROUPS[:, :2], axis=0, return_inverse=True)[1].ravel()


# Strong enough that some pairs would else be together that are not, and the other way round.
PAIRS = np.random.default_rng(1).permutation(200)[:120].reshape(2, 30, 2)
LINKS = ItemLinks.of_pairs(*PAIRS, np.full(30, 3.0), np.full(30, 2.0), 200)


def mixture(update="exact", gamma=0.9, n_clusters=2, bound="joint", known=KNOWN, sample=BITS, links=None):
    return Mixture(BITS, sample, make_penalty(BITS, [known], n_clusters, bound).at(gamma), update, links)


def begin(n_clusters=2, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 0.8, size=(n_clusters, BITS.shape[1]))


@pytest.mark.parametrize("update", ["exact", "batch", "partial"])
@pytest.mark.parametrize("bound", ["joint", "variance"])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("gamma", [0.0, 0.9, 0.995])
def test_the_objective_never_falls(update, bound, temperature, gamma):
    model = mixture(update, gamma, bound=bound)
    theta, values, _ = model.settle(begin(), temperature, tol=0.0, max_iter=12)
    values.append(model.responsibilities(BITS, theta, temperature)[1])
    assert np.diff(values).min() > -1e-12
    assert values[-1] > values[0]


@pytest.mark.heavy(but="1.0")
@pytest.mark.parametrize("update", ["exact", "batch", "partial"])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 3.0])
def test_with_links_the_objective_never_falls_either(update, temperature):
    model = mixture(update, links=LINKS)
    theta, values, _ = model.settle(begin(), temperature, tol=0.0, max_iter=12)
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0]
    kept = [model.labels(theta)[pairs] for pairs in PAIRS]
    free = [mixture(update).labels(theta)[pairs] for pairs in PAIRS]
    for pairs, without, alike in zip(kept, free, (True, False), strict=True):
        keeping, before = (np.sum((labels[:, 0] == labels[:, 1]) == alike) for labels in (pairs, without))
        assert keeping > before


def test_links_of_no_weight_change_nothing():
    none = ItemLinks.of_pairs(*PAIRS, np.zeros(30), np.zeros(30), 200)
    settled = mixture(links=none).settle(begin(), 1.0, 1e-6, 50)
    assert settled[0] == pytest.approx(mixture().settle(begin(), 1.0, 1e-6, 50)[0], abs=1e-9)


def test_every_update_comes_to_rest_where_the_exact_one_rests():
    theta, _, converged = mixture().settle(begin(), 1.0, 1e-7, 500)
    assert converged
    for update in ("batch", "partial"):
        stayed, _, _ = mixture(update).settle(theta, 1.0, 0.0, 3)
        assert stayed == pytest.approx(theta, abs=2e-4)


@pytest.mark.parametrize("update", ["exact", "batch"])
def test_without_a_penalty_it_is_em(update):
    theta = begin(3)
    textbook = theta.copy()
    for _ in range(5):
        p = np.stack([np.prod(np.where(BITS == 1, row, 1 - row), axis=1) for row in textbook], axis=1)
        q = p / p.sum(axis=1, keepdims=True)
        textbook = q.T @ BITS / q.sum(axis=0)[:, None]
    fitted, values, _ = mixture(update, gamma=0.0, n_clusters=3).settle(theta, 1.0, 0.0, 5)
    assert fitted == pytest.approx(textbook)
    p = np.stack([np.prod(np.where(BITS == 1, row, 1 - row), axis=1) for row in theta], axis=1)
    assert values[0] == pytest.approx(np.log(p.mean(axis=1)).mean())


def test_one_combination_is_em_at_any_gamma():
    one_value = np.zeros(len(BITS), dtype=int)
    penalised = mixture(gamma=0.9, known=one_value).settle(begin(), 1.0, 1e-6, 50)[0]
    plain = mixture(gamma=0.0).settle(begin(), 1.0, 1e-6, 50)[0]
    assert penalised == pytest.approx(plain)


def test_responsibilities_at_a_temperature():
    theta = begin(3)
    scores = log_likelihoods(BITS, theta)
    p = np.stack([np.prod(np.where(BITS == 1, row, 1 - row), axis=1) for row in theta], axis=1)
    assert scores == pytest.approx(np.log(p))
    q, _ = mixture(n_clusters=3).responsibilities(BITS, theta, 2.5)
    assert q == pytest.approx(p**0.4 / (p**0.4).sum(axis=1, keepdims=True))


def test_partial_steps_are_coordinates_with_an_e_step_each():
    model, theta = mixture("partial"), begin()
    expected = theta.copy()
    for j in range(theta.shape[1]):
        for k in range(2):
            q, _ = model.responsibilities(BITS, expected, 2.0)
            F = np.polynomial.Polynomial(model.penalty.cubic(expected, q.T @ BITS / len(q), q.mean(axis=0), k, j)[::-1])
            expected[k, j] = next(r.real for r in F.roots() if abs(r.imag) < 1e-12 and 0 < r.real < 1)
    settled, _, _ = model.settle(theta, 2.0, 0.0, 1)
    assert settled == pytest.approx(expected, abs=1e-8)


def test_above_the_first_temperature_clusters_do_not_part():
    model = mixture(gamma=0.0)
    top = initial_temperature(BITS)
    theta = model.initial_position(np.random.RandomState(0))
    coinciding, _, _ = model.settle(theta, 1.5 * top, 1e-6, 200)
    assert np.ptp(coinciding, axis=0).max() < 0.01
    separate, _, _ = model.settle(theta, top / 8, 1e-6, 200)
    assert np.ptp(separate, axis=0).max() > 0.2


def test_some_items_stand_for_all_until_the_end():
    model = mixture(sample=BITS[:80])
    theta = model.settle(begin(), 1.0, 1e-6, 200)[0]
    from_all = mixture().settle(begin(), 1.0, 1e-6, 200)[0]
    assert np.abs(theta - from_all).max() > 0.01
    settled, values, converged = model.settle_on_all_items(theta, 1.0, 1e-6, 200)
    assert converged
    assert settled == pytest.approx(from_all, abs=1e-3)
    assert len(values) > 0
    assert mixture().settle_on_all_items(theta, 1.0, 1e-6, 200) == (theta, [], True)
