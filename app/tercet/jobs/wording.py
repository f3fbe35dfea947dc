"""What work is waiting for, in words: people wonder when nothing moves, and only then is there reason to."""

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import BackgroundJob, JobStatus, Run, RunStatus, now

BEGINS = "A worker begins with it."
SOON = "It begins in a moment."
STARTING = "The workers are starting: that takes about ten seconds after the server has started."
BUSY = "The workers are busy with other work; this begins as soon as one is free."
NOBODY = (
    "No worker has begun for {minutes} min, though none is busy: whoever runs the server can see in its log whether "
    "its workers run."
)
# What is due begins within a second, a little later where a project rests after a run.
USUAL = timedelta(seconds=3)
# Workers that start are ready long before, even on a busy machine.
LONGEST_START = timedelta(minutes=2)


def words_of(session: Session, job: BackgroundJob) -> str:
    """Return what a job does just now, or why it does nothing yet."""
    if job.note:
        return job.note
    return BEGINS if job.status == JobStatus.RUNNING else waiting(session, job.created_at)


def waiting(session: Session, since: datetime) -> str:
    """Return why work that is due since a moment has not begun."""
    waited = now() - since
    if waited < USUAL:
        return SOON
    if _is_anybody_busy(session):
        return BUSY
    return STARTING if waited < LONGEST_START else NOBODY.format(minutes=int(waited.total_seconds() // 60))


def _is_anybody_busy(session: Session) -> bool:
    at_work = (
        select(BackgroundJob.id).where(BackgroundJob.status == JobStatus.RUNNING),
        select(Run.id).where(Run.status == RunStatus.RUNNING),
    )
    return any(session.scalar(statement.limit(1)) is not None for statement in at_work)
