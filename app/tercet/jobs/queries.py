"""Reads background jobs."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tercet.models import BackgroundJob, Import, ImportFile, Item, JobKind, JobStatus

# Jobs with more items, files or bytes take minutes; no other job should wait for them.
MANY, MANY_BYTES = 500, 200_000_000
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


def is_long(session: Session, job: BackgroundJob) -> bool:
    """Return whether a job takes minutes, by the number of its items and files and by their size."""
    if job.kind in (JobKind.MAKE_FEATURES, JobKind.DRAW_PICTURES):
        in_use = (Item.project_id == job.project_id) & Item.deleted_at.is_(None)
        return (session.scalar(select(func.count(Item.id)).where(in_use)) or 0) > MANY
    if job.kind == JobKind.PREDICT:
        return bool(job.result.get("count", 0) > MANY or job.result.get("bytes", 0) > MANY_BYTES)
    of_import = (Import.project_id == job.project_id) & (Import.number == job.subject)
    files = select(func.count(ImportFile.id), func.coalesce(func.sum(ImportFile.size), 0))
    count, size = session.execute(files.join(Import, Import.id == ImportFile.import_id).where(of_import)).one()
    report = session.scalar(select(Import.report).where(of_import)) or {}
    return bool(max(count, report.get("items") or 0) > MANY or size > MANY_BYTES)  # one archive holds many items
