"""Leases to several labelers at once: what each gets one after the other, and no question too often."""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling import queue, queue_together
from tercet.labeling.queue import LeasedTriplet
from tercet.labeling.queue_heads import QueueHeads
from tercet.labeling.queue_together import Wanted, lease_together
from tercet.labeling.sql.drivers import Rows
from tercet.models import Flag, Item, Lease, Project, Role, Skip, Source, Triplet, now
from tests.factories import add_member, make_project
from tests.labeling.test_labeling_queue import answer, make_labelers, over_quota

LABELERS, ITEMS, SECONDS = 5, 8, 60.0
GROUPS = 4


def make_copy(session: Session, key: str, seed: int) -> tuple[Project, list[int]]:
    """A project with a queue, answers, leases, skips and flags, the same for the same seed."""
    rng = random.Random(seed)
    project = make_project(session, key=key, n_items=ITEMS, redundancy=rng.choice([1, 2, 3]))
    labelers = [add_member(session, project, Role.LABELER, f"{key} {i}").id for i in range(LABELERS)]
    items = list(session.scalars(select(Item.id).where(Item.project_id == project.id).order_by(Item.position)))
    asked = {tuple(rng.sample(range(ITEMS), 3)) for _ in range(rng.choice([5, 20, 60]))}
    for a, b, c in sorted({(a, *sorted((b, c))) for a, b, c in asked}):
        triplet = Triplet(
            project_id=project.id,
            anchor_id=items[a],
            left_id=items[b],
            right_id=items[c],
            priority=rng.choice([None, rng.random(), rng.random()]),
            source=Source.RANDOM,
            extra_answers=rng.choice([0, 0, 0, 1]),
            asked_of=rng.choice([None, None, None, *labelers]),
        )
        session.add(triplet)
        session.flush()
        for labeler in rng.sample(labelers, rng.choice([0, 0, 1, 2])):
            seconds = rng.choice([50, 10, -5, None])  # a lease that lasts, one to renew, one that has ended, a skip
            if seconds is None:
                session.add(Skip(triplet_id=triplet.id, labeler_id=labeler))
            else:
                until = now() + timedelta(seconds=seconds)
                session.add(Lease(triplet_id=triplet.id, labeler_id=labeler, expires_at=until))
    item_id = items[rng.randrange(ITEMS)]
    session.add(Flag(project_id=project.id, item_id=item_id, labeler_id=labelers[0], reason="other"))
    return project, labelers


def places(session: Session, project: Project, leased: Sequence[LeasedTriplet]) -> list[tuple[int, ...]]:
    position = dict(session.execute(select(Item.id, Item.position).where(Item.project_id == project.id)).all())
    return [tuple(position[item] for item in each.triplet) for each in leased]


@pytest.mark.parametrize("seed", range(12))
def test_each_gets_what_they_would_get_one_after_the_other(database: Database, seed: int) -> None:
    with database.transaction() as session:
        (one, ones), (two, twos) = make_copy(session, "one", seed), make_copy(session, "two", seed)
    wanted = [random.Random(seed + place).choice([1, 3, 6]) for place in range(LABELERS)]
    heads = QueueHeads()
    with database.transaction() as session:
        pairs = [Wanted(user_id, count) for user_id, count in zip(twos, wanted, strict=True)]
        together = lease_together(session, two, pairs, SECONDS, heads).triplets
    for place, count in enumerate(wanted):
        with database.transaction() as session:
            alone = queue.lease_next(session, one, ones[place], count, SECONDS).triplets
            expected, leased = places(session, one, alone), together[place]
            if leased is not None:
                assert places(session, two, leased) == expected
                assert len(leased) == count
            else:  # what they got already comes first, in the order of its leases
                leased = queue.lease_next(session, two, twos[place], count, SECONDS).triplets
                assert sorted(places(session, two, leased)) == sorted(expected)


def test_some_are_served_together_and_some_are_not(database: Database) -> None:
    """So that the test above is about both."""
    served = []
    for seed in range(12):
        with database.transaction() as session:
            project, labelers = make_copy(session, f"copy {seed}", seed)
        with database.transaction() as session:
            wanted = [Wanted(user_id, 3) for user_id in labelers]
            served += [
                own is not None for own in lease_together(session, project, wanted, SECONDS, QueueHeads()).triplets
            ]
    assert 10 < sum(served) < len(served) - 10


@pytest.mark.only_on("postgres")
def test_who_has_lost_a_question_to_a_faster_transaction_asks_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, [ada, ben, eve] = make_labelers(database, 3, n_items=9)
    with database.transaction() as session:
        queue.top_up(session, project, 20)
    finish, snatched = queue_together._finish, list[int]()

    def finish_too_late(connection: Connection, values: Any, held: Any, added: Sequence[set[int]]) -> dict[str, Rows]:
        snatched.append(min(added[0]))
        with database.transaction() as session:
            until = now() + timedelta(seconds=SECONDS)
            session.add(Lease(triplet_id=snatched[0], labeler_id=eve, expires_at=until))
        return finish(connection, values, held, added)

    monkeypatch.setattr(queue_together, "_finish", finish_too_late)
    with database.transaction() as session:
        wanted = [Wanted(ada, 3), Wanted(ben, 3)]
        of_ada, of_ben = lease_together(session, project, wanted, SECONDS, QueueHeads()).triplets
    assert of_ada is None
    assert of_ben is not None
    with database.transaction() as session:
        alone = {lease.id for lease in queue.lease_next(session, project, ada, 3, SECONDS).triplets}
    assert len(alone) == 3
    assert not alone & {snatched[0], *(lease.id for lease in of_ben)}
    assert over_quota(database, 1) == []


@pytest.mark.parametrize("redundancy", [1, 3])
def test_groups_at_once_never_exceed_the_redundancy(database_url: str, redundancy: int) -> None:
    with closing(Database(database_url, pool_size=GROUPS)) as database:
        project, labelers = make_labelers(database, 3 * GROUPS, n_items=6, redundancy=redundancy)
        with database.transaction() as session:
            queue.top_up(session, project, 60)
        start = threading.Barrier(GROUPS)

        def label(group: int) -> int:
            own, n_together = labelers[group::GROUPS], 0
            start.wait()
            while True:
                with database.transaction() as session:
                    wanted = [Wanted(user_id, 2) for user_id in own]
                    leased = lease_together(session, project, wanted, SECONDS, QueueHeads()).triplets
                n_together += sum(each is not None for each in leased)
                n_answers = 0
                for user_id, each in zip(own, leased, strict=True):
                    if each is None:
                        with database.transaction() as session:
                            each = queue.lease_next(session, project, user_id, 2, SECONDS).triplets
                    n_answers += len(each)
                    for lease in each:
                        answer(database, project, user_id, lease.triplet)
                if not n_answers:
                    return n_together

        with ThreadPoolExecutor(GROUPS) as pool:
            n_together = sum(pool.map(label, range(GROUPS)))
        assert over_quota(database, redundancy) == []
        assert n_together > 10
