"""The supervisor with real Dask workers: coalescing, a killed worker, a fit that hangs."""

from collections.abc import Iterator
from contextlib import contextmanager

import distributed
import pytest
from sqlalchemy import func, select

from tercet.database import Database
from tercet.models import Run
from tercet.runs import lifecycle, results
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import outages
from tercet.worker.place import JobPlace
from tercet.worker.supervisor import Supervisor
from tests.runs.support import (
    ended,
    event_kinds,
    get_run,
    make_hard_songs,
    make_songs,
    request,
    wait_for,
    worker_processes,
)
from tests.runs.test_schedule import answer

SQLITE = pytest.mark.only_on("sqlite")
POSTGRES = pytest.mark.only_on("postgres")
# Enough for the fastest machine to still be at work when the first progress, a second old, is seen.
N_STARTS = 40


@contextmanager
def supervised(database: Database, settings: Settings, **changes: object) -> Iterator[Supervisor]:
    """Run a supervisor with workers of its own."""
    supervisor = Supervisor(database, settings.model_copy(update={"workers": 1, **changes}))
    supervisor.start()
    try:
        yield supervisor
    finally:
        supervisor.stop()


@pytest.mark.heavy
@SQLITE
def test_workers_that_did_not_start_are_started_once_more(
    database: Database, storage: Storage, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_songs(database, storage)
    start, failures = distributed.LocalCluster, [RuntimeError("Cluster failed to start"), TimeoutError()]

    def start_at_the_third_attempt(**options: object) -> object:
        if failures:
            raise failures.pop()
        return start(**options)

    monkeypatch.setattr(distributed, "LocalCluster", start_at_the_third_attempt)
    monkeypatch.setattr(outages, "FIRST_SECONDS", 0.1)
    with supervised(database, settings):
        run = request(database, project)
        wait_for(lambda: ended(database, run))
    assert get_run(database, run).status == "done"
    assert not failures


@pytest.mark.heavy
@POSTGRES
def test_answers_during_a_run_make_exactly_one_more(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_hard_songs(database, storage, n_init=N_STARTS)
    with supervised(database, settings):
        first = request(database, project)
        wait_for(lambda: get_run(database, first).progress > 0)
        answer(database, project, 500)
        assert get_run(database, first).status == "running"
        wait_for(lambda: ended(database, first))
        with database.reading() as session:
            second = session.scalars(select(Run.id).where(Run.number == 2)).one()
        assert wait_for(lambda: ended(database, second)).status == "done"
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 2
    assert [get_run(database, run).answers_to for run in (first, second)] == [1000, 1500]
    assert get_run(database, second).answers_from == 1000


@pytest.mark.heavy
@SQLITE
def test_a_killed_worker_costs_no_iteration(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_hard_songs(database, storage, n_init=N_STARTS)
    with supervised(database, settings):
        run_id = request(database, project)
        stopped = wait_for(lambda: (run := get_run(database, run_id)).progress > 0.1 and run)
        [worker] = worker_processes()
        worker.kill()
        run = wait_for(lambda: ended(database, run_id))
    assert (run.status, run.attempts, run.token) == ("done", 1, 2)
    assert run.metrics["resumed_start"] >= N_STARTS * 0.1 - 1
    assert run.answers_to == stopped.answers_to
    assert event_kinds(database, project).count(("run", "done")) == 1


@pytest.mark.heavy
@SQLITE
def test_a_fit_that_hangs_is_ended_from_outside_and_the_next_is_computed(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_hard_songs(database, storage, n_init=100)
    harmless = make_songs(database, storage, key="harmless")
    with supervised(database, settings, run_lease_seconds=3.0) as supervisor:
        hanging_run = request(database, project)
        wait_for(lambda: get_run(database, hanging_run).progress > 0)
        checkpoint = storage.put(results.checkpoint_key(get_run(database, hanging_run), 1), b"")
        [worker] = worker_processes()
        worker.suspend()
        supervisor.place = supervisor.place._replace(run_hours=1e-6)
        run = wait_for(lambda: ended(database, hanging_run))
        supervisor.place = JobPlace.of(settings)
        assert (run.status, run.error, run.attempts) == ("failed", lifecycle.STUCK.format(hours=1e-6), 1)
        harmless_run = request(database, harmless)
        assert wait_for(lambda: ended(database, harmless_run)).status == "done"
        assert not worker.is_running()
    assert not storage.exists(checkpoint)
    assert get_run(database, hanging_run).attempts == 1
