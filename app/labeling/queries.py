"""What is read about labeling: how far a labeler and the project are, and why there may be nothing to ask."""

from collections.abc import Collection
from datetime import UTC, datetime, time
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.items.queries import item_count
from app.models import Answer, Item, Lease, Project, Triplet, now


def answers_by_id(session: Session, ids: Collection[UUID]) -> dict[UUID, Answer]:
    """Give those answers, of the ones asked for, that are stored in any project."""
    return {row.id: row for row in session.scalars(select(Answer).where(Answer.id.in_(ids)))}


def answer_of_project(session: Session, project_id: int, answer_id: UUID) -> Answer | None:
    """Give one answer of the project."""
    return session.scalar(select(Answer).where(Answer.project_id == project_id, Answer.id == answer_id))


def items_by_id(session: Session, ids: Collection[int]) -> dict[int, Item]:
    """Give the items with those numbers."""
    return {item.id: item for item in session.scalars(select(Item).where(Item.id.in_(ids)))}


def recent_answers(session: Session, project_id: int, user_id: int, limit: int) -> list[tuple[Answer, Triplet]]:
    """Give the labeler's last answers that count, newest first, each with its triplet."""
    statement = (
        select(Answer, Triplet)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .where(Answer.project_id == project_id, Answer.labeler_id == user_id, Answer.withdrawn_at.is_(None))
        .order_by(Answer.number.desc())
        .limit(limit)
    )
    return [(answer, triplet) for answer, triplet in session.execute(statement)]


def progress(session: Session, project_id: int, user_id: int) -> tuple[int, int, int]:
    """Count the labeler's answers, those of them given today (UTC), and the project's; withdrawn ones not.

    Answers are never counted one by one in their wide rows: each figure is the length of a stretch of an
    index, less the few withdrawn ones, which have an index of their own.
    """
    midnight = datetime.combine(now().date(), time(), UTC)
    first_today = (
        select(Answer.number)
        .where(Answer.project_id == project_id, Answer.created_at >= midnight)
        .order_by(Answer.created_at)
        .limit(1)
    )
    first = session.scalar(first_today)
    given = select(func.count()).where(Answer.project_id == project_id)
    mine = given.where(Answer.labeler_id == user_id)
    withdrawn = Answer.withdrawn_at.is_not(None)
    total = select(Project.answer_number).where(Project.id == project_id).scalar_subquery()
    counts = [mine, mine.where(withdrawn), given.where(withdrawn)]
    if first is not None:
        today = mine.where(Answer.number >= first)
        counts += [today, today.where(withdrawn)]
    row = session.execute(select(total, *(count.scalar_subquery() for count in counts))).one()
    return row[1] - row[2], row[4] - row[5] if first is not None else 0, row[0] - row[3]


def why_nothing(session: Session, project: Project, user_id: int) -> str:
    """Say in a sentence why there is no question for this labeler, and until when."""
    count = item_count(session, project.id)
    if count < 3:
        return f"This project has {count} items: a question needs three. Ask the project's owner to add items."
    queued = select(Triplet.id).where(Triplet.project_id == project.id, Triplet.priority.is_not(None))
    if session.scalar(queued.limit(1)) is None:
        return f"Every question about these {count} items has been answered. Thank you!"
    until = session.scalar(
        select(func.min(Lease.expires_at))
        .join(Triplet, Triplet.id == Lease.triplet_id)
        .where(Triplet.project_id == project.id, Lease.labeler_id != user_id, Lease.expires_at > now())
    )
    if until is not None:
        return (
            f"All remaining questions are on the screens of other labelers. Some may come back at {until:%H:%M} UTC."
        )
    return "You have answered or skipped every question there is; what remains needs other labelers. Thank you!"
