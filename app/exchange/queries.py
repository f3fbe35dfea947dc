"""What is read for exchange: who labels under which name, what ids stand for, and answers page by page."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from app.models import Answer, Decision, Item, Membership, Triplet, User

CHUNK = 500


class Exported(NamedTuple):
    """One answer as it leaves."""

    id: UUID
    number: int
    anchor: str
    left: str
    right: str
    answer: str
    labeler: str
    response_ms: int | None
    created_at: datetime
    withdrawn_at: datetime | None
    set_aside_at: datetime | None


class Known(NamedTuple):
    """What a stored id stands for."""

    project_id: int
    triplet: tuple[int, int, int]
    answer: str
    labeler_id: int


def labelers_by_name(session: Session, project_id: int) -> dict[str, int]:
    """Give the members by the name that exports show: their participant name, else their own."""
    statement = (
        select(func.coalesce(Membership.participant, User.name).label("name"), User.id)
        .join(User, User.id == Membership.user_id)
        .where(Membership.project_id == project_id)
        .order_by(Membership.participant.is_not(None), User.id.desc())
    )
    return {row.name: row.id for row in session.execute(statement)}


def known_answers(session: Session, ids: Sequence[UUID]) -> dict[UUID, Known]:
    """Give what those of the ids that are taken stand for, in whatever project."""
    found: dict[UUID, Known] = {}
    for start in range(0, len(ids), CHUNK):
        rows = session.execute(
            select(
                Answer.id,
                Answer.project_id,
                Triplet.anchor_id,
                Triplet.left_id,
                Triplet.right_id,
                Answer.value,
                Answer.labeler_id,
            )
            .join(Triplet, Triplet.id == Answer.triplet_id)
            .where(Answer.id.in_(ids[start : start + CHUNK]))
        )
        for number, project, anchor, left, right, value, labeler in rows:
            found[number] = Known(project, (anchor, left, right), value, labeler)
    return found


def page_of_answers(
    session: Session, project_id: int, after: int, limit: int, *, with_withdrawn: bool
) -> list[Exported]:
    """Give up to `limit` answers behind a number, in the order in which they came; all, or those that runs use."""
    anchor, left, right = aliased(Item), aliased(Item), aliased(Item)
    statement = (
        select(
            Answer.id,
            Answer.number,
            anchor.key,
            left.key,
            right.key,
            Answer.value,
            func.coalesce(Membership.participant, User.name),
            Answer.response_ms,
            Answer.created_at,
            Answer.withdrawn_at,
            Decision.created_at,
        )
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .join(anchor, anchor.id == Triplet.anchor_id)
        .join(left, left.id == Triplet.left_id)
        .join(right, right.id == Triplet.right_id)
        .join(User, User.id == Answer.labeler_id)
        .outerjoin(
            Membership, (Membership.user_id == Answer.labeler_id) & (Membership.project_id == Answer.project_id)
        )
        .outerjoin(Decision, Decision.id == Answer.set_aside_id)
        .where(Answer.project_id == project_id, Answer.number > after)
        .order_by(Answer.number)
        .limit(limit)
    )
    if not with_withdrawn:
        statement = statement.where(Answer.withdrawn_at.is_(None), Answer.set_aside_id.is_(None))
    return [Exported._make(row) for row in session.execute(statement)]
