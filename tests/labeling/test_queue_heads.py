"""Behind the head of a busy queue: the same questions as from the top, and none is missed for longer than a second."""

import time
from collections.abc import Iterator
from itertools import count

import pytest
from sqlalchemy import delete, select

from tercet.database import Database
from tercet.labeling import queue, queue_heads
from tercet.labeling.queue import lease_next
from tercet.labeling.queue_heads import FROM_THE_TOP, SECONDS, TOP, QueueHeads, QueuePlace
from tercet.labeling.refill import MOST, refill
from tercet.models import Lease, Project, Triplet
from tests.labeling.test_labeling_queue import items_of, make_labelers, some_questions

LABELERS = FROM_THE_TOP + 3
SCREEN = 5


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(queue_heads.time, "monotonic", clock.monotonic)
    return clock


def test_only_where_many_come_the_later_begin_behind_those_before(clock: Clock) -> None:
    heads = QueueHeads()
    for number in range(FROM_THE_TOP):
        assert heads.begin_behind(1) == TOP
        heads.note(1, QueuePlace(0.9, number))
    assert heads.begin_behind(1) == QueuePlace(0.9, FROM_THE_TOP - 1)
    assert heads.begin_behind(2) == TOP, "the queue of another project"
    clock.now += SECONDS
    assert heads.begin_behind(1) == TOP


def test_after_a_busy_second_one_alone_begins_at_the_top(clock: Clock) -> None:
    heads = QueueHeads()
    for _ in range(FROM_THE_TOP + 1):
        heads.begin_behind(1)
    clock.now += SECONDS
    assert heads.begin_behind(1) == TOP
    heads.note(1, QueuePlace(0.9, 7))
    assert heads.begin_behind(1) == QueuePlace(0.9, 7)
    clock.now += SECONDS
    assert [heads.begin_behind(1) for _ in range(2)] == [TOP, TOP], "the second before was not busy"


@pytest.fixture
def busy(database: Database, clock: Clock) -> Iterator[tuple[Project, list[int], QueueHeads]]:
    """A project with a full queue, and labelers who all ask within a moment."""
    project, people = make_labelers(database, LABELERS, n_items=60)
    refill(database, project.id, some_questions(items_of(database, project), MOST))
    return project, people, QueueHeads()


def taken(database: Database, project: Project, person: int, heads: QueueHeads, wanted: int = SCREEN) -> list[int]:
    with database.transaction() as session:
        return [leased.id for leased in lease_next(session, project, person, wanted, 60, heads).triplets]


def queued(database: Database, project: Project) -> list[int]:
    in_order = (Triplet.priority.desc(), Triplet.id.desc())
    with database.reading() as session:
        return list(session.scalars(select(Triplet.id).where(Triplet.project_id == project.id).order_by(*in_order)))


def test_everybody_gets_what_is_next_in_the_queue(
    database: Database, busy: tuple[Project, list[int], QueueHeads]
) -> None:
    project, people, heads = busy
    expected = queued(database, project)
    for person, start in zip(people, count(0, SCREEN), strict=False):
        assert taken(database, project, person, heads) == expected[start : start + SCREEN]
    assert heads.begin_behind(project.id) != TOP


def test_what_becomes_free_at_the_head_is_asked_within_a_second(
    database: Database, busy: tuple[Project, list[int], QueueHeads], clock: Clock
) -> None:
    project, people, heads = busy
    *others, second_last, last = people
    screens = [taken(database, project, person, heads) for person in others]
    with database.transaction() as session:
        session.execute(delete(Lease).where(Lease.labeler_id == others[0]))
    assert not set(taken(database, project, second_last, heads)) & set(screens[0])
    clock.now += SECONDS
    assert taken(database, project, last, heads) == screens[0]


def top_up(database: Database, project: Project) -> list[int]:
    """Top up, and return the new questions in the order in which they are asked."""
    before = set(queued(database, project))
    with database.transaction() as session:
        queue.top_up(session, project, 2 * SCREEN)
    time.sleep(0.001)  # those of the same millisecond are mixed
    return [key for key in queued(database, project) if key not in before]


def test_each_top_up_comes_behind_those_before_and_all_behind_a_run(
    database: Database, busy: tuple[Project, list[int], QueueHeads]
) -> None:
    project, _, _ = busy
    of_run = queued(database, project)
    added = [top_up(database, project) for _ in range(3)]
    assert queued(database, project) == sum(added, of_run)
    assert any(keys != sorted(keys) for keys in added), "by chance among those of one top-up"


def test_what_was_added_is_behind_the_head_whichever_process_has_added_it(database: Database, clock: Clock) -> None:
    project, people = make_labelers(database, LABELERS, n_items=60)
    heads, expected = QueueHeads(), top_up(database, project)
    for person in people[: FROM_THE_TOP + 1]:
        expected += top_up(database, project)
        assert taken(database, project, person, heads) == expected[:SCREEN]
        expected = expected[SCREEN:]
    assert heads.is_busy(project.id)
    assert behind(database, project, heads, len(expected)) == len(expected)
    assert behind(database, project, heads, len(expected) + 1) == len(expected)
    assert behind(database, project, heads, 3) == 3


def behind(database: Database, project: Project, heads: QueueHeads, most: int) -> int:
    with database.reading() as session:
        return queue.count_behind(session, project.id, heads.head(project.id), most)


def test_when_too_little_is_left_behind_the_head_all_of_it_is_looked_through(
    database: Database, busy: tuple[Project, list[int], QueueHeads]
) -> None:
    project, people, heads = busy
    *others, last = people
    screens = [taken(database, project, person, heads) for person in others]
    with database.transaction() as session:
        session.execute(delete(Lease).where(Lease.labeler_id == others[0]))
        n_behind = len(queued(database, project)) - sum(map(len, screens))
    got = taken(database, project, last, heads, n_behind + 1)
    assert len(got) == n_behind + 1
    assert got[:SCREEN] == screens[0]
