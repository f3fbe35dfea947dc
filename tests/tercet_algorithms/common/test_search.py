"""The loop of all fits: callbacks, a clean end, and states that survive as plain arrays."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tercet_algorithms import StopFit
from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.search import ArrayRecord, check_resumable, run_search


@dataclass(frozen=True)
class Point(ArrayRecord):
    x: Array
    is_end: bool


@dataclass(frozen=True)
class Walk(ArrayRecord):
    iteration: int
    lower_bound: float
    name: str
    current: Point
    best: Point | None

    @property
    def done(self):
        return self.current.is_end

    @property
    def fraction(self):
        return self.iteration / 5


def step(state):
    iteration = state.iteration + 1
    current = Point(state.current.x + iteration, iteration == 5)
    return replace(state, iteration=iteration, lower_bound=-1 / iteration, current=current, best=state.current)


START = Walk(0, -np.inf, "walk", Point(np.zeros(2), is_end=False), None)


def test_each_state_goes_to_the_callback_until_the_fit_is_done():
    states = []
    last, stopped = run_search(START, step, states.append)
    assert [state.iteration for state in states] == [1, 2, 3, 4, 5]
    assert last is states[-1]
    assert not stopped
    assert run_search(last, step, states.append) == (last, False)
    assert len(states) == 5, "a state that is done goes nowhere"


def test_stop_fit_ends_the_search_and_other_errors_pass_through():
    def stop(state):
        if state.iteration == 2:
            raise StopFit

    last, stopped = run_search(START, step, stop)
    assert stopped
    assert last.iteration == 2
    with pytest.raises(ZeroDivisionError):
        run_search(START, step, lambda state: 1 / 0)


def test_a_state_is_the_same_after_a_journey_as_plain_arrays(tmp_path):
    for state in (START, step(START)):
        np.savez(tmp_path / "state.npz", **state.to_arrays())
        with np.load(tmp_path / "state.npz", allow_pickle=False) as saved:
            back = Walk.from_arrays(dict(saved))
        assert type(back.iteration) is int
        assert type(back.current.is_end) is bool
        assert (back.name, back.lower_bound) == (state.name, state.lower_bound)
        assert np.array_equal(back.current.x, state.current.x)
        assert (back.best is None) == (state.best is None)
        resumed, straight = (run_search(first, step)[0] for first in (back, state))
        assert np.array_equal(resumed.current.x, straight.current.x)


def test_verbose_prints_a_line_for_each_state(capsys):
    run_search(START, step, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[1] == " 40% done, iteration 2: -0.5"


def test_the_state_of_another_fit_is_refused():
    check_resumable((3, 2), (3, 2))
    with pytest.raises(ValueError, match=r"resume is the state of another fit: it has \(3, 2\), expected \(4, 2\)"):
        check_resumable((3, 2), (4, 2))
