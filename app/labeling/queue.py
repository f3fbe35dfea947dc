"""The queue of questions: who may be asked what next.

A triplet is open to a labeler while its answers and the live leases of others are fewer than the project's
redundancy, and the labeler has neither answered nor skipped it. Expired leases simply stop counting, so an
idle labeler blocks nobody. Nothing is computed here: runs refill the queue (`refill.py`), and random triplets
top it up when it is short.
"""

import itertools
import json
import math
import random
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, select
from sqlalchemy.orm import Session

from app.items.queries import item_count
from app.labeling import statements
from app.labeling.canonical import Ids, order
from app.labeling.drivers import Asked, ask
from app.labeling.triplets import find, insert_new
from app.models import Item, Lease, Project, QuestionKind, Source, Triplet, now

TOP_UP = 60
# An undone question is asked again before everything else; all other priorities lie in (0, 1].
UNDONE = 2.0


class Held(NamedTuple):
    """A triplet leased to the labeler who asked, until a time."""

    id: int
    triplet: Ids
    expires_at: datetime


def lease_next(session: Session, project: Project, user_id: int, wanted: int, seconds: float) -> list[Held]:
    """Lease up to `wanted` triplets: first those the labeler already holds, renewed in time, then new ones."""
    at = now()
    until = at + timedelta(seconds=seconds)
    me = {"project": project.id, "user": user_id, "at": at, "redundancy": project.redundancy}
    me |= {"wanted": wanted, "undone": UNDONE}
    connection = session.connection()
    held, fresh = _look(connection, statements.TAKE, me)
    if len(held) + len(fresh) < wanted and top_up(session, project, TOP_UP):
        held, fresh = _look(connection, statements.TAKE, me)
    if not held and not fresh:
        # Others have every candidate locked for a moment; whoever holds no lock may wait for them.
        held, fresh = _look(connection, statements.TAKE_AFTER_WAITING, me)
    # Pages ask again every few answers; a lease that has most of its time left is not written again.
    ending = {one.id for one in held if one.expires_at < at + timedelta(seconds=seconds / 2)}
    leased = _write_leases(connection, {**me, "until": until}, ending, [key for key, _ in fresh])
    kept = [one._replace(expires_at=until) if one.id in ending else one for one in held]
    return kept + [Held(key, triplet, until) for key, triplet in fresh if key in leased]


def _look(
    connection: Connection, taking: Select[Any], me: dict[str, object]
) -> tuple[list[Held], list[tuple[int, Ids]]]:
    """Give what the labeler holds, and as many open triplets as are wanted beyond that.

    Always both: in another tab the labeler may just have been given what was wanted.
    """
    held, fresh = ask(connection, (statements.HELD, me), (taking, me))
    return (
        [Held(key, (a, b, c), end.astimezone(UTC)) for key, a, b, c, end in held],
        [(key, (a, b, c)) for key, a, b, c in fresh],
    )


def _write_leases(
    connection: Connection, me: dict[str, object], ending: Collection[int], fresh: Collection[int]
) -> set[int]:
    """Renew the leases that end, and lease the fresh triplets that are still open; give those that were."""
    dialect = connection.dialect.name
    asked: list[Asked] = []
    if ending:
        asked.append((statements.RENEW_LEASES[dialect], {**me, "ids": json.dumps(list(ending))}))
    if fresh:
        asked.append((statements.ADD_LEASES[dialect], {**me, "ids": json.dumps(list(fresh))}))
    rows = ask(connection, *asked) if asked else []
    return {key for (key,) in rows[-1]} if fresh else set()


def hand_back(session: Session, triplet_id: int, user_id: int, seconds: float) -> None:
    """Lease an undone question to its labeler again."""
    session.execute(delete(Lease).where(Lease.triplet_id == triplet_id, Lease.labeler_id == user_id))
    session.add(Lease(triplet_id=triplet_id, labeler_id=user_id, expires_at=now() + timedelta(seconds=seconds)))


def top_up(session: Session, project: Project, wanted: int) -> int:
    """Add up to `wanted` random triplets that were never asked; give how many there were.

    All are added in one ordered statement: transactions that add the same ones must not wait in a ring.
    """
    drawn = draw(session, project, wanted)
    known = find(session, project.id, drawn)
    if len(drawn) - len(known) < wanted / 2:
        # Most of what can be drawn exists already, so listing the rest costs no more than what is stored.
        chosen = _unused(session, project, wanted)
    else:
        chosen = [triplet for triplet in drawn if triplet not in known]
    insert_new(session, project.id, [(triplet, random.random(), Source.RANDOM) for triplet in chosen])
    return len(chosen)


def draw(session: Session, project: Project, wanted: int) -> list[Ids]:
    """Draw up to `wanted` random triplets, no two alike; some may have been asked already."""
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
