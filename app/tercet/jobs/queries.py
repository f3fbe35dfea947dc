"""What is read about background jobs."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import BackgroundJob, JobKind, JobStatus

UNFINISHED = (JobStatus.QUEUED, JobStatus.RUNNING)


def newest(session: Session, project_id: int, *kinds: JobKind, subject: int | None = None) -> BackgroundJob | None:
    """Return the newest job of the kinds about a subject."""
    about = (BackgroundJob.project_id == project_id) & BackgroundJob.kind.in_(kinds)
    statement = select(BackgroundJob).where(about, BackgroundJob.subject == subject)
    return session.scalar(statement.order_by(BackgroundJob.id.desc()).limit(1))


def unfinished(session: Session, project_id: int, *kinds: JobKind) -> list[BackgroundJob]:
    """Return the jobs of the kinds that wait or are under way, oldest first."""
    about = (BackgroundJob.project_id == project_id) & BackgroundJob.kind.in_(kinds)
    statement = select(BackgroundJob).where(about, BackgroundJob.status.in_(UNFINISHED))
    return list(session.scalars(statement.order_by(BackgroundJob.id)))
