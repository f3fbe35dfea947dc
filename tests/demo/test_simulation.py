"""Simulated labelers take as long as people while a run is computed (the whole loop: benchmarks/checks)."""

import numpy as np
import pytest

from tercet.demo import simulate


def test_while_a_run_is_computed_labelers_take_as_long_as_people(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate.Crowd("", "", {}, 0, np.random.default_rng(0))
    pauses: list[float] = []
    monkeypatch.setattr(simulate.time, "sleep", pauses.append)
    crowd.think()
    assert sum(pauses) == pytest.approx(simulate.THINK_SECONDS / simulate.PACE, abs=simulate.TICK_SECONDS)
    pauses.clear()
    crowd.computing.set()
    crowd.think()
    assert sum(pauses) == pytest.approx(simulate.THINK_SECONDS, abs=simulate.TICK_SECONDS)
