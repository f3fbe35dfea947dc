"""Puts the questions of a run in place of those in the queue that nobody was shown.

Labelers draw from the queue all the while, so it is written in short transactions, new questions before old ones
are deleted: it is never empty, and nobody waits for more than a few rows.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, delete, exists, or_, select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.items.queries import items_set_aside
from tercet.labeling.canonical import Ids, order
from tercet.labeling.queue import draw
from tercet.labeling.triplets import insert_new
from tercet.models import Answer, Lease, Project, Skip, Source, Triplet, now

AT_ONCE = 50
# The fewest answers that a refill expects until the next one.
FEWEST = 30
LEASED = exists().where(Lease.triplet_id == Triplet.id, Lease.expires_at > bindparam("at"))


class Candidate(NamedTuple):
    """A question that a run proposes, and the information expected of its answer."""

    anchor_id: int
    left_id: int
    right_id: int
    information: float


def refill(database: Database, project_id: int, candidates: Sequence[Candidate], newly_answered: int) -> None:
    """Put a run's questions in place of the queued ones that nobody has been shown.

    As many answers as came since the run before are expected until the next one, which brings better questions;
    twice as many questions are queued. A run without new answers queues all candidates: labelers may come at once.
    The share of informative questions is the project's `informative_share`, the others are drawn at random here.
    Both are shuffled into one order, so that whichever labeler comes next gets the same mixture, and an
    informative question comes the earlier the more information is expected of it.
    """
    with database.reading() as session:
        project = session.get(Project, project_id)
        if project is None:
            return
        expected = max(FEWEST, project.rerun_answers, newly_answered or len(candidates))
        aside = items_set_aside(session, project_id)  # since the run began, perhaps
        open_candidates = [candidate for candidate in candidates if not aside & set(candidate[:3])]
        questions = _mix(session, project, open_candidates, 2 * expected)
        queued = _queued(session, project_id)
    rows = [(triplet, 1 - i / (len(questions) + 1), source) for i, (triplet, source) in enumerate(questions.items())]
    for start in range(0, len(rows), AT_ONCE):
        with database.transaction() as session:
            insert_new(session, project_id, rows[start : start + AT_ONCE])
    database.has_grown(len(rows), Triplet)
    stale = [key for key, triplet in queued if triplet not in questions]
    for start in range(0, len(stale), AT_ONCE):
        with database.transaction() as session:
            _drop_unasked(session, stale[start : start + AT_ONCE])


def _mix(session: Session, project: Project, candidates: Sequence[Candidate], count: int) -> dict[Ids, Source]:
    """Return the questions in the order in which they are to be asked, each with where it comes from."""
    share = project.informative_share
    informative = sorted(candidates, key=lambda c: -c.information)[: round(count * share)]
    n_random = round(len(informative) * (1 / share - 1)) if informative else count
    return _interleave(
        [(order(project.question_kind, c[:3]), Source.INFORMATION) for c in informative],
        [(triplet, Source.RANDOM) for triplet in draw(session, project.id, project.question_kind, n_random)],
    )


def _interleave(first: list[tuple[Ids, Source]], second: list[tuple[Ids, Source]]) -> dict[Ids, Source]:
    """Shuffle two lists into one, each keeping its own order, no triplet twice."""
    turns = [True] * len(first) + [False] * len(second)
    random.shuffle(turns)
    firsts, seconds = iter(first), iter(second)
    mixed: dict[Ids, Source] = {}
    for triplet, source in (next(firsts if turn else seconds) for turn in turns):
        mixed.setdefault(triplet, source)
    return mixed


def _queued(session: Session, project_id: int) -> list[tuple[int, Ids]]:
    """Return the queued triplets that are on nobody's screen now."""
    statement = select(Triplet.id, Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
    statement = statement.where(Triplet.project_id == project_id, Triplet.priority.is_not(None), ~LEASED)
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
