"""The life of a background job in its table: queued, claimed, begun, kept alive, ended, each by a guarded write.

The rules are those of runs (`runs/lifecycle.py`): a supervisor claims a job, its task begins by raising the token, each
later write names the token, and another process takes over when the lease has run out. Jobs need no checkpoints: they
store files under names made from the content, so that another attempt skips what the first one has stored.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from tercet.database import Database
from tercet.jobs import queries, wake_up
from tercet.jobs.attempts import MAX_ATTEMPTS, pause_after
from tercet.live import events
from tercet.models import BackgroundJob, JobKind, JobStatus, Project, now, out_of_reach

GAVE_UP = (
    f"The worker stopped in the middle of this work {MAX_ATTEMPTS} times, so it was given up. Its process was killed "
    "each time: too little memory is the usual reason. Start it again, or give the workers more memory."
)
ANNOUNCED = ("id", "kind", "subject", "status", "progress", "note")
WAITED_FOR = (JobKind.CHECK_IMPORT, JobKind.PREDICT)
_SIBLING = aliased(BackgroundJob)


class JobStopped(Exception):
    """This copy of the task may not write any more: the job was cancelled, or another copy took over."""


@dataclass(frozen=True)
class JobClaim:
    """A job that this process has claimed, with the token that the row had then."""

    job_id: int
    token: int
    is_long: bool = False

    def __str__(self) -> str:
        """Return the words of the log."""
        return f"job {self.job_id}"


def queue(
    session: Session, project_id: int, kind: JobKind, *, subject: int | None = None, user_id: int | None = None
) -> BackgroundJob:
    """Queue a job in the caller's transaction; supervisors of this process wake up once it is committed."""
    job = BackgroundJob(project_id=project_id, kind=kind, subject=subject, user_id=user_id)
    session.add(job)
    session.flush()
    announce(session, job)
    wake_up.wake_after_commit(session)
    return job


def announce(session: Session, job: BackgroundJob) -> bool:
    """Record an event with the job's status, for open pages; return False if the project was deleted."""
    return events.record(session, job.project_id, ("job", {name: getattr(job, name) for name in ANNOUNCED}))


def claim_next(
    database: Database, lease_seconds: float, *, long_ones: bool = True, own: Collection[int] = ()
) -> JobClaim | None:
    """Claim a queued job, or one whose lease has run out; return None if there is none.

    Previews and predictions come first, since somebody waits at the page, then the oldest jobs. Without `long_ones`,
    jobs that take minutes are left for later. Jobs in `own` are never claimed again: their tasks run in this process,
    even where they were too busy to renew the lease.
    """
    order = (BackgroundJob.kind.not_in(WAITED_FOR), BackgroundJob.id)
    with database.reading() as session:
        waiting = session.scalars(select(BackgroundJob).where(_claimable(lease_seconds)).order_by(*order)).all()
        candidates = [(job.id, queries.is_long(session, job)) for job in waiting]
    for job_id, is_long in candidates:
        if job_id in own or (is_long and not long_ones):
            continue
        try:
            claim = _claim(database, job_id, lease_seconds)
        except IntegrityError:  # another supervisor has just started one of the same kind in this project
            continue
        if claim is not None:
            return replace(claim, is_long=is_long)
    return None


def is_waiting(database: Database, lease_seconds: float, own: Collection[int] = ()) -> bool:
    """Return whether `claim_next` would find a job to claim."""
    waiting = select(BackgroundJob.id).where(_claimable(lease_seconds), BackgroundJob.id.not_in(own))
    with database.reading() as session:
        return session.scalar(waiting.limit(1)) is not None


def _claimable(lease_seconds: float) -> ColumnElement[bool]:
    busy = select(_SIBLING.id).where(
        _SIBLING.project_id == BackgroundJob.project_id,
        _SIBLING.kind == BackgroundJob.kind,
        _SIBLING.status == JobStatus.RUNNING,
    )
    return or_(
        and_(BackgroundJob.status == JobStatus.QUEUED, ~busy.exists()),
        and_(
            BackgroundJob.status == JobStatus.RUNNING,
            or_(
                BackgroundJob.lease_expires_at <= now(),
                BackgroundJob.lease_expires_at > out_of_reach(lease_seconds),
            ),
        ),
    )


def _claim(database: Database, job_id: int, lease_seconds: float) -> JobClaim | None:
    with database.transaction() as session:
        statement = select(BackgroundJob).where(BackgroundJob.id == job_id, _claimable(lease_seconds))
        # Every writer locks the project first, since the number of the next event does; any other order may deadlock.
        _lock_project(session, job_id)
        job = session.scalar(statement.with_for_update(skip_locked=True))
        if job is None:
            return None
        if job.status == JobStatus.RUNNING and not _may_go_on(session, job):
            return None
        job.status, job.started_at = JobStatus.RUNNING, job.started_at or now()
        job.lease_expires_at = now() + timedelta(seconds=lease_seconds)
        session.flush()
        announce(session, job)
        return JobClaim(job.id, job.token)


def _lock_project(session: Session, job_id: int) -> None:
    of_job = select(BackgroundJob.project_id).where(BackgroundJob.id == job_id).scalar_subquery()
    session.execute(select(Project.id).where(Project.id == of_job).with_for_update(key_share=True))


def _may_go_on(session: Session, job: BackgroundJob) -> bool:
    """End a job that was cancelled or tried too often; return whether another attempt may be made."""
    if job.cancel_requested:
        end(session, job, JobStatus.CANCELLED)
    elif job.attempts >= MAX_ATTEMPTS:
        end(session, job, JobStatus.FAILED, GAVE_UP)
    return job.status == JobStatus.RUNNING


def begin_job(database: Database, job_id: int, lease_seconds: float) -> BackgroundJob | None:
    """Raise the token at the beginning of a task and return the job; None where it may not be worked on any more."""
    running = (BackgroundJob.id == job_id) & (BackgroundJob.status == JobStatus.RUNNING)
    changes = {
        "token": BackgroundJob.token + 1,
        "attempts": BackgroundJob.attempts + 1,
        "lease_expires_at": now() + timedelta(seconds=lease_seconds),
    }
    may = running & ~BackgroundJob.cancel_requested & (BackgroundJob.attempts < MAX_ATTEMPTS)
    with database.transaction() as session:
        job = session.scalar(update(BackgroundJob).where(may).values(changes).returning(BackgroundJob))
    if job is None:
        with database.transaction() as session:
            _lock_project(session, job_id)
            stale = session.scalar(select(BackgroundJob).where(running).with_for_update())
            if stale is not None:
                _may_go_on(session, stale)
    return job


def report(database: Database, job: BackgroundJob, fraction: float, note: str, lease_seconds: float) -> None:
    """Write the job's progress and note and renew its lease; raise JobStopped if the task must stop."""
    lease = now() + timedelta(seconds=lease_seconds)
    with database.transaction() as session:
        write(session, job, progress=fraction, note=note, lease_expires_at=lease)


def write(session: Session, job: BackgroundJob, **values: Any) -> None:
    """Write to the job's row and record an event with its status.

    Raises JobStopped, which undoes the transaction, where this copy of the task does not hold the job any more.
    """
    status = {name: values.get(name, getattr(job, name)) for name in ANNOUNCED}
    if not events.record(session, job.project_id, ("job", status)):
        raise JobStopped(job.id)
    held = _is_held(job) & ~BackgroundJob.cancel_requested
    written = session.execute(update(BackgroundJob).where(held).values(**values).returning(BackgroundJob.id))
    if written.first() is None:
        raise JobStopped(job.id)
    for name, value in values.items():
        setattr(job, name, value)


def finish(session: Session, job: BackgroundJob, note: str, result: dict[str, Any] | None = None) -> None:
    """End the job as done, in the same transaction that makes its results visible."""
    values = {"status": JobStatus.DONE, "progress": 1.0, "note": note, "result": result or {}}
    write(session, job, **values, finished_at=now(), lease_expires_at=None)


def renew(database: Database, job_id: int, token: int, lease_seconds: float) -> bool:
    """Extend the lease; return False if another token holds the job, or it has ended or is cancelled."""
    held = (BackgroundJob.id == job_id) & (BackgroundJob.token == token)
    held &= (BackgroundJob.status == JobStatus.RUNNING) & ~BackgroundJob.cancel_requested
    lease = now() + timedelta(seconds=lease_seconds)
    with database.transaction() as session:
        statement = update(BackgroundJob).where(held).values(lease_expires_at=lease).returning(BackgroundJob.id)
        return session.execute(statement).first() is not None


def _is_held(job: BackgroundJob) -> ColumnElement[bool]:
    held = (BackgroundJob.id == job.id) & (BackgroundJob.token == job.token)
    return held & (BackgroundJob.status == JobStatus.RUNNING)


def end(
    session: Session,
    job: BackgroundJob,
    status: JobStatus,
    error: str | None = None,
    result: dict[str, Any] | None = None,
) -> None:
    """End a job that was cancelled or failed; the caller has locked its project and the job."""
    job.result = result or {}
    job.status, job.error, job.finished_at, job.lease_expires_at = status, error, now(), None
    session.flush()
    announce(session, job)


def end_from_task(
    database: Database,
    job: BackgroundJob,
    status: JobStatus,
    error: str | None = None,
    result: dict[str, Any] | None = None,
) -> str | None:
    """End the job from its task and return its last status, CANCELLED where that was requested.

    Returns None where another copy of the task took over.
    """
    with database.transaction() as session:
        _lock_project(session, job.id)
        row = session.scalar(select(BackgroundJob).where(_is_held(job)).with_for_update())
        if row is None or (status == JobStatus.CANCELLED and not row.cancel_requested):
            return None
        if row.cancel_requested:
            status, error, result = JobStatus.CANCELLED, None, None
        end(session, row, status, error, result)
        return status


def release(database: Database, job_id: int) -> None:
    """End the lease now, so that the job goes on elsewhere."""
    _end_lease(database, job_id, 0.0)


def release_after_loss(database: Database, job_id: int, lease_seconds: float) -> None:
    """Let the lease end when the job may begin again: its worker is known to be gone."""
    with database.reading() as session:
        attempts = session.scalar(select(BackgroundJob.attempts).where(BackgroundJob.id == job_id)) or 0
    _end_lease(database, job_id, pause_after(attempts, lease_seconds))


def _end_lease(database: Database, job_id: int, seconds: float) -> None:
    running = (BackgroundJob.id == job_id) & (BackgroundJob.status == JobStatus.RUNNING)
    lease = now() + timedelta(seconds=seconds)
    with database.transaction() as session:
        session.execute(update(BackgroundJob).where(running).values(lease_expires_at=lease))


def cancel(session: Session, job: BackgroundJob) -> None:
    """Cancel a job: at once if it waits, at its next report if it is under way; the caller has locked the project."""
    session.refresh(job, with_for_update=True)
    if job.status == JobStatus.QUEUED:
        end(session, job, JobStatus.CANCELLED)
    elif job.status == JobStatus.RUNNING:
        job.cancel_requested = True
        session.flush()
    wake_up.wake_after_commit(session)
