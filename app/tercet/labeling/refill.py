"""Replaces the questions in the queue that nobody was shown by those of a run.

Labelers lease from the queue at the same time. So it is written in short transactions, and new questions are added
before old ones are deleted: it is never empty, and nobody waits for more than a few rows.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, case, delete, exists, func, null, or_, select, union, update
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.items.queries import ids_by_key, items_set_aside
from tercet.labeling.canonical import Ids, order
from tercet.labeling.queue import TOP_UP, UNDONE
from tercet.labeling.sql.statements import COUNTED_ANSWERS
from tercet.labeling.triplets import find, insert_new
from tercet.models import Answer, Flag, Lease, Project, Run, Skip, Source, Triplet, now

AT_ONCE = 50
# Most questions that a labeling page holds.
SCREEN = 12
# Most questions that are queued, even after a million answers: those may have been imported.
MOST = 500
LEASED = exists().where(Lease.triplet_id == Triplet.id, Lease.expires_at > bindparam("at"))
T = TypeVar("T")
IDS = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)


class Queued(NamedTuple):
    """A question that a run has chosen."""

    triplet: Ids
    source: Source
    # Only for a question that is asked again: how many answers it has, and which labeler to ask. `asked_of` None means
    # anybody who has not answered it.
    n_answers: int | None = None
    asked_of: int | None = None


class Demand(NamedTuple):
    """The questions that labelers need from a run."""

    n_questions: int  # until the next run
    n_spare: int  # further ones, in case the next run takes longer
    random_share: float  # share of questions drawn at random
    pending: NDArray[np.int64]  # (n, 3) items of questions that are on screens, or were answered since the run began
    about: str = "everything"  # the focus of the project, with its clusters or items
    clusters: Sequence[int] = ()
    items: Collection[int] = ()
    labelers: Sequence[int] = ()  # those who answer now
    most_answers: int = 1  # to a question whose answers are in doubt
    known_share: float = 0.0  # share of each labeler's questions whose right answer is known


def demand(database: Database, run: Run) -> Demand:
    """Return what labelers need until the next run: a screen of questions each, and one for each answer until then.

    As many answers are expected as came between the last two runs or while this one was computed, whichever is more,
    and at least those that make a run due. The spare questions are as many as a top-up of the queue.
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
    return Demand(
        n_questions=min(expected + SCREEN * max(len(labelers), 1), MOST),
        n_spare=TOP_UP,
        random_share=1 - project.informative_share,
        pending=pending,
        about=focus["about"],
        clusters=focus.get("clusters", ()),
        items=list(items),
        labelers=labelers,
        most_answers=project.redundancy + project.repeats_in_doubt,
        known_share=project.known_share,
    )


def random_share(database: Database, project_id: int) -> float:
    """Return the share of the project's questions that are drawn at random."""
    with database.reading() as session:
        project = session.get(Project, project_id)
        return 0.0 if project is None else 1 - project.informative_share


def _labelers(session: Session, project_id: int, since: int) -> list[int]:
    """Return the labelers who hold questions now, or gave an answer after the number `since`."""
    held = select(Lease.labeler_id).join(Triplet, Triplet.id == Lease.triplet_id)
    held = held.where(Triplet.project_id == project_id, Lease.expires_at > now())
    answered = select(Answer.labeler_id).where(Answer.project_id == project_id, Answer.number > since)
    return sorted(session.scalars(held.union(answered)))


def _pending(session: Session, project_id: int, answers_to: int) -> NDArray[np.int64]:
    """Return the items of questions that are on screens, or have answers that the run did not use."""
    on_screens = select(*IDS).join(Lease, Lease.triplet_id == Triplet.id).where(Lease.expires_at > now())
    answered = select(*IDS).join(Answer, Answer.triplet_id == Triplet.id)
    answered = answered.where(Answer.project_id == project_id, Answer.number > answers_to)
    of_project = (statement.where(Triplet.project_id == project_id) for statement in (on_screens, answered))
    rows = [tuple(row) for row in session.execute(union(*of_project))]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def refill(database: Database, project_id: int, asked: Iterable[Queued]) -> None:
    """Replace the queued questions that nobody was shown by these, in their order."""
    with database.reading() as session:
        project = session.get(Project, project_id)
        if project is None:
            return
        aside = items_set_aside(session, project_id)  # perhaps after the run began
        questions = {order(project.question_kind, row.triplet): row for row in asked if not aside & set(row.triplet)}
        queued = _queued(session, project_id)
    priorities = {triplet: 1 - i / (len(questions) + 1) for i, triplet in enumerate(questions)}
    new = [(key, priorities[key], row.source) for key, row in questions.items() if row.n_answers is None]
    for part in _in_parts(new):
        with database.transaction() as session:
            insert_new(session, project_id, part)
    database.has_grown(len(new), Triplet)
    in_doubt = {triplet: row for triplet, row in questions.items() if row.n_answers is not None}
    for triplets in _in_parts(list(in_doubt)):
        with database.transaction() as session:
            keys = find(session, project_id, triplets)
            _ask_further(session, project, [(keys[it], priorities[it], in_doubt[it]) for it in triplets if it in keys])
    again = [(key, priorities[it]) for key, it in queued if it in priorities and it not in in_doubt]
    for waiting in _in_parts(again):
        with database.transaction() as session:
            _rank_again(session, waiting)
    for stale in _in_parts([key for key, triplet in queued if triplet not in priorities]):
        with database.transaction() as session:
            _drop_unasked(session, stale)
            _ask_no_further(session, project, stale)
            _put_last(session, stale)


def _ask_further(session: Session, project: Project, rows: list[tuple[int, float, Queued]]) -> None:
    """Raise the number of answers that questions need by one, unless answers came that the run did not know.

    A question is not reserved for a labeler who has skipped it or flagged one of its items. An undone question keeps
    its place.
    """
    skipped = exists().where(Skip.triplet_id == Triplet.id, Skip.labeler_id == bindparam("labeler"))
    is_one_of = or_(*(Flag.item_id == item_id for item_id in IDS))
    flagged = exists().where(is_one_of, Flag.labeler_id == bindparam("labeler"))
    statement = (
        update(Triplet)
        .where(Triplet.id == bindparam("key"), bindparam("n_answers") == COUNTED_ANSWERS)
        .where(func.coalesce(Triplet.priority, 0) < UNDONE)
        .values(
            priority=bindparam("rank"),
            extra_answers=bindparam("extra"),
            asked_of=case((skipped | flagged, null()), else_=bindparam("labeler")),
        )
    )
    session.connection().execute(
        statement,
        [
            {
                "key": key,
                "rank": priority,
                "labeler": row.asked_of,
                "n_answers": row.n_answers,
                "extra": max((row.n_answers or 0) + 1 - project.redundancy, 0),
            }
            for key, priority, row in sorted(rows, key=lambda row: row[0])
        ],
    )


def _ask_no_further(session: Session, project: Project, ids: list[int]) -> None:
    """Take out of the queue those of the triplets whose answers are no longer in doubt."""
    enough = project.redundancy <= COUNTED_ANSWERS
    in_doubt = Triplet.id.in_(ids) & (Triplet.extra_answers > 0) & ~LEASED
    values = {"extra_answers": 0, "asked_of": None, "priority": case((enough, null()), else_=Triplet.priority)}
    statement = update(Triplet).where(in_doubt).values(values).execution_options(synchronize_session=False)
    session.execute(statement, {"at": now()})


def _in_parts(rows: list[T]) -> Iterator[list[T]]:
    return (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))


def _rank_again(session: Session, priorities: list[tuple[int, float]]) -> None:
    """Give questions that were in the queue before their new priorities; an undone question keeps its place."""
    statement = update(Triplet).where(Triplet.id == bindparam("key"), Triplet.priority < UNDONE)
    rows = [{"key": key, "rank": priority} for key, priority in priorities]
    session.connection().execute(statement.values(priority=bindparam("rank")), rows)


def _queued(session: Session, project_id: int) -> list[tuple[int, Ids]]:
    """Return the queued triplets that nobody has leased."""
    statement = select(Triplet.id, *IDS).where(Triplet.project_id == project_id, Triplet.priority.is_not(None), ~LEASED)
    rows = session.execute(statement, {"at": now()})
    return [(key, (a, b, c)) for key, a, b, c in rows]


def _drop_unasked(session: Session, ids: list[int]) -> None:
    """Delete those of the triplets that have no answer, skip or lease and are not being leased at the moment."""
    touched = or_(
        exists().where(Answer.triplet_id == Triplet.id),
        exists().where(Skip.triplet_id == Triplet.id),
        LEASED,
    )
    # They are locked first and checked again then, since a lease may have been written in between. Leased ones are
    # never locked: their answers would have to wait.
    untouched = select(Triplet.id).where(Triplet.id.in_(ids), ~touched).with_for_update(skip_locked=True)
    at = {"at": now()}
    locked = session.scalars(untouched, at).all()
    session.execute(
        delete(Triplet).where(Triplet.id.in_(locked), ~touched).execution_options(synchronize_session=False), at
    )


def _put_last(session: Session, ids: list[int]) -> None:
    """Put those of the triplets that were skipped and never answered behind all others."""
    unanswered = Triplet.id.in_(ids) & ~exists().where(Answer.triplet_id == Triplet.id)
    session.execute(update(Triplet).where(unanswered).values(priority=0.0).execution_options(synchronize_session=False))
