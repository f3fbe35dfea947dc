"""What a run does to the queue of questions: its own come in, those that nobody was shown go.

Labelers draw from the queue all the while, so it is written in short transactions, new questions before old ones
are deleted: it is never empty, and nobody waits for more than a few rows.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, exists, or_, select
from sqlalchemy.orm import Session

from app.database import Database
from app.labeling.canonical import Ids, order
from app.labeling.queue import TOP_UP, draw
from app.labeling.triplets import insert_new
from app.models import Answer, Lease, Project, Skip, Source, Triplet, now

AT_ONCE = 50


class Candidate(NamedTuple):
    """A question that a run proposes, the more informative the higher its priority."""

    anchor_id: int
    left_id: int
    right_id: int
    priority: float
    source: str


def refill(database: Database, project_id: int, candidates: Sequence[Candidate]) -> None:
    """Put a run's questions in place of the queued ones that nobody has been shown.

    The share of informative questions is the project's `informative_share`; random ones that the run did
    not bring are drawn here. Both halves are shuffled into one order, so that whichever labeler comes next
    gets the same mixture, and an informative question comes the earlier the more it tells.
    """
    with database.reading() as session:
        project = session.get(Project, project_id)
        if project is None:
            return
        wanted = _mix(session, project, candidates)
        queued = _queued(session, project_id)
    rows = [(triplet, 1 - i / (len(wanted) + 1), source) for i, (triplet, source) in enumerate(wanted.items())]
    for start in range(0, len(rows), AT_ONCE):
        with database.transaction() as session:
            insert_new(session, project_id, rows[start : start + AT_ONCE])
    stale = [key for key, triplet in queued if triplet not in wanted]
    for start in range(0, len(stale), AT_ONCE):
        with database.transaction() as session:
            _drop_unasked(session, stale[start : start + AT_ONCE])


def _mix(session: Session, project: Project, candidates: Sequence[Candidate]) -> dict[Ids, Source]:
    """Give the questions in the order in which they are to be asked, each with where it comes from."""
    informative = sorted((c for c in candidates if c.source == Source.INFORMATION), key=lambda c: -c.priority)
    share = project.informative_share
    total = round(len(informative) / share) if informative and share > 0 else max(TOP_UP, len(candidates))
    if share == 0:
        informative = []
    plain = [c[:3] for c in candidates if c.source != Source.INFORMATION]
    short = total - len(informative) - len(plain)
    if short > 0:
        plain += draw(session, project, short)
    return _interleave(
        [(order(project.question_kind, c[:3]), Source.INFORMATION) for c in informative],
        [(order(project.question_kind, t), Source.RANDOM) for t in plain[: total - len(informative)]],
    )


def _interleave(first: list[tuple[Ids, Source]], second: list[tuple[Ids, Source]]) -> dict[Ids, Source]:
    """Shuffle two lists into one, each keeping its own order, no triplet twice."""
    turns = [True] * len(first) + [False] * len(second)
    random.shuffle(turns)
    one, other = iter(first), iter(second)
    first_places: dict[Ids, Source] = {}
    for triplet, source in (next(one) if turn else next(other) for turn in turns):
        first_places.setdefault(triplet, source)
    return first_places


def _queued(session: Session, project_id: int) -> list[tuple[int, Ids]]:
    statement = select(Triplet.id, Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
    rows = session.execute(statement.where(Triplet.project_id == project_id, Triplet.priority.is_not(None)))
    return [(key, (a, b, c)) for key, a, b, c in rows]


def _drop_unasked(session: Session, ids: list[int]) -> None:
    """Delete those of the triplets that have no answer, skip or lease, and that nobody is about to lease."""
    touched = or_(
        exists().where(Answer.triplet_id == Triplet.id),
        exists().where(Skip.triplet_id == Triplet.id),
        exists().where(Lease.triplet_id == Triplet.id, Lease.expires_at > now()),
    )
    # Locked first and looked at again when they are ours: a lease may be written in between. Those on somebody's
    # screen are never locked, or their answer would have to wait.
    untouched = select(Triplet.id).where(Triplet.id.in_(ids), ~touched).with_for_update(skip_locked=True)
    mine = session.scalars(untouched).all()
    session.execute(
        delete(Triplet).where(Triplet.id.in_(mine), ~touched).execution_options(synchronize_session=False)
    )
