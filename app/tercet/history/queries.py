"""Reads the answers that one run used and an earlier one did not, the edits made in between, and a labeler's blocks."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session, aliased

from tercet.models import Answer, Edit, Item, Purpose, Run, RunStatus, Triplet


class PlacedAnswer(NamedTuple):
    """An answer by its number, whether it names an item, and the positions of the three items that it is about."""

    number: int
    names_item: bool
    anchor: int
    left: int
    right: int


def new_answers(session: Session, project_id: int, after: int, until: int, limit: int) -> list[PlacedAnswer]:
    """Return up to `limit` of the answers that count and have numbers above `after` up to `until`, newest first."""
    anchor, left, right = aliased(Item), aliased(Item), aliased(Item)
    statement = (
        select(Answer.number, Answer.value != "dnk", anchor.position, left.position, right.position)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .join(anchor, anchor.id == Triplet.anchor_id)
        .join(left, left.id == Triplet.left_id)
        .join(right, right.id == Triplet.right_id)
        .where(Answer.project_id == project_id, Answer.number > after, Answer.number <= until, Answer.counts)
        .order_by(Answer.number.desc())
        .limit(limit)
    )
    return [PlacedAnswer._make(row) for row in session.execute(statement)]


def count_edits(session: Session, project_id: int, after: datetime | None, until: datetime | None) -> int:
    """Count the edits made between the beginnings of two runs, those taken back since among them."""
    if after is None or until is None:
        return 0
    in_between = (Edit.project_id == project_id) & (Edit.created_at > after) & (Edit.created_at <= until)
    return session.scalar(select(func.count()).select_from(Edit).where(in_between)) or 0


def with_clusters_before(session: Session, run: Run) -> Run | None:
    """Return the newest finished run with clusters before this one, of the same purpose if there is one."""
    earlier = (Run.project_id == run.project_id) & (Run.number < run.number) & Run.result.is_not(None)
    statement = select(Run).where(earlier, Run.status == RunStatus.DONE)
    return session.scalar(statement.order_by((Run.purpose == run.purpose).desc(), Run.number.desc()).limit(1))


def runs_with_clusters(session: Session, project_id: int, limit: int) -> list[Run]:
    """Return the newest finished runs with clusters, newest first."""
    done = (Run.project_id == project_id) & (Run.status == RunStatus.DONE) & Run.result.is_not(None)
    return list(session.scalars(select(Run).where(done).order_by(Run.number.desc()).limit(limit)))


def count_answers(session: Session, project_id: int, user_id: int) -> int:
    """Count a labeler's answers that were not withdrawn."""
    return session.scalar(select(func.count()).select_from(Answer).where(*_standing(project_id, user_id))) or 0


def numbers_of_block(session: Session, project_id: int, user_id: int, block: int, size: int) -> tuple[int, int]:
    """Return the numbers of the first and the last answer of a labeler's block of so many, the first block being 1."""
    numbers = select(Answer.number).where(*_standing(project_id, user_id)).order_by(Answer.number)
    of_block = numbers.offset((block - 1) * size).limit(size).subquery()
    first, last = session.execute(select(func.min(of_block.c.number), func.max(of_block.c.number))).one()
    return first, last


def runs_around(session: Session, project_id: int, first: int, last: int) -> tuple[Run | None, Run | None]:
    """Return the newest run that knows no answer from number `first` on, and the first that knows all up to `last`."""
    current = (Run.project_id == project_id) & (Run.purpose == Purpose.CURRENT)
    done = select(Run).where(current, Run.status == RunStatus.DONE, Run.result.is_not(None))
    before = session.scalar(done.where(Run.answers_to < first).order_by(Run.number.desc()).limit(1))
    return before, session.scalar(done.where(Run.answers_to >= last).order_by(Run.number).limit(1))


def count_between(session: Session, project_id: int, user_id: int, after: int, until: int) -> tuple[int, int]:
    """Count the answers that count above a number up to another: the labeler's, and those of others."""
    in_between = (Answer.project_id == project_id) & (Answer.number > after) & (Answer.number <= until) & Answer.counts
    own = func.count(case((Answer.labeler_id == user_id, 1)))
    counted, every = session.execute(select(own, func.count()).select_from(Answer).where(in_between)).one()
    return counted, every - counted


def _standing(project_id: int, user_id: int) -> tuple[ColumnElement[bool], ...]:
    return Answer.project_id == project_id, Answer.labeler_id == user_id, Answer.withdrawn_at.is_(None)
