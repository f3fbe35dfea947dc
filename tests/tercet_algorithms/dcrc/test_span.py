"""Far more features than items: in coordinates of the items' span the model is the same one, and costs less."""

import copy

import numpy as np
import pytest

from tercet_algorithms import DCRC, FitState
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc import belief, dcrc
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tercet_algorithms.dcrc.span import narrow_rows, span_of


def wide(n_items=90, n_features=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_items)
    X = 0.5 * rng.normal(size=(3, n_features))[y] + rng.normal(size=(n_items, n_features))
    return X, y


def answers_about(y, n=60, seed=0):
    triplets = random_triplets(len(y), n, np.random.default_rng(seed))
    return {"triplets": triplets, "answers": true_answers(y, triplets)}


def without_spans(monkeypatch):
    monkeypatch.setattr(dcrc, "span_of", lambda X: None)
    monkeypatch.setattr(belief, "narrow_rows", lambda X: X)


X, Y = wide()
ASKED = answers_about(Y)


@pytest.mark.parametrize("repeated", [False, True], ids=["full rank", "items repeated"])
def test_coordinates_have_the_same_inner_products_and_scores(repeated):
    rows = np.concatenate([X[:40], X[:20]]) if repeated else X
    span, rng = span_of(rows), np.random.default_rng(0)
    assert span is not None
    assert span.coordinates.shape == (len(rows), 40 if repeated else 90)
    np.testing.assert_allclose(span.coordinates @ span.coordinates.T, rows @ rows.T, atol=1e-8)
    V = rows.T @ span.dual
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-8)
    W = rng.normal(size=(3, rows.shape[1] + 1))
    narrow = span.narrowed(W)
    ones = np.ones((len(rows), 1))
    np.testing.assert_allclose(np.hstack([span.coordinates, ones]) @ narrow.T, np.hstack([rows, ones]) @ W.T, atol=1e-8)
    np.testing.assert_allclose(span.narrowed(span.widened(narrow)), narrow, atol=1e-8)
    assert np.linalg.norm(span.widened(narrow)[:, :-1]) <= np.linalg.norm(W[:, :-1])


def test_only_features_that_are_far_more_than_items_are_narrowed():
    assert span_of(X[:, :180]) is None
    assert narrow_rows(X[:, :180]).shape == (90, 180)
    assert span_of(np.zeros((5, 40))) is None


def test_the_bound_and_its_gradient_are_those_of_all_features():
    """For weights in the span; outside of it only the penalty would be higher."""
    field = MeanField(ASKED["triplets"], np.log(np.random.default_rng(0).uniform(0.1, 0.9, (60, 5))))
    order = np.concatenate([field.items, np.setdiff1d(np.arange(90), field.items)])
    design = np.column_stack([X[order], np.ones(90)])
    span, options = span_of(X[order]), {"tau": 1.0, "lam": 0.1, "balance": True, "weight": 1 / 60}
    assert span is not None
    of_all = LowerBound(design, field, **options)
    narrow = LowerBound(np.column_stack([span.coordinates, np.ones(90)]), field, **options)
    v = np.random.default_rng(1).normal(size=(3, 91)) / 10
    W = span.widened(v)
    q = of_all.first_posteriors(W, of_all.evidence())
    (value, slope), (narrow_value, narrow_slope) = (
        bound.at_fixed_q(weights, q, bound.evidence()) for bound, weights in ((of_all, W), (narrow, v))
    )
    assert narrow_value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(span.narrowed(slope), narrow_slope, atol=1e-9)
    np.testing.assert_allclose(span.widened(narrow_slope), slope, atol=1e-9)
    outside = W + np.column_stack([np.random.default_rng(2).normal(size=(3, 400)), np.zeros(3)])
    outside += W - span.widened(span.narrowed(outside))
    assert of_all.at_fixed_q(outside, q, of_all.evidence())[0] < value


@pytest.mark.parametrize(
    "parameters", [{}, {"standardize": False}, {"labeler_tables": "learn", "epsilon": 0.1}], ids=str
)
def test_the_fit_is_that_of_all_features(parameters, monkeypatch):
    others, _ = wide(seed=1)
    settings = {"epsilon": 0.05, "n_init": 1, "n_moves": 0, "tol": 1e-9, "random_state": 0, **parameters}
    mixed = np.where(np.arange(90) % 5, Y, 0)  # to begin from
    narrow = DCRC(3, candidates="features", **settings).fit(X, **ASKED, init=mixed)
    without_spans(monkeypatch)
    of_all = DCRC(3, candidates="features", **settings).fit(X, **ASKED, init=mixed)
    assert narrow.coef_.shape == of_all.coef_.shape == (3, 400)
    assert narrow.lower_bound_ == pytest.approx(of_all.lower_bound_, abs=1e-4)
    assert narrow.lam_ == of_all.lam_
    # In single precision: the bound is flat where an item lies between two clusters.
    for ours, theirs in (
        (narrow.posterior_, of_all.posterior_),
        (narrow.predict_proba(others), of_all.predict_proba(others)),
        (narrow.coef_, of_all.coef_),
    ):
        assert np.abs(ours - theirs).mean() < 0.01 * np.abs(theirs).mean()


@pytest.mark.heavy(but="auto")
@pytest.mark.parametrize("candidates", ["features", "auto"])
def test_refits_resumed_fits_and_stored_models_see_all_features(candidates):
    states: list[FitState] = []
    settings = {"candidates": candidates, "n_init": 2, "n_moves": 1, "random_state": 0}
    model = DCRC(3, **settings).fit(X, **ASKED, callback=states.append)
    assert model.coef_.shape[1] >= 400
    resumed = DCRC(3, **settings).fit(X, **ASKED, resume=states[len(states) // 2])
    np.testing.assert_array_equal(resumed.posterior_, model.posterior_)
    loaded = DCRC(3, **settings).set_state_arrays(model.state_arrays())
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    more = answers_about(Y, 70)
    labels = copy.deepcopy(model.labels_)
    warm = model.set_params(warm_start=True, n_init=1, n_moves=0).fit(X, **more)
    assert np.mean(warm.labels_ == labels) > 0.9
    # Without some items weights have a part outside of the others' span, which says nothing about these.
    fewer = model.fit(X[:80], **answers_about(Y[:80], 70))
    assert np.mean(fewer.labels_ == labels[:80]) > 0.9
