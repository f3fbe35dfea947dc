"""When a fit stores its state: as often as people look at its progress, and for at most a tenth of its time."""

import threading
from collections.abc import Iterator
from itertools import chain, pairwise, repeat
from types import SimpleNamespace

import pytest

from tercet.database import Database
from tercet.models import Run
from tercet.storage import Storage
from tercet.worker import checkpoints
from tercet.worker.checkpoints import Checkpoints, Job
from tercet_algorithms.dcrc.search import FitState

pytestmark = pytest.mark.only_on("sqlite")  # the times are those of any database
STEP = 0.1  # seconds between two iterations of the fit


@pytest.fixture
def job(database: Database, storage: Storage) -> Job:
    return Job(database, storage, Run(progress=0.0), threading.Event(), 60.0)


def written_at(job: Job, monkeypatch: pytest.MonkeyPatch, costs: Iterator[float], seconds: float) -> list[float]:
    """The times at which a fit of so many seconds begins to store its state, if each time costs what is said."""
    clock = SimpleNamespace(time=0.0)
    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: clock.time))
    times = []

    def write(self: Checkpoints, state: FitState) -> None:
        times.append(clock.time)
        clock.time += next(costs)

    monkeypatch.setattr(Checkpoints, "write", write)
    callback = Checkpoints(job, "digest")
    while clock.time < seconds:
        clock.time += STEP
        callback(None)  # type: ignore[arg-type]  # the state is for `write` alone
    return times


def test_a_cheap_state_is_stored_twice_a_second(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(written_at(job, monkeypatch, repeat(0.001), 20)) == pytest.approx(40, abs=8)


def test_a_state_that_costs_much_takes_a_tenth_of_the_time(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    times = written_at(job, monkeypatch, repeat(1.0), 200)
    assert [later - earlier for earlier, later in pairwise(times[1:])] == pytest.approx(
        [10] * (len(times) - 2), abs=2 * STEP
    )


@pytest.mark.parametrize("before", [0, 5])
def test_one_write_that_had_to_wait_stops_no_progress(job: Job, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    costs = chain(repeat(0.001, before), [2.0], repeat(0.001))
    times = written_at(job, monkeypatch, costs, 60)
    assert max(later - earlier for earlier, later in pairwise(times)) <= 2.0 + 2 * STEP
