"""What is read about answers and the people who gave them: pages of answers, what others said, decisions."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, func, select, union_all
from sqlalchemy.orm import Session, aliased

from app.answers.schemas import Filters, State
from app.models import Answer, Decision, Membership, Triplet, User, Verdict

# A person's newest answers, over which their habits are told.
HABITS = 200
CHUNK = 500


class Given(NamedTuple):
    """One answer with its question, its labeler, and the decision by which it is set aside."""

    id: UUID
    number: int
    value: str
    triplet_id: int
    anchor_id: int
    left_id: int
    right_id: int
    labeler_id: int
    labeler: str
    response_ms: int | None
    created_at: datetime
    withdrawn_at: datetime | None
    set_aside_at: datetime | None
    set_aside_by: str | None
    reason: str | None

    @property
    def triplet(self) -> tuple[int, int, int]:
        """The items of the question, as stored."""
        return self.anchor_id, self.left_id, self.right_id


class Habit(NamedTuple):
    """One of a person's newest answers."""

    labeler_id: int
    value: str
    triplet_id: int
    anchor_id: int
    left_id: int
    right_id: int
    response_ms: int | None
    created_at: datetime


class Logged(NamedTuple):
    """A decision with the names of whom it is about and of who made it."""

    verdict: str
    labeler_id: int
    labeler: str
    answer_number: int | None
    answers: int
    by: str
    reason: str
    created_at: datetime


def of_state(state: State | None) -> list[ColumnElement[bool]]:
    """Say which answers are in a state; without one, all that their labelers did not withdraw."""
    if state == State.WITHDRAWN:
        return [Answer.withdrawn_at.is_not(None)]
    stands: list[ColumnElement[bool]] = [Answer.withdrawn_at.is_(None)]
    if state == State.USED:
        stands.append(Answer.set_aside_id.is_(None))
    if state == State.SET_ASIDE:
        stands.append(Answer.set_aside_id.is_not(None))
    return stands


def _passing(project_id: int, filters: Filters) -> list[ColumnElement[bool]]:
    conditions = [Answer.project_id == project_id, *of_state(filters.state)]
    if filters.labeler is not None:
        conditions.append(Answer.labeler_id == filters.labeler)
    if filters.answer is not None:
        conditions.append(Answer.value == filters.answer)
    return conditions


def _name() -> tuple[type[User], type[Membership], ColumnElement[str]]:
    """Give a person and a membership to join, and the name by which exports know that person."""
    person, member = aliased(User), aliased(Membership)
    return person, member, func.coalesce(member.participant, person.name)


def _select_given() -> Select[*tuple[object, ...]]:
    by, (person, member, name) = aliased(User), _name()
    return (
        select(
            Answer.id,
            Answer.number,
            Answer.value,
            Answer.triplet_id,
            Triplet.anchor_id,
            Triplet.left_id,
            Triplet.right_id,
            Answer.labeler_id,
            name,
            Answer.response_ms,
            Answer.created_at,
            Answer.withdrawn_at,
            Decision.created_at,
            by.name,
            Decision.reason,
        )
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .join(person, person.id == Answer.labeler_id)
        .outerjoin(member, (member.user_id == Answer.labeler_id) & (member.project_id == Answer.project_id))
        .outerjoin(Decision, Decision.id == Answer.set_aside_id)
        .outerjoin(by, by.id == Decision.by_id)
    )


def newest(session: Session, project_id: int, filters: Filters, before: int | None, limit: int) -> list[Given]:
    """Give up to `limit` answers, newest first, those before a number."""
    statement = _select_given().where(*_passing(project_id, filters))
    if before is not None:
        statement = statement.where(Answer.number < before)
    rows = session.execute(statement.order_by(Answer.number.desc()).limit(limit))
    return [Given._make(row) for row in rows]


def numbers(session: Session, project_id: int, filters: Filters) -> list[int]:
    """Give the numbers of all answers that pass."""
    return list(session.scalars(select(Answer.number).where(*_passing(project_id, filters))))


def by_number(session: Session, project_id: int, filters: Filters, wanted: Sequence[int]) -> dict[int, Given]:
    """Give those of a few hundred answers that pass, by number."""
    statement = _select_given().where(*_passing(project_id, filters), Answer.number.in_(wanted))
    found = (Given._make(row) for row in session.execute(statement))
    return {row.number: row for row in found}


def said_by_all(session: Session, triplet_ids: Collection[int]) -> dict[int, list[tuple[int, str]]]:
    """Give who said what to each question, of the answers that runs use."""
    said: dict[int, list[tuple[int, str]]] = {}
    ids = sorted(set(triplet_ids))
    for start in range(0, len(ids), CHUNK):
        statement = select(Answer.triplet_id, Answer.labeler_id, Answer.value).where(
            Answer.triplet_id.in_(ids[start : start + CHUNK]), *of_state(State.USED)
        )
        for triplet_id, labeler_id, value in session.execute(statement):
            said.setdefault(triplet_id, []).append((labeler_id, value))
    return said


def habits(session: Session, project_id: int, people: Sequence[int]) -> list[Habit]:
    """Give each person's newest answers that they did not withdraw, oldest first; those set aside are among them."""
    newest_of = [
        select(Answer.id)
        .where(Answer.project_id == project_id, Answer.labeler_id == person, *of_state(None))
        .order_by(Answer.number.desc())
        .limit(HABITS)
        .subquery()
        for person in people
    ]
    if not newest_of:
        return []
    mine = union_all(*(select(one.c.id) for one in newest_of)).subquery()
    statement = (
        select(
            Answer.labeler_id,
            Answer.value,
            Answer.triplet_id,
            Triplet.anchor_id,
            Triplet.left_id,
            Triplet.right_id,
            Answer.response_ms,
            Answer.created_at,
        )
        .join(mine, mine.c.id == Answer.id)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .order_by(Answer.number)
    )
    return [Habit._make(row) for row in session.execute(statement)]


def set_aside_counts(session: Session, project_id: int) -> dict[int, tuple[int, int]]:
    """Count the answers set aside per labeler: all of them, and those of them set aside all at once."""
    together = func.count(case((Decision.answer_number.is_(None), 1)))
    statement = (
        select(Answer.labeler_id, func.count(), together)
        .join(Answer, Answer.set_aside_id == Decision.id)
        .where(Decision.project_id == project_id, *of_state(State.SET_ASIDE))
        .group_by(Answer.labeler_id)
    )
    return {person: (every, at_once) for person, every, at_once in session.execute(statement)}


def names(session: Session, project_id: int, people: Collection[int]) -> dict[int, str]:
    """Give the names by which the project knows people."""
    statement = (
        select(User.id, func.coalesce(Membership.participant, User.name))
        .outerjoin(Membership, (Membership.user_id == User.id) & (Membership.project_id == project_id))
        .where(User.id.in_(people))
    )
    return dict(session.execute(statement).all())


def decisions(session: Session, project_id: int, limit: int) -> list[Logged]:
    """Give the newest decisions, newest first."""
    by, (person, member, name) = aliased(User), _name()
    statement = (
        select(
            Decision.verdict,
            Decision.labeler_id,
            name,
            Decision.answer_number,
            Decision.answers,
            by.name,
            Decision.reason,
            Decision.created_at,
        )
        .join(by, by.id == Decision.by_id)
        .join(person, person.id == Decision.labeler_id)
        .outerjoin(member, (member.user_id == Decision.labeler_id) & (member.project_id == Decision.project_id))
        .where(Decision.project_id == project_id)
        .order_by(Decision.id.desc())
        .limit(limit)
    )
    return [Logged._make(row) for row in session.execute(statement)]


def changed_since(session: Session, project_id: int, moment: datetime) -> tuple[int, int]:
    """Count the answers set aside since then that still are, and those put back that had been aside before."""
    decided = (Decision.project_id == project_id) & (Decision.created_at >= moment)
    sums = select(Decision.verdict, func.sum(Decision.answers)).where(decided).group_by(Decision.verdict)
    found = {verdict: int(answers) for verdict, answers in session.execute(sums)}
    still = select(func.count()).join_from(Decision, Answer, Answer.set_aside_id == Decision.id)
    aside = session.scalar(still.where(decided, *of_state(State.SET_ASIDE))) or 0
    undone = found.get(Verdict.SET_ASIDE, 0) - aside
    return aside, max(0, found.get(Verdict.PUT_BACK, 0) - undone)
