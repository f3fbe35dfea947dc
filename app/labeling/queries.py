"""What is read about labeling: how far a labeler and the project are, and why there may be nothing to ask."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, time
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.labeling import statements
from app.models import Answer, Lease, Project, Triplet, now


def answer_of_project(session: Session, project_id: int, answer_id: UUID) -> Answer | None:
    """Give one answer of the project."""
    return session.scalar(select(Answer).where(Answer.project_id == project_id, Answer.id == answer_id))


class Look(NamedTuple):
    """What a page shows of an item: its words, and the storage keys of its media."""

    id: int
    key: str
    text: str
    media_type: str | None
    media: str | None
    picture: str | None
    thumbnail: str | None


def looks(session: Session, ids: Collection[int]) -> dict[int, Look]:
    """Give what is shown of the items with those numbers."""
    rows = session.connection().execute(statements.ITEMS_SHOWN, {"ids": list(ids)})
    return {row[0]: Look(*row) for row in rows}


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


class Progress(NamedTuple):
    """How many answers count: a labeler's, those of them given today (UTC), and the project's."""

    labeler_id: int
    mine: int
    today: int
    everybody: int


def progress(session: Session, project_id: int, user_ids: Collection[int]) -> list[Progress]:
    """Count the answers of each labeler and of the project; withdrawn ones not."""
    connection = session.connection()
    statement = statements.PROGRESS[connection.dialect.name]
    return [Progress(*row) for row in connection.execute(statement, progress_parameters(project_id, user_ids))]


def progress_parameters(project_id: int, user_ids: Collection[int]) -> dict[str, object]:
    """Give what the statement of progress is asked with."""
    midnight = datetime.combine(now().date(), time(), UTC)
    return {"project": project_id, "users": json.dumps(list(user_ids)), "midnight": midnight}


def why_nothing(session: Session, project: Project, user_id: int, count: int) -> str:
    """Say in a sentence why a project of so many items has no question for this labeler, and until when."""
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
