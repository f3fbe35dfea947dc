"""Reads the runs that the list of alternatives shows, and the metadata columns that group items."""

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from tercet.models import Item, Purpose, Run, RunStatus

MOST_VALUES = 50
MOST_LISTED = 20


def grouping_columns(session: Session, project_id: int) -> list[str]:
    """Return the names of the columns of metadata with 2 to 50 values, and fewer than there are items."""
    items = session.scalar(select(func.count()).where(Item.project_id == project_id)) or 0
    most = min(MOST_VALUES, items - 1)
    each = func.json_each if session.get_bind().dialect.name == "sqlite" else func.jsonb_each_text
    cells = each(Item.details).table_valued("key", "value")
    values = func.count(cells.c.value.distinct())
    grouped = select(cells.c.key).select_from(Item).join(cells, true()).where(Item.project_id == project_id)
    return sorted(session.scalars(grouped.group_by(cells.c.key).having(values.between(2, most))))


def listed_runs(session: Session, project_id: int) -> list[Run]:
    """Return the newest finished alternatives and runs with clusters and a name, newest first."""
    done = (Run.project_id == project_id) & (Run.status == RunStatus.DONE) & Run.result.is_not(None)
    listed = (Run.purpose == Purpose.ALTERNATIVE) | (Run.name != "")
    return list(session.scalars(select(Run).where(done, listed).order_by(Run.number.desc()).limit(MOST_LISTED)))


def unfinished(session: Session, project_id: int, purpose: Purpose = Purpose.ALTERNATIVE) -> list[Run]:
    """Return the runs of a purpose that are queued or running, in their order."""
    of_purpose = (Run.project_id == project_id) & (Run.purpose == purpose)
    statement = select(Run).where(of_purpose, Run.status.in_([RunStatus.QUEUED, RunStatus.RUNNING]))
    return list(session.scalars(statement.order_by(Run.number)))


def runs_by_number(session: Session, project_id: int, numbers: set[int]) -> dict[int, Run]:
    """Return the runs with these numbers that exist."""
    runs = session.scalars(select(Run).where(Run.project_id == project_id, Run.number.in_(numbers)))
    return {run.number: run for run in runs}
