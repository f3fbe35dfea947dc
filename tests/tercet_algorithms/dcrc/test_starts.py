"""Starts in several threads: the same results, progress, a clean stop; and what verbose prints."""

import copy

import numpy as np
import pytest

from tercet_algorithms import DCRC
from tests.tercet_algorithms.callbacks import StopAt
from tests.tercet_algorithms.estimators import X, Y, questions


@pytest.mark.parametrize("parameters", [{}, {"labeler_tables": "learn"}, {"epsilon": 0}], ids=str)
def test_starts_side_by_side_find_the_same(parameters):
    model = DCRC(3, n_init=5, n_moves=2, random_state=0, **parameters)
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


def test_starts_side_by_side_stop_and_resume():
    answered, stop = questions(Y, 60), StopAt(lambda state: state.start == 2)
    model = DCRC(3, n_init=5, n_moves=2, random_state=0, n_jobs=2)
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


def test_verbose_prints_how_far_the_fit_is(capsys):
    DCRC(3, n_init=1, n_moves=0, random_state=0, verbose=True).fit(X)
    assert capsys.readouterr().out.splitlines()[-1].startswith("100% done, iteration ")
