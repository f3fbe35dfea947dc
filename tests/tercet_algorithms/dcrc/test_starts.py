"""Starts in several threads: the same results, progress, a clean stop; and what verbose prints."""

import copy

import numpy as np
import pytest

from tercet_algorithms import DCRC
from tests.tercet_algorithms.callbacks import StopAt
from tests.tercet_algorithms.estimators import X, Y, questions


@pytest.mark.heavy(but="{}")
@pytest.mark.parametrize("parameters", [{}, {"labeler_tables": "learn"}, {"epsilon": 0}], ids=str)
def test_starts_side_by_side_find_the_same(parameters):
    model = DCRC(3, candidates="features", n_init=5, n_moves=2, random_state=0, **parameters)
    answered = {**questions(Y, 60), "labelers": np.arange(60) % 2}
    alone, states = copy.deepcopy(model.fit(X, **answered)), []
    for n_jobs in (2, 3):
        beside = model.set_params(n_jobs=n_jobs).fit(X, **answered, callback=states.append)
        assert np.array_equal(beside.posterior_, alone.posterior_)
        assert np.array_equal(beside.lower_bounds_, alone.lower_bounds_)
        assert [state.start for state in states if state.current.finished] == list(range(7))
        fractions = [state.fraction for state in states]
        assert fractions == sorted(fractions)
        states.clear()


@pytest.mark.heavy
def test_starts_side_by_side_stop_and_resume():
    answered, stop = questions(Y, 60), StopAt(lambda state: state.start == 2)
    model = DCRC(3, candidates="features", n_init=5, n_moves=2, random_state=0, n_jobs=2)
    straight = copy.deepcopy(model.fit(X, **answered))
    model.fit(X, **answered, callback=stop)
    states = stop.states
    assert len(states) == 3
    alone = model.set_params(n_jobs=None)
    alone.fit(X, **answered, callback=states.append)
    for state in (states[2], states[3]):  # between two starts, and within one
        for n_jobs in (None, 2):
            resumed = model.set_params(n_jobs=n_jobs).fit(X, **answered, resume=state)
            assert np.array_equal(resumed.posterior_, straight.posterior_)


@pytest.mark.heavy
def test_moves_side_by_side_begin_where_they_would_alone():
    """Among moves that are made at once some must be made again, as one before them has found something better."""
    rng = np.random.default_rng(0)
    y = rng.integers(8, size=200)
    points = 4 * rng.normal(size=(8, 6))[y] + rng.normal(size=(200, 6))
    # Classes 0 and 1, and 2 and 3, are one cluster each; 4 and 5 are two clusters each.
    mixed = np.array([0, 0, 1, 1, 2, 3, 4, 5])[y]
    mixed[np.isin(y, (4, 5)) & (rng.random(200) < 0.5)] += 4
    model, states = DCRC(8, candidates="features", n_init=1, n_moves=12, epsilon=0.05, random_state=0), []
    answered = {**questions(y, 100), "init": mixed}
    alone = copy.deepcopy(model.fit(points, **answered, callback=states.append))
    ends = [state for state in states if state.current.finished]
    gains = np.diff([state.best.bound for state in ends])
    assert len(gains) == 12
    assert 2 <= np.count_nonzero(gains > 0.01) < 12
    within = next(state for state in states if state.start and not state.current.finished)
    for n_jobs in (2, 3, 8):
        model.set_params(n_jobs=n_jobs)
        for resume in (None, ends[2], within):
            beside = model.fit(points, **answered, resume=resume)
            assert np.array_equal(beside.posterior_, alone.posterior_)
            assert np.array_equal(beside.coef_, alone.coef_)


def test_verbose_prints_how_far_the_fit_is(capsys):
    DCRC(3, n_init=1, n_moves=0, random_state=0, verbose=True).fit(X)
    assert capsys.readouterr().out.splitlines()[-1].startswith("100% done, iteration ")
