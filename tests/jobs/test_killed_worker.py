"""A worker that is killed in the middle of a job, with real Dask workers: another one does the job."""

import os
import signal
from pathlib import Path

import pytest
import sqlalchemy as sa

from tercet.database import Database
from tercet.models import BackgroundJob, Import
from tercet.settings import Settings
from tercet.storage import Storage
from tests.jobs.test_job_lifecycle import make_import
from tests.runs.support import wait_for, worker_processes
from tests.worker.test_supervisor import supervised


@pytest.mark.heavy(but="sqlite")
def test_a_killed_worker_costs_an_attempt(
    database: Database, storage: Storage, settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    number = make_import(database, storage, tmp_path, 12)

    def newest() -> BackgroundJob:
        with database.reading() as session:
            return session.scalars(sa.select(BackgroundJob)).one()

    with supervised(database, settings):
        wait_for(lambda: newest().attempts > 0)
        os.kill(wait_for(worker_processes)[0].pid, signal.SIGKILL)
        wait_for(lambda: newest().status not in ("queued", "running"))
    done = newest()
    assert (done.status, done.attempts, done.token) == ("done", 2, 2)
    assert f"The worker of job {done.id} is gone" in caplog.text
    with database.reading() as session:
        row = session.get_one(Import, number)
    assert (row.status, row.report["items"]) == ("ready", 12)
