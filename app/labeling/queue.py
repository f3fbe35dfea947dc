"""The queue of questions: who may be asked what next, and how the queue is filled.

A triplet is open to a labeler while its answers and the live leases of others are fewer than the project's
redundancy, and the labeler has neither answered nor skipped it. Expired leases simply stop counting, so an
idle labeler blocks nobody. Nothing is computed here: runs refill the queue with triplets that they scored,
and random triplets top it up when it is short.
"""

import itertools
import math
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Result, Select, delete, exists, or_, select
from sqlalchemy.orm import Session

from app.items.queries import item_count
from app.labeling import statements
from app.labeling.canonical import Ids, order
from app.labeling.triplets import find, insert_new
from app.models import Answer, Item, Lease, Project, QuestionKind, Skip, Source, Triplet, now

TOP_UP = 60
# An undone question is asked again before everything else; all other priorities lie in (0, 1].
UNDONE = 2.0


class Candidate(NamedTuple):
    """A question that a run proposes, the more informative the higher its priority."""

    anchor_id: int
    left_id: int
    right_id: int
    priority: float
    source: str


class Held(NamedTuple):
    """A triplet leased to the labeler who asked, until a time."""

    id: int
    triplet: Ids
    expires_at: datetime


def lease_next(session: Session, project: Project, user_id: int, wanted: int, seconds: float) -> list[Held]:
    """Lease up to `wanted` triplets: first those the labeler already holds, renewed, then new ones."""
    at = now()
    me = {"project": project.id, "user": user_id, "at": at, "redundancy": project.redundancy}
    connection = session.connection()
    connection.execute(statements.END_EXPIRED_LEASES, me)
    held = _rows(connection.execute(statements.HELD, {**me, "wanted": wanted, "undone": UNDONE}))
    me["wanted"] = wanted - len(held)
    fresh = _take(connection, statements.TAKE, me) if len(held) < wanted else []
    if len(held) + len(fresh) < wanted and top_up(session, project, TOP_UP):
        fresh = _take(connection, statements.TAKE, me)
    if not held and not fresh:
        # Others have every candidate locked for a moment; whoever holds no lock may wait for them.
        fresh = _take(connection, statements.TAKE_AFTER_WAITING, me)
    return _write_leases(connection, user_id, held + fresh, at + timedelta(seconds=seconds))


def _rows(result: Result[Any]) -> list[tuple[int, Ids]]:
    return [(row.id, (row.anchor_id, row.left_id, row.right_id)) for row in result]


def _take(connection: Connection, statement: Select[Any], parameters: dict[str, Any]) -> list[tuple[int, Ids]]:
    rows = _rows(connection.execute(statement, parameters))
    if not rows or connection.dialect.name == "sqlite":
        return rows
    # Another labeler may have leased a row between our snapshot and our lock: count again, now that it is ours.
    ids = [key for key, _ in rows]
    still = set(connection.scalars(statements.STILL_OPEN, {**parameters, "ids": ids}))
    return [row for row in rows if row[0] in still]


def _write_leases(connection: Connection, user_id: int, found: list[tuple[int, Ids]], until: datetime) -> list[Held]:
    ids = [key for key, _ in found]
    renewed = set(connection.scalars(statements.RENEW_LEASES, {"user": user_id, "ids": ids, "until": until}))
    fresh = [{"triplet_id": key, "labeler_id": user_id, "expires_at": until} for key in ids if key not in renewed]
    if fresh:
        connection.execute(statements.ADD_LEASES, fresh)
    return [Held(key, triplet, until) for key, triplet in found]


def hand_back(session: Session, triplet_id: int, user_id: int, seconds: float) -> None:
    """Lease an undone question to its labeler again."""
    session.execute(delete(Lease).where(Lease.triplet_id == triplet_id, Lease.labeler_id == user_id))
    session.add(Lease(triplet_id=triplet_id, labeler_id=user_id, expires_at=now() + timedelta(seconds=seconds)))


def top_up(session: Session, project: Project, wanted: int) -> int:
    """Add up to `wanted` random triplets that were never asked; give how many there were.

    All are added in one ordered statement: transactions that add the same ones must not wait in a ring.
    """
    drawn = _draw(session, project, wanted)
    known = find(session, project.id, drawn)
    if len(drawn) - len(known) < wanted / 2:
        # Most of what can be drawn exists already, so listing the rest costs no more than what is stored.
        chosen = _unused(session, project, wanted)
    else:
        chosen = [triplet for triplet in drawn if triplet not in known]
    insert_new(session, project.id, [(triplet, random.random(), Source.RANDOM) for triplet in chosen])
    return len(chosen)


def _draw(session: Session, project: Project, wanted: int) -> list[Ids]:
    count = item_count(session, project.id)
    if count < 3:
        return []
    wanted = min(wanted, _possible(project.question_kind, count))
    drawn = [random.sample(range(count), 3) for _ in range(wanted)]
    positions = set(itertools.chain.from_iterable(drawn))
    rows = session.execute(
        select(Item.id, Item.position).where(Item.project_id == project.id, Item.position.in_(positions))
    )
    ids = {position: number for number, position in rows}
    return list({order(project.question_kind, (ids[a], ids[b], ids[c])) for a, b, c in drawn})


def _possible(kind: str, count: int) -> int:
    """Count the triplets of so many items: the relative question has three anchors for each."""
    return math.comb(count, 3) * (1 if kind == QuestionKind.OUTLIER else 3)


def _unused(session: Session, project: Project, wanted: int) -> list[Ids]:
    ids = sorted(session.scalars(select(Item.id).where(Item.project_id == project.id)))
    asked = select(Triplet.anchor_id, Triplet.left_id, Triplet.right_id).where(Triplet.project_id == project.id)
    used = {(a, b, c) for a, b, c in session.execute(asked)}
    possible: list[Ids] = list(itertools.combinations(ids, 3))
    if project.question_kind == QuestionKind.RELATIVE:
        possible = [turn for a, b, c in possible for turn in ((a, b, c), (b, a, c), (c, a, b))]
    unused = [triplet for triplet in possible if triplet not in used]
    return random.sample(unused, min(wanted, len(unused)))


def refill(session: Session, project: Project, candidates: Sequence[Candidate]) -> int:
    """Put a run's questions in place of the queued ones that nobody has been shown; give how many are new.

    The share of informative questions is the project's `informative_share`; random ones that the run did
    not bring are drawn here. Both halves are shuffled into one order, so that whichever labeler comes next
    gets the same mixture, and an informative question comes the earlier the more it tells.
    """
    _drop_unasked(session, project)
    informative = sorted((c for c in candidates if c.source == Source.INFORMATION), key=lambda c: -c.priority)
    share = project.informative_share
    total = round(len(informative) / share) if informative and share > 0 else max(TOP_UP, len(candidates))
    if share == 0:
        informative = []
    plain = [c[:3] for c in candidates if c.source != Source.INFORMATION]
    short = total - len(informative) - len(plain)
    if short > 0:
        plain += _draw(session, project, short)
    mixed = _interleave(
        [(order(project.question_kind, c[:3]), Source.INFORMATION) for c in informative],
        [(order(project.question_kind, t), Source.RANDOM) for t in plain[: total - len(informative)]],
    )
    rows = [(triplet, 1 - i / (len(mixed) + 1), source) for i, (triplet, source) in enumerate(mixed)]
    known = find(session, project.id, [triplet for triplet, _ in mixed])
    insert_new(session, project.id, rows)
    return len(rows) - len(known)


def _interleave(first: list[tuple[Ids, Source]], second: list[tuple[Ids, Source]]) -> list[tuple[Ids, Source]]:
    """Shuffle two lists into one, each keeping its own order, no triplet twice."""
    turns = [True] * len(first) + [False] * len(second)
    random.shuffle(turns)
    one, other = iter(first), iter(second)
    first_places: dict[Ids, Source] = {}
    for triplet, source in (next(one) if turn else next(other) for turn in turns):
        first_places.setdefault(triplet, source)
    return list(first_places.items())


def _drop_unasked(session: Session, project: Project) -> None:
    """Delete queued triplets without answer, skip or lease; on PostgreSQL only those nobody is about to lease."""
    touched = or_(
        exists().where(Answer.triplet_id == Triplet.id),
        exists().where(Skip.triplet_id == Triplet.id),
        exists().where(Lease.triplet_id == Triplet.id, Lease.expires_at > now()),
    )
    queued = select(Triplet.id).where(Triplet.project_id == project.id, Triplet.priority.is_not(None))
    ids = session.scalars(queued.with_for_update(skip_locked=True)).all()
    for start in range(0, len(ids), 500):
        session.execute(
            delete(Triplet)
            .where(Triplet.id.in_(ids[start : start + 500]), ~touched)
            .execution_options(synchronize_session=False)
        )
