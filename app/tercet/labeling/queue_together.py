"""Leases questions to several labelers in one transaction, as a busy server does for those who wait for their turn.

Each of them gets what `queue.lease_next` would give them one after the other, with as many round trips to the database
for all as for one. Who would get fewer questions than wanted, as at the end of a queue, or holds some whose leases are
to be renewed, has to ask alone.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from tercet.labeling.queue import UNDONE, LeasedTriplet, leases_held
from tercet.labeling.queue_heads import QueueHeads, QueuePlace
from tercet.labeling.sql import statements, together
from tercet.labeling.sql.drivers import Query, Rows, run, run_last
from tercet.models import ProjectView, now


class Wanted(NamedTuple):
    """How many questions a labeler is to hold."""

    user_id: int
    questions: int


class LeasedTogether(NamedTuple):
    """The triplets leased to each labeler, None for who has to ask alone, and what pages show of all their items.

    The items are rows of `statements.ITEMS_SHOWN`.
    """

    triplets: list[list[LeasedTriplet] | None]
    items: Rows


def lease_together(
    session: Session,
    project: ProjectView,
    wanted: Sequence[Wanted],
    seconds: float,
    heads: QueueHeads,
) -> LeasedTogether:
    """Lease triplets of a project to labelers, and commit."""
    connection, at, begin = session.connection(), now(), heads.begin_behind(project.id)
    until = at + timedelta(seconds=seconds)
    values = {"project": project.id, "at": at, "until": until, "redundancy": project.redundancy, "undone": UNDONE}
    held, added = _lease_open(connection, {**values, **begin.as_parameters()}, wanted)
    rows = _finish(connection, values, held, added)
    snatched = {tuple(row) for row in rows["snatched"]}
    triplets = {key: LeasedTriplet(key, (a, b, c), until) for key, a, b, c, _ in rows["triplets"]}
    is_new = set(chain.from_iterable(added))
    last = min((QueuePlace(rank, key) for key, *_, rank in rows["triplets"] if key in is_new), default=None)
    if last is not None:
        heads.note(project.id, last)
    renewing = at + timedelta(seconds=seconds / 2)
    leased: list[list[LeasedTriplet] | None] = []
    for (user_id, questions), old, ids in zip(wanted, held, added, strict=True):
        new = [triplets[key] for key in triplets if key in ids and (key, user_id) not in snatched]
        is_served = len(old) + len(new) == questions and all(lease.expires_at >= renewing for lease in old)
        leased.append([*old, *new] if is_served else None)
    return LeasedTogether(leased, rows["items"])


def _lease_open(
    connection: Connection, values: Mapping[str, Any], wanted: Sequence[Wanted]
) -> tuple[list[list[LeasedTriplet]], list[set[int]]]:
    """Lease open triplets to one labeler after the other; return what each held before, and the ids of what is new."""
    queries: dict[str, Query] = {}
    for place, (user_id, questions) in enumerate(wanted):
        parameters = {**values, "user": user_id, "wanted": questions}
        queries[f"held {place}"] = (statements.HELD, parameters)
        queries[f"added {place}"] = (together.LEASE_OPEN[connection.dialect.name], parameters)
    rows = run(connection, **queries)
    places = range(len(wanted))
    held = [leases_held(rows[f"held {place}"]) for place in places]
    return held, [{key for (key,) in rows[f"added {place}"]} for place in places]


def _finish(
    connection: Connection,
    values: Mapping[str, Any],
    held: Sequence[Sequence[LeasedTriplet]],
    added: Sequence[set[int]],
) -> dict[str, Rows]:
    """Give back what faster transactions have leased, read what is shown, and commit."""
    dialect, new = connection.dialect.name, set(chain.from_iterable(added))
    shown = {lease.id for leases in held for lease in leases} | new
    lists = {"added": json.dumps(list(new)), "leased": json.dumps(list(shown))}
    return run_last(
        connection,
        snatched=(together.OVER_LEASED[dialect], {**values, **lists}),
        triplets=(together.TRIPLETS_LEASED[dialect], lists),
        items=(together.ITEMS_LEASED[dialect], lists),
    )
