"""Very many items: blocks, samples and the account of what still moves give what the plain way gives."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_table
from tercet_algorithms.answers.simulated_labelers import random_triplets
from tercet_algorithms.common import feature_space
from tercet_algorithms.common.feature_space import moments
from tercet_algorithms.dcrc import sampling
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tests.tercet_algorithms.dcrc.test_dcrc import overlapping, questions


def problem(n_items=400, n=200, seed=0):
    rng = np.random.default_rng(seed)
    triplets = random_triplets(n_items, n, rng)
    logs = np.log(answer_table("relative", 0.1).T[rng.integers(3, size=n)])
    field = MeanField(triplets, logs)
    X = np.column_stack([rng.normal(size=(n_items, 4)), np.ones(n_items)])
    bound = LowerBound(X, field, tau=0.7, lam=0.01, balance=True, weight=3 / len(field.items))
    W = rng.normal(size=(3, 5))
    return bound, W, bound.first_posteriors(W, bound.evidence()), logs


@pytest.mark.parametrize("size", [1, 7, 100])
def test_blocks_of_any_size_give_the_same_bound_and_gradient(monkeypatch, size):
    bound, W, q, _ = problem()
    all_rows = bound.at_fixed_q(W, q, bound.evidence())
    monkeypatch.setattr(feature_space, "_BLOCK", size)
    parts = bound.at_fixed_q(W, q, bound.evidence())
    assert parts[0] == pytest.approx(all_rows[0], abs=1e-12)
    assert np.allclose(parts[1], all_rows[1], atol=1e-12)


@pytest.mark.parametrize("n", [200, 900], ids=["sparse answers", "dense answers"])
def test_updating_only_what_can_change_ends_at_a_fixed_point_and_never_lowers_the_bound(n):
    bound, W, q, _ = problem(n=n)
    field, log_p = bound.field, bound.softmax(W).log_p[:, : bound.n_constrained].T
    values = [bound.at_fixed_q(W, q, bound.evidence())[0]]
    for tol in (1e-1, 1e-2, 1e-3, 1e-10):
        field.settle(q, log_p, tol, 5000)
        values.append(bound.at_fixed_q(W, q, bound.evidence())[0])
    assert np.all(np.diff(values) > -1e-12)
    assert values[-1] > values[0]
    settled = q.copy()
    field.settle(q, log_p, 0.0, 1)  # all items
    assert np.abs(q - settled).max() < 1e-8


def test_a_sample_weighs_every_term_as_the_whole_does():
    bound, W, q, logs = problem(n_items=4000, n=1200)
    rng = np.random.RandomState(0)
    drawn = [sampling.sample(bound, logs, 0.25, rng) for _ in range(20)]
    values = []
    for small in drawn:
        part_of_q = small.first_posteriors(W, small.evidence())
        values.append(small.weight * small.field.expected_log_likelihood(part_of_q))
        assert len(small.field.triplets) == 300
        assert len(small.X) - small.n_evident == int(0.25 * (len(bound.X) - bound.n_evident))
    assert np.mean(values) == pytest.approx(bound.weight * bound.field.expected_log_likelihood(q), rel=0.05)


def test_samples_are_for_many_items_only():
    assert sampling.shares(100_000) == []
    assert sampling.shares(200_000) == [1 / 4]
    assert sampling.shares(1_000_000) == [1 / 16, 1 / 4]


def test_starts_see_two_fifths_of_the_items():
    assert sampling.some_items(2_000, seed=0) == slice(None)
    assert [len(sampling.some_items(n, seed=0)) for n in (3_000, 8_000, 99_000)] == [2_000, 3_200, 10_000]


@pytest.mark.heavy(but="1")
@pytest.mark.parametrize("seed", range(4))
def test_a_fit_that_begins_with_samples_is_as_good(monkeypatch, seed):
    X, y = overlapping(n_items=1500, spread=0.8)  # clear enough for one optimum
    answered = questions(y, 500)
    model = DCRC(4, epsilon=0.05, n_init=1, n_moves=1, random_state=seed)
    plain = model.fit(X, **answered)
    bound, labels = plain.lower_bound_, plain.labels_
    monkeypatch.setattr(sampling, "_FEWEST", 100)
    monkeypatch.setattr(sampling, "_START_FEWEST", 200)
    monkeypatch.setattr(sampling, "_START_MOST", 200)
    sampled = model.fit(X, **answered)
    assert sampled.lower_bound_ > bound - 0.02
    assert adjusted_rand_score(sampled.labels_, labels) > 0.9


@pytest.mark.heavy
def test_single_precision_stays_and_gives_the_same_clusters():
    X, y = overlapping(spread=0.8)  # clear enough for one optimum: among several, rounding decides where a fit ends
    answered = questions(y, 100)
    double, single = (
        DCRC(4, n_init=2, n_moves=0, random_state=0).fit(part, **answered) for part in (X, X.astype("f4"))
    )
    assert (double.posterior_.dtype, single.posterior_.dtype) == (np.float64, np.float32)
    assert single.predict_proba(X.astype("f4")).dtype == np.float32
    assert double.predict_proba(X).dtype == np.float64
    assert adjusted_rand_score(double.labels_, single.labels_) == 1
    assert double.lower_bound_ == pytest.approx(single.lower_bound_, abs=1e-4)


@pytest.mark.parametrize("kernel", [None, "nystroem"])
def test_a_memory_map_is_read_and_left_alone(tmp_path, kernel):
    X, y = overlapping()
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    before = (tmp_path / "X.npy").read_bytes()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = DCRC(4, kernel=kernel, n_init=2, n_moves=1, random_state=0).fit(mapped, **questions(y, 60))
    assert np.array_equal(model.predict(mapped), model.predict(X.astype(np.float32)))
    assert (tmp_path / "X.npy").read_bytes() == before


def test_moments_over_blocks_are_those_of_the_whole(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1e-3, 1e4] + [1e6, 0, 5]
    monkeypatch.setattr(feature_space, "_BLOCK", 7)
    mean, scale = moments(X)
    assert np.allclose(mean, X.mean(axis=0))
    assert np.allclose(scale, X.std(axis=0))
    assert moments(np.full((5, 1), 3.3))[1] == 1


def test_posteriors_of_an_evaluation_are_written_over_by_the_next():
    bound, W, _, _ = problem()
    first = bound.softmax(W).P
    assert bound.softmax(-W).P is first


@pytest.mark.parametrize(("transductive", "epsilon"), [(True, 0.05), (False, 0.05), (True, 0.0)])
def test_labels_are_those_of_the_answers_or_of_the_model_alone(transductive, epsilon):
    X, y = overlapping()
    model = DCRC(4, transductive=transductive, epsilon=epsilon, n_init=1, n_moves=0, random_state=0)
    model.fit(X, **questions(y, 120))
    answered, alone = model.posterior_.argmax(axis=1), model.predict(X)
    assert not np.array_equal(answered, alone)
    assert np.array_equal(model.labels_, answered if transductive and epsilon else alone)
    labels_before = DCRC(4).set_state_arrays(model.state_arrays()).labels_
    assert np.array_equal(labels_before, model.labels_)
