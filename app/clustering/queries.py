"""What is read about runs: the queue, the newest results, one run by its number or by `latest`."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import Project, Run, RunStatus


def lock_project(session: Session, project_id: int) -> Project:
    """Lock the project's row and give it as it is now.

    Whoever changes a run and something of its project locks the project first. Answers do so too, by raising
    its answer number: one order of locks for all, so that PostgreSQL never meets a deadlock. SQLite has one
    writer and needs nothing.
    """
    statement = select(Project).where(Project.id == project_id).with_for_update(key_share=True)
    return session.execute(statement.execution_options(populate_existing=True)).scalar_one()


def last_done(session: Session, project_id: int, before: int | None = None) -> Run | None:
    """Give the newest run that is done, or the newest before a run number."""
    statement = select(Run).where(Run.project_id == project_id, Run.status == RunStatus.DONE)
    if before is not None:
        statement = statement.where(Run.number < before)
    return session.scalar(statement.order_by(Run.number.desc()).limit(1))
