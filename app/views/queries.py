"""What is read about views: the runs that belong to the series, and columns of metadata that group items."""

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from app.models import Item, Purpose, Run, RunStatus

MOST_VALUES = 50
MOST_VIEWS = 20


def columns(session: Session, project_id: int) -> list[str]:
    """Name the columns of metadata that group items: from 2 to 50 values, and fewer than there are items."""
    items = session.scalar(select(func.count()).where(Item.project_id == project_id)) or 0
    most = min(MOST_VALUES, items - 1)
    each = func.json_each if session.get_bind().dialect.name == "sqlite" else func.jsonb_each_text
    cells = each(Item.details).table_valued("key", "value")
    values = func.count(cells.c.value.distinct())
    grouped = select(cells.c.key).select_from(Item).join(cells, true()).where(Item.project_id == project_id)
    return sorted(session.scalars(grouped.group_by(cells.c.key).having(values.between(2, most))))


def series(session: Session, project_id: int) -> list[Run]:
    """Give the newest views that are done, and every other run with clusters that has a name, newest first."""
    mine = (Run.project_id == project_id) & (Run.status == RunStatus.DONE) & Run.result.is_not(None)
    wanted = (Run.purpose == Purpose.VIEW) | (Run.name != "")
    return list(session.scalars(select(Run).where(mine, wanted).order_by(Run.number.desc()).limit(MOST_VIEWS)))


def waiting(session: Session, project_id: int) -> list[Run]:
    """Give the views that wait or are computed, in their order."""
    mine = (Run.project_id == project_id) & (Run.purpose == Purpose.VIEW)
    statement = select(Run).where(mine, Run.status.in_([RunStatus.QUEUED, RunStatus.RUNNING]))
    return list(session.scalars(statement.order_by(Run.number)))


def runs_by_number(session: Session, project_id: int, numbers: set[int]) -> dict[int, Run]:
    """Give those runs, of the ones asked for, that exist."""
    found = session.scalars(select(Run).where(Run.project_id == project_id, Run.number.in_(numbers)))
    return {run.number: run for run in found}
