"""Reads pages of answers, other answers to the same questions, and decisions."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Select, SQLColumnExpression, case, func, or_, select, union_all
from sqlalchemy.orm import Session, aliased

from tercet.accounts.named_labelers import NamedLabeler
from tercet.answers.schemas import AnswerState, Filters
from tercet.items import filtering
from tercet.labeling.canonical import Ids
from tercet.labeling.decisions import AUTOMATIC, MAY_BE_UNSEEN
from tercet.models import Answer, Decision, Item, Membership, Triplet, User, Verdict

# Habits are measured over so many of a person's newest answers.
HABITS = 200
CHUNK = 500


class ListedAnswer(NamedTuple):
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
    comment: str
    created_at: datetime
    withdrawn_at: datetime | None
    known_at: datetime | None
    set_aside_at: datetime | None
    set_aside_by: str | None
    reason: str | None

    @property
    def triplet(self) -> Ids:
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


class UnseenAnswers(NamedTuple):
    """How many answers without a response time runs use, and how many are set aside for having none."""

    used: int
    set_aside: int


class LoggedDecision(NamedTuple):
    """A decision with the names of whom it is about and of who made it."""

    verdict: str
    labeler_id: int
    labeler: str
    answer_number: int | None
    answers: int
    unseen: bool
    withdrawn: bool
    by: str
    reason: str
    created_at: datetime


def of_state(state: AnswerState | None) -> list[SQLColumnExpression[bool]]:
    """Return the condition for answers in a state; without one, all that were not withdrawn."""
    match state:
        case AnswerState.USED:
            return [Answer.counts]
        case AnswerState.UNSEEN:
            return [Answer.withdrawn_at.is_(None), MAY_BE_UNSEEN]
        case AnswerState.WITHDRAWN:
            return [Answer.withdrawn_at.is_not(None), ~Answer.erased]
        case AnswerState.SET_ASIDE:
            return [Answer.withdrawn_at.is_(None), Answer.set_aside_id.is_not(None)]
        case None:
            return [Answer.withdrawn_at.is_(None)]


def _passing(project_id: int, filters: Filters) -> list[SQLColumnExpression[bool]]:
    """Return the conditions for the answers that pass, in statements that join their triplets."""
    conditions = [Answer.project_id == project_id, *of_state(filters.state)]
    if filters.labeler is not None:
        conditions.append(Answer.labeler_id == filters.labeler)
    if filters.commented:
        conditions.append(Answer.comment != "")
    if filters.answer is not None:
        conditions.append(Answer.value == filters.answer)
    if filters.is_set:
        items = select(Item.id).where(*filtering.conditions(project_id, filters))
        conditions.append(or_(*(place.in_(items) for place in (Triplet.anchor_id, Triplet.left_id, Triplet.right_id))))
    return conditions


def _select_answers() -> Select[*tuple[object, ...]]:
    by, labeler = aliased(User), NamedLabeler()
    return labeler.join(
        select(
            Answer.id,
            Answer.number,
            Answer.value,
            Answer.triplet_id,
            Triplet.anchor_id,
            Triplet.left_id,
            Triplet.right_id,
            Answer.labeler_id,
            labeler.name,
            Answer.response_ms,
            Answer.comment,
            Answer.created_at,
            Answer.withdrawn_at,
            Answer.known_at,
            Decision.created_at,
            func.coalesce(by.name, AUTOMATIC),
            Decision.reason,
        )
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .outerjoin(Decision, Decision.id == Answer.set_aside_id)
        .outerjoin(by, by.id == Decision.by_id),
        Answer.labeler_id,
        Answer.project_id,
    )


def newest(session: Session, project_id: int, filters: Filters, before: int | None, limit: int) -> list[ListedAnswer]:
    """Return up to `limit` answers, newest first, those before a number."""
    statement = _select_answers().where(*_passing(project_id, filters))
    if before is not None:
        statement = statement.where(Answer.number < before)
    rows = session.execute(statement.order_by(Answer.number.desc()).limit(limit))
    return [ListedAnswer._make(row) for row in rows]


def numbers(session: Session, project_id: int, filters: Filters) -> list[int]:
    """Return the numbers of all answers that pass the filters."""
    statement = select(Answer.number).where(*_passing(project_id, filters))
    if filters.is_set:
        statement = statement.join(Triplet, Triplet.id == Answer.triplet_id)
    return list(session.scalars(statement))


def by_number(session: Session, project_id: int, filters: Filters, of_those: Sequence[int]) -> dict[int, ListedAnswer]:
    """Return the answers with some numbers, a few hundred at most, that pass the filters, by number."""
    statement = _select_answers().where(*_passing(project_id, filters), Answer.number.in_(of_those))
    answers = (ListedAnswer._make(row) for row in session.execute(statement))
    return {answer.number: answer for answer in answers}


def votes(session: Session, triplet_ids: Collection[int]) -> dict[int, list[tuple[int, str]]]:
    """Return the labeler and the value of each answer that counts, by question."""
    by_triplet: dict[int, list[tuple[int, str]]] = {}
    ids = sorted(set(triplet_ids))
    for start in range(0, len(ids), CHUNK):
        statement = select(Answer.triplet_id, Answer.labeler_id, Answer.value).where(
            Answer.triplet_id.in_(ids[start : start + CHUNK]), *of_state(AnswerState.USED)
        )
        for triplet_id, labeler_id, value in session.execute(statement):
            by_triplet.setdefault(triplet_id, []).append((labeler_id, value))
    return by_triplet


def habits(session: Session, project_id: int, people: Sequence[int]) -> list[Habit]:
    """Return each person's newest answers that they did not withdraw, oldest first; those set aside are among them."""
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
    chosen = union_all(*(select(newest.c.id) for newest in newest_of)).subquery()
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
        .join(chosen, chosen.c.id == Answer.id)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .order_by(Answer.number)
    )
    return [Habit._make(row) for row in session.execute(statement)]


def set_aside_counts(session: Session, project_id: int) -> dict[int, tuple[int, int]]:
    """Count the answers set aside per labeler: all of them, and those of them set aside all at once."""
    at_once = func.count(case((Decision.about_all, 1)))
    statement = (
        select(Answer.labeler_id, func.count(), at_once)
        .join(Answer, Answer.set_aside_id == Decision.id)
        .where(Decision.project_id == project_id, *of_state(AnswerState.SET_ASIDE))
        .group_by(Answer.labeler_id)
    )
    return {person: (every, by_labeler) for person, every, by_labeler in session.execute(statement)}


def unseen(session: Session, project_id: int) -> UnseenAnswers:
    """Count the answers whose pictures may not have been seen: those that runs use, and those set aside for it."""
    of_project = (Answer.project_id == project_id) & Answer.withdrawn_at.is_(None)
    used = select(func.count()).select_from(Answer).where(of_project, Answer.counts, MAY_BE_UNSEEN)
    aside = select(func.count()).join_from(Answer, Decision, Answer.set_aside_id == Decision.id)
    counts = select(used.scalar_subquery(), aside.where(of_project, Decision.unseen).scalar_subquery())
    return UnseenAnswers._make(session.execute(counts).one())


def labelers_of_unseen(session: Session, project_id: int, verdict: Verdict) -> Sequence[int]:
    """Return who gave the answers that such a decision about unseen ones is about."""
    of_project = (Answer.project_id == project_id) & Answer.withdrawn_at.is_(None)
    if verdict == Verdict.SET_ASIDE:
        people = select(Answer.labeler_id).where(of_project, Answer.counts, MAY_BE_UNSEEN)
    else:
        people = select(Answer.labeler_id).join(Decision, Answer.set_aside_id == Decision.id)
        people = people.where(of_project, Decision.unseen)
    return session.scalars(people.distinct().order_by(Answer.labeler_id)).all()


def stand_ins_of_removed(session: Session, project_id: int) -> set[int]:
    """Return the users who stand for labelers that were erased together with their answers."""
    return set(session.scalars(select(Answer.labeler_id).where(Answer.project_id == project_id, Answer.erased)))


def names(session: Session, project_id: int, people: Collection[int]) -> dict[int, str]:
    """Return the names of people in the project."""
    statement = (
        select(User.id, func.coalesce(Membership.participant, User.name))
        .outerjoin(Membership, (Membership.user_id == User.id) & (Membership.project_id == project_id))
        .where(User.id.in_(people))
    )
    return dict(session.execute(statement).all())


def decisions(session: Session, project_id: int, limit: int) -> list[LoggedDecision]:
    """Return the newest decisions, newest first."""
    by, labeler = aliased(User), NamedLabeler()
    statement = (
        select(
            Decision.verdict,
            Decision.labeler_id,
            labeler.name,
            Decision.answer_number,
            Decision.answers,
            Decision.unseen,
            Decision.withdrawn,
            func.coalesce(by.name, AUTOMATIC),
            Decision.reason,
            Decision.created_at,
        )
        .outerjoin(by, by.id == Decision.by_id)
        .where(Decision.project_id == project_id)
        .order_by(Decision.id.desc())
        .limit(limit)
    )
    statement = labeler.join(statement, Decision.labeler_id, Decision.project_id)
    return [LoggedDecision._make(row) for row in session.execute(statement)]


def changed_since(session: Session, project_id: int, moment: datetime) -> tuple[int, int]:
    """Count the answers set aside since then and still aside, and those put back since then."""
    later = aliased(Decision)
    # What was on hold and then set aside is counted once.
    replaced = select(later.id).where(
        later.project_id == project_id,
        later.labeler_id == Decision.labeler_id,
        later.id > Decision.id,
        later.verdict == Verdict.SET_ASIDE,
        later.about_all,
    )
    stands = (Decision.verdict != Verdict.HELD) | ~replaced.exists()
    decided = (Decision.project_id == project_id) & (Decision.created_at >= moment) & stands
    sums = select(Decision.verdict, func.sum(Decision.answers)).where(decided).group_by(Decision.verdict)
    decided_on = {verdict: int(answers) for verdict, answers in session.execute(sums)}
    still = select(func.count()).join_from(Decision, Answer, Answer.set_aside_id == Decision.id)
    aside = session.scalar(still.where(decided, *of_state(AnswerState.SET_ASIDE))) or 0
    undone = decided_on.get(Verdict.SET_ASIDE, 0) + decided_on.get(Verdict.HELD, 0) - aside
    return aside, max(0, decided_on.get(Verdict.PUT_BACK, 0) - undone)
