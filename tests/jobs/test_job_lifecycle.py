"""Background jobs: claimed once, one of a kind at a time, taken over after a crash, cancelled, given up."""

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from tercet.database import Database
from tercet.intake.imports import check, make
from tercet.jobs import lifecycle
from tercet.jobs.lifecycle import JobStopped
from tercet.models import BackgroundJob, Event, Import, ImportFile, ImportSource, JobKind, Project, now
from tercet.storage import Storage
from tests.factories import make_project, make_user
from tests.intake.conftest import wav


def queue(database: Database, kind: JobKind = JobKind.MAKE_FEATURES, project: str = "songs") -> int:
    with database.transaction() as session:
        row = session.scalar(sa.select(Project).where(Project.key == project)) or make_project(session, project)
        return lifecycle.queue(session, row.id, kind).id


def job(database: Database, job_id: int) -> BackgroundJob:
    with database.reading() as session:
        return session.get_one(BackgroundJob, job_id)


def test_one_of_a_kind_at_a_time_in_the_order_of_requests(database: Database) -> None:
    first, second = queue(database), queue(database)
    drawing = queue(database, JobKind.DRAW_PICTURES)
    elsewhere = queue(database, project="birds")
    claims = [lifecycle.claim_next(database, 15) for _ in range(4)]
    assert [claim and claim.job_id for claim in claims] == [first, drawing, elsewhere, None]
    begun = lifecycle.begin_job(database, first, 15)
    with database.transaction() as session:
        lifecycle.finish(session, begun, "done", {"n": 3})
    assert lifecycle.claim_next(database, 15).job_id == second
    ended = job(database, first)
    assert (ended.status, ended.progress, ended.note, ended.result) == ("done", 1.0, "done", {"n": 3})


def test_a_clock_that_is_set_back_keeps_no_job_of_a_dead_worker(database: Database) -> None:
    number = queue(database)
    lifecycle.claim_next(database, 15)
    with database.transaction() as session:
        session.execute(sa.update(BackgroundJob).values(lease_expires_at=now() + timedelta(hours=1)))
    again = lifecycle.claim_next(database, 15)
    assert again is not None
    assert again.job_id == number


def test_only_the_newest_copy_writes(database: Database) -> None:
    number = queue(database)
    lifecycle.claim_next(database, 15)
    older = lifecycle.begin_job(database, number, 15)
    lifecycle.release(database, number)
    assert lifecycle.claim_next(database, 15).job_id == number
    newer = lifecycle.begin_job(database, number, 15)
    assert (older.token, newer.token) == (1, 2)
    with pytest.raises(JobStopped):
        lifecycle.report(database, older, 0.5, "behind", 15)
    lifecycle.report(database, newer, 0.7, "ahead", 15)
    assert (job(database, number).progress, job(database, number).note) == (0.7, "ahead")
    with database.reading() as session:
        payloads = session.scalars(sa.select(Event.payload).where(Event.kind == "job").order_by(Event.number)).all()
    assert [payload["note"] for payload in payloads] == ["", "", "", "ahead"]


def test_a_job_that_kills_its_workers_is_given_up(database: Database) -> None:
    number = queue(database)
    for _ in range(lifecycle.MAX_ATTEMPTS):
        assert lifecycle.claim_next(database, 15).job_id == number
        assert lifecycle.begin_job(database, number, 15) is not None
        lifecycle.release(database, number)
    assert lifecycle.claim_next(database, 15) is None
    assert (job(database, number).status, job(database, number).error) == ("failed", lifecycle.GAVE_UP)


@pytest.mark.parametrize("begun", [False, True])
def test_cancel(database: Database, begun: bool) -> None:
    number = queue(database)
    copy = None
    if begun:
        lifecycle.claim_next(database, 15)
        copy = lifecycle.begin_job(database, number, 15)
    with database.transaction() as session:
        lifecycle.cancel(session, session.get_one(BackgroundJob, number))
    if copy is not None:
        with pytest.raises(JobStopped):
            lifecycle.report(database, copy, 0.5, "on", 15)
        assert lifecycle.end_from_task(database, copy, "cancelled") == "cancelled"
    assert job(database, number).status == "cancelled"
    assert lifecycle.begin_job(database, number, 15) is None


def make_import(database: Database, storage: Storage, folder: Path, count: int) -> int:
    """Upload sounds and ask for their check; give the id of the import."""
    content = folder / "tone.wav"
    content.write_bytes(wav(seconds=20.0, rate=48_000))
    with database.transaction() as session:
        project, user = make_project(session), make_user(session)
        row = make(session, project, user, {}, ImportSource.REST)
        for number in range(count):
            size, blob = content.stat().st_size, f"imports/{row.id}/files/{number}"
            file = ImportFile(import_id=row.id, path=f"{number}.wav", size=size, received=size, blob=blob)
            session.add(file)
            storage.put_file(f"{blob}/{0:015d}", content)
        session.flush()
        check(session, project, row, user, None)
        return row.id


def test_imports_that_nobody_goes_on_with(database: Database, storage: Storage, tmp_path: Path) -> None:
    from tercet.intake.imports import clean_up

    number = make_import(database, storage, tmp_path, 1)
    clean_up(database, storage)
    with database.transaction() as session:
        session.execute(sa.update(BackgroundJob).values(status="failed", error="The worker stopped."))
    clean_up(database, storage)
    with database.transaction() as session:
        row = session.get_one(Import, number)
        assert (row.status, row.report["error"]) == ("failed", "The worker stopped.")
        row.created_at = now() - timedelta(days=1, seconds=1)
    assert storage.exists(f"imports/{number}")
    clean_up(database, storage)
    assert not storage.exists(f"imports/{number}")
    with database.reading() as session:
        assert session.get_one(Import, number).status == "cancelled"
