"""The queue of questions: which triplets a labeler is asked next.

A triplet is open to a labeler while its answers and the live leases of others are fewer than it needs, the labeler has
neither answered nor skipped it nor flagged one of its items, and it is not reserved for another labeler. It needs as
many answers as the project's redundancy, and an extra one where a run doubts those that there are. An expired lease no
longer counts, so an idle labeler blocks nobody.

Requests only take from the queue. Runs choose what is in it (`refill.py`). When it is short, in a new project as under
a narrow focus or after items were deleted, random triplets are added (`top_ups.py`), and at last those that have too
few answers since the redundancy was raised. So a labeler may be told that nothing is left only when no top-up can add
anything (`is_used_up`).
"""

import itertools
import json
import math
import random
import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, select, update
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.items.queries import count_in_use, item_count, items_set_aside, positions_set_aside
from tercet.labeling.canonical import Ids, order
from tercet.labeling.queue_heads import TOP, QueueHeads, QueuePlace
from tercet.labeling.sql import statements
from tercet.labeling.sql.answers import CLOSE_TRIPLETS
from tercet.labeling.sql.drivers import Query, Rows, run, run_last
from tercet.labeling.triplets import find, insert_new
from tercet.models import Item, Lease, Project, ProjectView, QuestionKind, Source, Triplet, now, out_of_reach

TOP_UP = 60
# Questions of top-ups come after those of a run, whose priorities lie above this, and each top-up behind those before.
TOP_UP_PRIORITY = 1e-3
# How often a request reads the queue again because other labelers have leased its candidates in the meantime.
ATTEMPTS = 5
# Where more triplets are possible, as with 60 items, it is assumed without counting that not all of them are stored.
MOST_USED_UP = 100_000
# An undone question is asked again before everything else; all other priorities lie in [0, 1].
UNDONE = 2.0


class LeasedTriplet(NamedTuple):
    """A triplet leased to the labeler who asked, until a time."""

    id: int
    triplet: Ids
    expires_at: datetime


class Candidate(NamedTuple):
    """An open triplet that may be leased, and its place in the queue."""

    id: int
    triplet: Ids
    place: QueuePlace


class Leases(NamedTuple):
    """The triplets leased to a labeler, and the rows of what was read along with them."""

    triplets: list[LeasedTriplet]
    rows: dict[str, Rows]


def nothing_more(triplets: Collection[Ids]) -> dict[str, Query]:
    """Read nothing about triplets beside leasing them."""
    return {}


def lease_next(
    session: Session,
    project: ProjectView,
    user_id: int,
    count: int,
    seconds: float,
    heads: QueueHeads | None = None,
    more_about: Callable[[Collection[Ids]], dict[str, Query]] = nothing_more,
) -> Leases:
    """Lease up to `count` triplets: first those the labeler holds already, renewed in time, then new ones.

    They may be fewer than are left: when the queue is short, or others were faster at each attempt. Of a queue that is
    in `heads` they may be from behind its head. `more_about` returns what else to read about triplets, which is sent to
    the database along with their leases.
    """
    heads = heads or QueueHeads()
    at = now()
    until = at + timedelta(seconds=seconds)
    parameters = {"project": project.id, "user": user_id, "at": at, "redundancy": project.redundancy}
    parameters |= {"wanted": count, "undone": UNDONE, "until": until}
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            _wait_in_line(session.connection(), parameters)
        begin = heads.begin_behind(project.id)
        held, candidates = _candidates(session.connection(), parameters, begin)
        # Pages ask every few answers, so a lease that has most of its time left is not renewed yet.
        ending = {lease.id for lease in held if lease.expires_at < at + timedelta(seconds=seconds / 2)}
        more = more_about([lease.triplet for lease in held] + [each.triplet for each in candidates])
        rows = _write_leases(session.connection(), parameters, ending, [each.id for each in candidates], more)
        new_ids = {triplet_id for (triplet_id,) in rows.get("added", ())}
        if candidates:
            heads.note(project.id, candidates[-1].place)
        if len(new_ids) == len(candidates):
            break  # otherwise other labelers were faster; read the queue again
    renewed = [lease._replace(expires_at=until) if lease.id in ending else lease for lease in held]
    added = [LeasedTriplet(each.id, each.triplet, until) for each in candidates if each.id in new_ids]
    return Leases(renewed + added, rows)


def count_behind(session: Session, project_id: int, place: QueuePlace, most: int) -> int:
    """Count the questions of a queue behind a place, up to `most`."""
    parameters = {**place.as_parameters(), "project": project_id, "most": most}
    [[count]] = run(session.connection(), counted=(statements.COUNT_BEHIND, parameters))["counted"]
    return int(count)


def is_used_up(session: Session, project: ProjectView) -> bool:
    """Return whether a top-up would add nothing: every possible triplet of the items in use is stored, and asked."""
    possible = _possible(project.question_kind, count_in_use(session, project.id))
    if possible > MOST_USED_UP:
        return False
    stored = select(func.count(Triplet.id)).where(Triplet.project_id == project.id, _is_in_use(session, project))
    return session.scalar(stored) == possible and not _unfinished(session, project, 1)


def _is_in_use(session: Session, project: ProjectView) -> ColumnElement[bool]:
    aside = items_set_aside(session, project.id)
    return and_(*(column.not_in(aside) for column in (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)))


def _unfinished(session: Session, project: ProjectView, count: int) -> Sequence[int]:
    """Return up to `count` triplets outside of the queue that have answers, but fewer than they need by now."""
    n_answers = statements.COUNTED_ANSWERS
    has_too_few = (n_answers > 0) & (project.redundancy + Triplet.extra_answers > n_answers)
    outside = Triplet.priority.is_(None) & _is_in_use(session, project)
    return session.scalars(
        select(Triplet.id).where(Triplet.project_id == project.id, outside, has_too_few).limit(count)
    ).all()


def _candidates(
    connection: Connection, parameters: dict[str, Any], begin: QueuePlace
) -> tuple[list[LeasedTriplet], list[Candidate]]:
    """Return the labeler's leased triplets and the open triplets to lease, from behind a place if there are enough."""
    held, candidates = _read_queue(connection, statements.TAKE, parameters, begin)
    if begin != TOP and len(held) + len(candidates) < parameters["wanted"]:
        held, candidates = _read_queue(connection, statements.TAKE, parameters, TOP)
    if not held and not candidates:
        # Others have locked every candidate for a moment, and this transaction waits for theirs. So it must hold no
        # lock itself; behind the head it may have locked questions that others leased just before.
        if begin != TOP:
            run_last(connection)
        _wait_in_line(connection, parameters)
        held, candidates = _read_queue(connection, statements.TAKE_AFTER_WAITING, parameters, TOP)
    return held, candidates


def _wait_in_line(connection: Connection, parameters: dict[str, Any]) -> None:
    """Wait until it is this transaction's turn, among all that lost their candidates to faster transactions.

    Without turns all of them would wait for the same question; only one can get it, and the others would read the queue
    again, all at once. With fifty labelers in a short queue some lost so often that they used up their `ATTEMPTS`.
    """
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time
        run(connection, turn=(statements.WAIT_IN_LINE, parameters))


def _read_queue(
    connection: Connection, taking: Select[Any], parameters: dict[str, Any], begin: QueuePlace
) -> tuple[list[LeasedTriplet], list[Candidate]]:
    """Return the labeler's leased triplets, and as many open ones behind a place as are wanted beyond these.

    Both are read together, since another tab of the labeler may have leased some just now.
    """
    behind = begin.as_parameters()
    rows = run(connection, held=(statements.HELD, parameters), candidates=(taking, {**parameters, **behind}))
    return leases_held(rows["held"]), [
        Candidate(key, (a, b, c), QueuePlace(rank, key)) for key, a, b, c, rank in rows["candidates"]
    ]


def leases_held(rows: Rows) -> list[LeasedTriplet]:
    """Return the leases of such rows as `statements.HELD` reads."""
    return [LeasedTriplet(key, (a, b, c), end.astimezone(UTC)) for key, a, b, c, end in rows]


def _write_leases(
    connection: Connection,
    parameters: dict[str, Any],
    ending: Collection[int],
    candidates: Collection[int],
    more: dict[str, Query],
) -> dict[str, Rows]:
    """Renew the leases that end soon, lease the candidates that are still open, run further queries, and commit.

    The rows "added" hold the ids of the candidates that were leased. A lease that a crash of the database loses is one
    that has ended: its question may be asked of somebody else.
    """
    dialect = connection.dialect.name
    queries: dict[str, Query] = {}
    if ending:
        queries["renewed"] = (statements.RENEW_LEASES[dialect], {**parameters, "ids": json.dumps(list(ending))})
    if candidates:
        queries["added"] = (statements.ADD_LEASES[dialect], {**parameters, "ids": json.dumps(list(candidates))})
    return run_last(connection, **queries, **more) if queries or more else {}


def reopen(
    session: Session,
    project: Project | ProjectView,
    triplet_ids: Collection[int],
    priority: float | ColumnElement[float],
) -> None:
    """Put into the queue those of the triplets that have too few answers now."""
    session.execute(
        update(Triplet)
        .where(Triplet.id.in_(triplet_ids), project.redundancy + Triplet.extra_answers > statements.COUNTED_ANSWERS)
        .values(priority=priority)
        .execution_options(synchronize_session=False)
    )


def close(session: Session, project: Project, triplet_ids: Collection[int]) -> None:
    """Take out of the queue those of the triplets that have enough answers now."""
    connection = session.connection()
    parameters = {"triplet_ids": json.dumps(list(triplet_ids)), "redundancy": project.redundancy}
    run(connection, closed=(CLOSE_TRIPLETS[connection.dialect.name], parameters))


def end_leases_out_of_reach(database: Database, seconds: float) -> None:
    """End leases that would last longer than `seconds`, since the clock was set back: they keep questions away."""
    beyond = Lease.expires_at > out_of_reach(seconds)
    with database.reading() as session:
        if session.execute(select(Lease.id).where(beyond).limit(1)).first() is None:
            return
    with database.transaction() as session:
        session.execute(delete(Lease).where(beyond))


def hand_back(session: Session, triplet_id: int, user_id: int, seconds: float) -> None:
    """Lease a question again to the labeler who withdrew the answer to it."""
    end_leases(session, [triplet_id], user_id)
    session.add(Lease(triplet_id=triplet_id, labeler_id=user_id, expires_at=now() + timedelta(seconds=seconds)))


def end_leases(session: Session, triplet_ids: Collection[int], user_id: int) -> None:
    """Ask a labeler no longer about triplets that they were asked about."""
    session.execute(delete(Lease).where(Lease.triplet_id.in_(triplet_ids), Lease.labeler_id == user_id))


def top_up(session: Session, project: ProjectView, count: int) -> int:
    """Add up to `count` random triplets that were never asked, or if there are none, such as need further answers.

    Return their number. All are added in one ordered statement, so that transactions which add the same ones cannot
    deadlock.
    """
    chosen = _draw_new(session, project, count)
    if not chosen:
        unfinished = _unfinished(session, project, count)
        reopen(session, project, unfinished, TOP_UP_PRIORITY)
        return len(unfinished)
    at = time.time()
    insert_new(session, project.id, [(triplet, _priority_of_top_up(at), Source.RANDOM) for triplet in chosen])
    return len(chosen)


def _priority_of_top_up(at: float) -> float:
    """Return a priority behind those of earlier top-ups; the order of those of the same millisecond is by chance."""
    return TOP_UP_PRIORITY / (at + random.random() / 1000)


def _draw_new(session: Session, project: ProjectView, count: int) -> list[Ids]:
    """Draw up to `count` random triplets that are not stored."""
    drawn = draw(session, project.id, project.question_kind, count)
    stored = find(session, project.id, drawn)
    if len(drawn) - len(stored) < count / 2:
        # Most possible triplets are stored already, so the others are few enough to be listed.
        return _unused(session, project, count)
    return [triplet for triplet in drawn if triplet not in stored]


def set_ahead(session: Session, project: ProjectView, count: int, flagged: Collection[int]) -> dict[int, Ids]:
    """Add up to `count` random triplets outside of the queue, for one labeler to answer without a network.

    None is about an item that the labeler has flagged.

    Nobody else is ever asked them, so that no lease has to hold them for hours and nobody waits for them. They are
    random because answers to them come late: what a run chose would be out of date by then.
    """
    spare = count // 10  # a few are drawn twice, or stored already
    drawn = _draw_new(session, project, count + spare)
    chosen = [triplet for triplet in drawn if not set(triplet) & set(flagged)][:count]
    insert_new(session, project.id, [(triplet, None, Source.RANDOM) for triplet in chosen])
    return {key: triplet for triplet, key in find(session, project.id, chosen).items()}


def draw(session: Session, project_id: int, question_kind: str, count: int) -> list[Ids]:
    """Draw up to `count` different random triplets; some may have been asked before."""
    aside = set(positions_set_aside(session, project_id))
    every = range(item_count(session, project_id))
    in_use = [position for position in every if position not in aside] if aside else every
    if len(in_use) < 3:
        return []
    count = min(count, _possible(question_kind, len(in_use)))
    drawn = [random.sample(in_use, 3) for _ in range(count)]
    positions = set(itertools.chain.from_iterable(drawn))
    connection = session.connection()
    parameters = {"project": project_id, "positions": json.dumps(list(positions))}
    rows = connection.execute(statements.ITEMS_AT[connection.dialect.name], parameters)
    ids = {position: item_id for item_id, position in rows}
    return list({order(question_kind, (ids[a], ids[b], ids[c])) for a, b, c in drawn})


def _possible(kind: str, count: int) -> int:
    """Return the number of triplets of `count` items; in a relative question each of the three may be the anchor."""
    return math.comb(count, 3) * (1 if kind == QuestionKind.OUTLIER else 3)


def _unused(session: Session, project: ProjectView, count: int) -> list[Ids]:
    in_use = (Item.project_id == project.id) & Item.set_aside_at.is_(None)
    ids = sorted(session.scalars(select(Item.id).where(in_use)))
    asked = select(Triplet.anchor_id, Triplet.left_id, Triplet.right_id).where(Triplet.project_id == project.id)
    used = {(a, b, c) for a, b, c in session.execute(asked)}
    possible: list[Ids] = list(itertools.combinations(ids, 3))
    if project.question_kind == QuestionKind.RELATIVE:
        possible = [turn for a, b, c in possible for turn in ((a, b, c), (b, a, c), (c, a, b))]
    unused = [triplet for triplet in possible if triplet not in used]
    return random.sample(unused, min(count, len(unused)))
