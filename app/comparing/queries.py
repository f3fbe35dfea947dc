"""What is read about comparisons, and the runs of a project that stand below them."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import Project, Purpose, Run, RunStatus

SHOWN_RUNS = 15


def newest(session: Session, project: Project, *, done: bool = False) -> Run | None:
    """Give the project's newest comparison, or the newest that is done."""
    mine = (Run.project_id == project.id) & (Run.purpose == Purpose.COMPARISON)
    statement = select(Run).where(mine, Run.status == RunStatus.DONE) if done else select(Run).where(mine)
    return session.scalar(statement.order_by(Run.number.desc()).limit(1))


def recent_runs(session: Session, project: Project) -> list[Run]:
    """Give the newest runs with clusters."""
    mine = (Run.project_id == project.id) & (Run.status == RunStatus.DONE) & (Run.purpose != Purpose.COMPARISON)
    return list(session.scalars(select(Run).where(mine).order_by(Run.number.desc()).limit(SHOWN_RUNS)))
