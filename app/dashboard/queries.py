"""What the analyst's pages read: counts of answers, people and runs, never a wide column of many rows."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from sqlalchemy import Row, Select, func, select
from sqlalchemy.orm import Session

from app.models import Answer, Item, Membership, Project, Purpose, Run, RunStatus, User, now

CHUNK = 5_000  # values that one statement may carry, on both databases
RECENT = 5_000  # answers over which a labeler's habits are told: old ones say little and would have to be read


@dataclass(frozen=True)
class Labeler:
    """How much one person answered, and how they answer lately."""

    name: str
    answers: int
    withdrawn: int
    last_hour: int
    dnk_share: float | None
    median_ms: int | None


def my_projects(session: Session, user: User) -> list[Row[Any]]:
    """Give the user's projects with what the list shows, in one statement, live ones first."""
    latest = _latest_run().scalar_subquery()
    items = select(func.max(Item.position) + 1).where(Item.project_id == Project.id).scalar_subquery()
    statement = select(
        Project.key,
        Project.name,
        Project.answer_number.label("answers"),
        Project.archived_at,
        func.coalesce(items, 0).label("items"),
        Run.number.label("run"),
        Run.finished_at,
        Membership.role,
    )
    mine = (Membership.project_id == Project.id) & (Membership.user_id == user.id)
    joined = statement.outerjoin(Membership, mine).outerjoin(Run, Run.id == latest)
    if not user.is_admin:
        joined = joined.where(Membership.id.is_not(None))
    return list(session.execute(joined.order_by(Project.archived_at.is_not(None), Project.name, Project.id)))


def _latest_run() -> Select[int]:
    mine = (Run.project_id == Project.id) & (Run.purpose == Purpose.CURRENT)
    done = select(Run.id).where(mine, Run.status == RunStatus.DONE)
    return done.order_by(Run.number.desc()).limit(1).correlate(Project)


def recent_runs(session: Session, project_id: int, limit: int = 50) -> list[Run]:
    """Give the newest runs, newest first."""
    statement = select(Run).where(Run.project_id == project_id).order_by(Run.number.desc()).limit(limit)
    return list(session.scalars(statement))


def answers_by_labeler(session: Session, project_id: int, after: int, until: int) -> dict[int, int]:
    """Count the answers with numbers behind `after` up to `until`, withdrawn or not, per labeler."""
    statement = select(Answer.labeler_id, func.count()).where(Answer.project_id == project_id)
    if after:
        statement = statement.where(Answer.number > after, Answer.number <= until)
    else:
        # Counting them all reads the index by labeler alone. "+ 0" keeps the planner from the index by number,
        # which would have it look up every row.
        statement = statement.where(Answer.number + 0 <= until)
    return dict(session.execute(statement.group_by(Answer.labeler_id)).all())


def labelers(session: Session, project: Project, answers: dict[int, int]) -> list[Labeler]:
    """Give the figures of everyone who answered, the busiest first; `answers` as counted per labeler."""
    taken_back = withdrawn(session, project.id)
    fresh = _since(session, project.id, now() - timedelta(hours=1))
    habits = _habits(session, project)
    found = [
        Labeler(
            name,
            answers[person] - taken_back.get(person, 0),
            taken_back.get(person, 0),
            fresh.get(person, 0),
            *habits.get(person, (None, None)),
        )
        for person, name in _names(session, list(answers))
    ]
    return sorted(found, key=lambda one: (-one.answers, one.name))


def _names(session: Session, people: list[int]) -> list[tuple[int, str]]:
    chunks = (people[start : start + CHUNK] for start in range(0, len(people), CHUNK))
    return [
        (person, name)
        for chunk in chunks
        for person, name in session.execute(select(User.id, User.name).where(User.id.in_(chunk)))
    ]


def withdrawn(session: Session, project_id: int) -> dict[int, int]:
    """Count the answers that were withdrawn, per labeler."""
    statement = select(Answer.labeler_id, func.count()).where(
        Answer.project_id == project_id, Answer.withdrawn_at.is_not(None)
    )
    return dict(session.execute(statement.group_by(Answer.labeler_id)).all())


def _since(session: Session, project_id: int, moment: datetime) -> dict[int, int]:
    statement = (
        select(Answer.labeler_id, func.count())
        .where(Answer.project_id == project_id, Answer.created_at >= moment, Answer.withdrawn_at.is_(None))
        .group_by(Answer.labeler_id)
    )
    return dict(session.execute(statement).all())


def _habits(session: Session, project: Project) -> dict[int, tuple[float, int | None]]:
    statement = select(Answer.labeler_id, Answer.value, Answer.response_ms).where(
        Answer.project_id == project.id,
        Answer.number > project.answer_number - RECENT,
        Answer.withdrawn_at.is_(None),
    )
    given: dict[int, list[tuple[str, int | None]]] = {}
    for person, value, response_ms in session.execute(statement):
        given.setdefault(person, []).append((value, response_ms))
    return {person: _habit(answers) for person, answers in given.items()}


def _habit(answers: list[tuple[str, int | None]]) -> tuple[float, int | None]:
    times = [response_ms for _, response_ms in answers if response_ms is not None]
    share = sum(value == "dnk" for value, _ in answers) / len(answers)
    return share, round(median(times)) if times else None
