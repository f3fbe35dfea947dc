"""Killed servers, schedulers and workers, and two servers over one database: every run is computed, and once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
from sqlalchemy import update

from tercet.database import Database
from tercet.demo.server import free_port, running_server
from tercet.models import Run
from tercet.runs import lifecycle
from tercet.settings import Settings
from tercet.storage import Storage
from tests.runs.support import (
    answer_truly,
    ended,
    event_kinds,
    get_run,
    make_hard_songs,
    make_songs,
    request,
    wait_for,
    worker_processes,
)
from tests.worker.test_supervisor import N_STARTS, POSTGRES, SQLITE, supervised

ROOT = Path(__file__).resolve().parent.parent.parent
# Preloaded by a worker: in place of every fit a C function that keeps the interpreter's lock.
HANGS = """
import ctypes
from tercet.worker import job

job.JOBS = dict.fromkeys(job.JOBS, lambda job: ctypes.PyDLL(None).sleep(600))
"""


@SQLITE
def test_a_run_that_kills_its_workers_takes_no_other_with_it(
    database: Database, storage: Storage, settings: Settings
) -> None:
    deadly = make_hard_songs(database, storage, n_init=100, key="deadly")
    harmless = make_songs(database, storage, key="harmless")
    with supervised(database, settings, run_lease_seconds=3.0):
        deadly_run = request(database, deadly)
        wait_for(lambda: get_run(database, deadly_run).attempts == 1)
        harmless_run = request(database, harmless)
        for attempt in range(1, lifecycle.MAX_ATTEMPTS + 1):
            wait_for(lambda attempt=attempt: get_run(database, deadly_run).attempts == attempt)
            wait_for(worker_processes)[0].kill()
            with database.transaction() as session:  # as if it had come further before: it is at the same place again
                session.execute(update(Run).where(Run.id == deadly_run).values(progress=1.0))
        run = wait_for(lambda: ended(database, deadly_run))
        assert (run.status, run.error) == ("failed", lifecycle.GAVE_UP)
        harmless = wait_for(lambda: ended(database, harmless_run))
        assert (harmless.status, harmless.attempts) == ("done", 1)


@POSTGRES
def test_two_supervisors_compute_every_run_once(database: Database, storage: Storage, settings: Settings) -> None:
    projects = [make_songs(database, storage, key=f"songs-{number}") for number in range(4)]
    for project in projects:
        answer_truly(database, project, 10)
    database_of_another_server = Database(settings.database_url)
    with supervised(database, settings), supervised(database_of_another_server, settings):
        runs = [request(database, project) for project in projects]
        done = [wait_for(lambda run=run: ended(database, run)) for run in runs]
    database_of_another_server.close()
    assert {(run.status, run.attempts, run.token) for run in done} == {("done", 1, 1)}
    for project in projects:
        assert event_kinds(database, project).count(("clusters", None)) == 1


@SQLITE
def test_a_killed_server_takes_its_runs_up_again(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_hard_songs(database, storage, n_init=N_STARTS)
    environment = {
        "data": str(settings.data),
        "database_url": settings.database_url,
        "workers": "1",
        "run_lease_seconds": "2",
    }
    run_id = request(database, project)
    with running_server(environment) as server:
        wait_for(lambda: get_run(database, run_id).progress > 0.1)
        children = psutil.Process(server.process.pid).children(recursive=True)
        server.process.kill()
        _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    stopped = get_run(database, run_id)
    assert stopped.status == "running"
    with running_server(environment):
        run = wait_for(lambda: ended(database, run_id))
    assert (run.status, run.token) == ("done", 2)
    assert run.metrics["resumed_start"] >= N_STARTS * 0.1 - 1


@contextmanager
def dask_processes(port: int, *options: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A scheduler and a worker with these options, as on machines of their own."""
    dask, place = [sys.executable, "-m", "dask"], ["--host", "127.0.0.1", "--no-dashboard"]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = subprocess.Popen([*dask, "scheduler", *place, "--port", str(port)], cwd=ROOT, stderr=subprocess.DEVNULL)
    preload = ["--preload", "tercet.worker.warmup", "--nthreads", "1", "--no-nanny", *options]
    worker = subprocess.Popen([*dask, "worker", address, *place, *preload], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield [worker, scheduler]
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait(20)


@SQLITE
def test_a_killed_scheduler_is_found_again(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_hard_songs(database, storage, n_init=N_STARTS)
    port = free_port()
    changes = {"workers": 0, "dask_scheduler": f"tcp://127.0.0.1:{port}", "run_lease_seconds": 3.0}
    with ExitStack() as machines, dask_processes(port) as first, supervised(database, settings, **changes):
        run_id = request(database, project)
        wait_for(lambda: get_run(database, run_id).progress > 0.1)
        for process in first:
            process.kill()
            process.wait()
        machines.enter_context(dask_processes(port))
        run = wait_for(lambda: ended(database, run_id), 90)
    assert run.status == "done"
    assert run.token >= 2
    assert run.metrics["resumed_start"] >= N_STARTS * 0.1 - 1


@SQLITE
def test_a_run_that_hangs_takes_a_worker_without_a_nanny_with_it(
    database: Database, storage: Storage, settings: Settings, tmp_path: Path
) -> None:
    project = make_songs(database, storage)
    (tmp_path / "hangs.py").write_text(HANGS)
    port = free_port()
    changes = {"workers": 0, "dask_scheduler": f"tcp://127.0.0.1:{port}", "run_lease_seconds": 3.0}
    preload, hours = ("--preload", str(tmp_path / "hangs.py")), 1e-6
    with (
        dask_processes(port, *preload) as [worker, _],
        supervised(database, settings, **changes, run_hours=hours),
    ):
        hanging_run = request(database, project)
        run = wait_for(lambda: ended(database, hanging_run))
        assert (run.status, run.error, run.attempts) == ("failed", lifecycle.STUCK.format(hours=hours), 1)
        assert worker.wait(30) == 1
    with dask_processes(port), supervised(database, settings, **changes):
        next_run = request(database, project)
        assert wait_for(lambda: ended(database, next_run), 90).status == "done"
    assert get_run(database, hanging_run).attempts == 1
