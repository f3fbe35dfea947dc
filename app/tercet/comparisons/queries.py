"""Reads comparisons, and the runs that their page lists."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import Project, Purpose, Run, RunStatus

MOST_RUNS = 15


def newest(session: Session, project: Project, *, done: bool = False) -> Run | None:
    """Return the project's newest comparison, or the newest that is done."""
    statement = select(Run).where(Run.project_id == project.id, Run.purpose == Purpose.COMPARISON)
    if done:
        statement = statement.where(Run.status == RunStatus.DONE)
    return session.scalar(statement.order_by(Run.number.desc()).limit(1))


def recent_runs(session: Session, project: Project) -> list[Run]:
    """Return the newest runs with clusters."""
    done = (Run.project_id == project.id) & (Run.status == RunStatus.DONE) & (Run.purpose != Purpose.COMPARISON)
    return list(session.scalars(select(Run).where(done).order_by(Run.number.desc()).limit(MOST_RUNS)))
