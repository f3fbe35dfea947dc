"""What waiting work says: that it begins, that workers are busy, that they start, or that nobody comes."""

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.jobs import lifecycle
from tercet.jobs.wording import BEGINS, BUSY, SOON, STARTING, words_of
from tercet.models import BackgroundJob, JobKind, JobStatus, Run, RunStatus, now
from tests.factories import make_project


def waiting_job(session: Session, seconds: float) -> BackgroundJob:
    project = make_project(session)
    job = lifecycle.queue(session, project.id, JobKind.MAKE_FEATURES)
    job.created_at = now() - timedelta(seconds=seconds)
    return job


@pytest.mark.parametrize(("seconds", "busy", "words"), [(1, True, SOON), (20, True, BUSY), (20, False, STARTING)])
def test_a_job_that_waits(database: Database, seconds: float, busy: bool, words: str) -> None:
    with database.transaction() as session:
        job = waiting_job(session, seconds)
        if busy:
            status = RunStatus.RUNNING
            session.add(Run(project_id=job.project_id, number=1, algorithm="dcrc", status=status, due_at=now()))
            session.flush()
        assert words_of(session, job) == words


def test_nobody_comes(database: Database) -> None:
    with database.transaction() as session:
        assert words_of(session, waiting_job(session, 600)).startswith("No worker has begun for 10 min")


def test_a_job_under_way_says_what_it_does(database: Database) -> None:
    with database.transaction() as session:
        job = waiting_job(session, 20)
        job.status = JobStatus.RUNNING
        assert words_of(session, job) == BEGINS
        job.note = "Measuring 12 of 29 recordings"
        assert words_of(session, job) == job.note
