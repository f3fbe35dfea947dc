"""Puts the questions of a run in place of those in the queue that nobody was shown.

Labelers draw from the queue all the while, so it is written in short transactions, new questions before old ones
are deleted: it is never empty, and nobody waits for more than a few rows.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, delete, exists, func, or_, select, union, update
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.items.queries import ids_by_key, items_set_aside
from tercet.labeling.canonical import Ids, order
from tercet.labeling.queue import TOP_UP, UNDONE
from tercet.labeling.triplets import insert_new
from tercet.models import Answer, Lease, Project, Run, Skip, Source, Triplet, now

AT_ONCE = 50
# The most questions that a labeling page holds.
SCREEN = 12
# The most that are queued, whatever the rerun rule says: a million imported answers were not given on screens.
MOST = 500
LEASED = exists().where(Lease.triplet_id == Triplet.id, Lease.expires_at > bindparam("at"))
T = TypeVar("T")
IDS = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)


class Demand(NamedTuple):
    """What labelers need of a run."""

    n_questions: int  # until the next run
    n_spare: int  # behind these, should the next run take longer
    random_share: float  # of them
    pending: NDArray[np.int64]  # (n, 3) items of questions that are on screens, or were answered since the run began
    about: str = "everything"  # what they are about; the clusters or items, where it is these
    clusters: Sequence[int] = ()
    items: Collection[int] = ()


def demand(database: Database, run: Run) -> Demand:
    """Return what labelers need until the next run: a screen each, and the answers that will come by then.

    These are as many as came between the last two runs or while this one was computed, whichever is more, and at
    least those that make a run due. Behind them wait as many as would be drawn at random if they ran out.
    """
    answers_to = run.answers_to or 0
    with database.reading() as session:
        project = session.get(Project, run.project_id)
        if project is None:  # deleted since
            return Demand(0, 0, 0, np.empty((0, 3), dtype=np.int64))
        expected = max(project.rerun_answers, answers_to - run.answers_from, project.answer_number - answers_to)
        labelers = _labelers(session, project.id, run.answers_from)
        pending = _pending(session, project.id, answers_to)
        focus = project.focus or {"about": "everything"}
        items = ids_by_key(session, project.id, focus.get("items", ())).values()
    n_questions = min(expected + SCREEN * max(labelers, 1), MOST)
    random_share = 1 - project.informative_share
    return Demand(n_questions, TOP_UP, random_share, pending, focus["about"], focus.get("clusters", ()), list(items))


def random_share(database: Database, project_id: int) -> float:
    """Return the share of the project's questions that are drawn at random."""
    with database.reading() as session:
        project = session.get(Project, project_id)
        return 0.0 if project is None else 1 - project.informative_share


def _labelers(session: Session, project_id: int, since: int) -> int:
    """Count those who hold questions now or answered some after the answer number `since`."""
    held = select(Lease.labeler_id).join(Triplet, Triplet.id == Lease.triplet_id)
    held = held.where(Triplet.project_id == project_id, Lease.expires_at > now())
    answered = select(Answer.labeler_id).where(Answer.project_id == project_id, Answer.number > since)
    return session.scalar(select(func.count()).select_from(held.union(answered).subquery())) or 0


def _pending(session: Session, project_id: int, answers_to: int) -> NDArray[np.int64]:
    """Return the items of questions that are on screens or have answers that the run did not use."""
    on_screens = select(*IDS).join(Lease, Lease.triplet_id == Triplet.id).where(Lease.expires_at > now())
    answered = select(*IDS).join(Answer, Answer.triplet_id == Triplet.id)
    answered = answered.where(Answer.project_id == project_id, Answer.number > answers_to)
    of_project = (statement.where(Triplet.project_id == project_id) for statement in (on_screens, answered))
    rows = [tuple(row) for row in session.execute(union(*of_project))]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def refill(database: Database, project_id: int, asked: Iterable[tuple[Ids, Source]]) -> None:
    """Put questions, the first to be asked first, in place of the queued ones that nobody has been shown."""
    with database.reading() as session:
        project = session.get(Project, project_id)
        if project is None:
            return
        aside = items_set_aside(session, project_id)  # since the run began, perhaps
        sources = {order(project.question_kind, ids): source for ids, source in asked if not aside & set(ids)}
        queued = _queued(session, project_id)
    priorities = {triplet: 1 - i / (len(sources) + 1) for i, triplet in enumerate(sources)}
    rows = [(triplet, priorities[triplet], source) for triplet, source in sources.items()]
    for new in _in_parts(rows):
        with database.transaction() as session:
            insert_new(session, project_id, new)
    database.has_grown(len(rows), Triplet)
    for waiting in _in_parts([(key, priorities[triplet]) for key, triplet in queued if triplet in priorities]):
        with database.transaction() as session:
            _rank_again(session, waiting)
    for stale in _in_parts([key for key, triplet in queued if triplet not in priorities]):
        with database.transaction() as session:
            _drop_unasked(session, stale)
            _put_last(session, stale)


def _in_parts(rows: list[T]) -> Iterator[list[T]]:
    return (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))


def _rank_again(session: Session, priorities: list[tuple[int, float]]) -> None:
    """Give questions that waited already the place that they have among the new ones; an undone one keeps its own."""
    statement = update(Triplet).where(Triplet.id == bindparam("key"), Triplet.priority < UNDONE)
    rows = [{"key": key, "rank": priority} for key, priority in priorities]
    session.connection().execute(statement.values(priority=bindparam("rank")), rows)


def _queued(session: Session, project_id: int) -> list[tuple[int, Ids]]:
    """Return the queued triplets that are on nobody's screen now."""
    statement = select(Triplet.id, *IDS).where(Triplet.project_id == project_id, Triplet.priority.is_not(None), ~LEASED)
    rows = session.execute(statement, {"at": now()})
    return [(key, (a, b, c)) for key, a, b, c in rows]


def _drop_unasked(session: Session, ids: list[int]) -> None:
    """Delete those of the triplets that have no answer, skip or lease, and that nobody is about to lease."""
    touched = or_(
        exists().where(Answer.triplet_id == Triplet.id),
        exists().where(Skip.triplet_id == Triplet.id),
        LEASED,
    )
    # Locked first and looked at again when they are ours: a lease may be written in between. Those on somebody's
    # screen are never locked, or their answer would have to wait.
    untouched = select(Triplet.id).where(Triplet.id.in_(ids), ~touched).with_for_update(skip_locked=True)
    at = {"at": now()}
    locked = session.scalars(untouched, at).all()
    session.execute(
        delete(Triplet).where(Triplet.id.in_(locked), ~touched).execution_options(synchronize_session=False), at
    )


def _put_last(session: Session, ids: list[int]) -> None:
    """Let those of the triplets that somebody skipped and nobody answered wait behind all others."""
    unanswered = Triplet.id.in_(ids) & ~exists().where(Answer.triplet_id == Triplet.id)
    session.execute(update(Triplet).where(unanswered).values(priority=0.0).execution_options(synchronize_session=False))
