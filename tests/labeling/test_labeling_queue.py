"""The queue under many labelers at once, at its end, and when a run refills it."""

import json
import math
import random
import threading
import uuid
from collections import Counter
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Select, event, func, select, text, update

from tercet.database import Database
from tercet.errors import Conflict
from tercet.labeling import queries, queue, service, triplets
from tercet.labeling.queue import UNDONE, Candidate, LeasedTriplet
from tercet.labeling.queue_heads import QueueHeads, QueuePlace
from tercet.labeling.refill import MOST, SCREEN, Queued, demand, refill
from tercet.labeling.service import ConstraintRow
from tercet.labeling.sql import statements
from tercet.labeling.sql.drivers import Query, Rows, run
from tercet.models import Answer, Item, Lease, Membership, Project, Role, Run, Skip, Source, Triplet, now
from tercet.web.languages import words_of
from tests.factories import add_member, make_project
from tests.labeling.support import lease, lease_among_others
from tests.runs.support import wait_for

THREADS = 50


@pytest.fixture
def wide_database(database_url: str) -> Iterator[Database]:
    """A database with a connection for each thread."""
    with closing(Database(database_url, pool_size=THREADS)) as database:
        yield database


def make_labelers(database: Database, count: int, **values: object) -> tuple[Project, list[int]]:
    with database.transaction() as session:
        project = make_project(session, **values)
        return project, [add_member(session, project, Role.LABELER, f"{project.key} {i}").id for i in range(count)]


def answer(database: Database, project: Project, user_id: int, triplet: tuple[int, int, int]) -> None:
    with database.transaction() as session:
        row = ConstraintRow(0, uuid.uuid4(), triplet, "yes", user_id, None)
        service.store_constraints(session, project, [row])


def over_quota(database: Database, redundancy: int) -> list[int]:
    """Triplets with more answers and live leases than wanted."""
    with database.reading() as session:
        rows = session.execute(
            text(
                "SELECT id FROM triplet t WHERE (SELECT count(*) FROM answer WHERE triplet_id = t.id)"
                " + (SELECT count(*) FROM lease WHERE triplet_id = t.id) > :wanted"
            ),
            {"wanted": redundancy},
        )
        return [row[0] for row in rows]


@pytest.mark.parametrize("redundancy", [1, 3])
def test_twenty_labelers_at_once_never_exceed_the_redundancy(wide_database: Database, redundancy: int) -> None:
    # 6 items make 60 questions: small enough to be used up, so that the fight for the last ones is tested too.
    project, labelers = make_labelers(wide_database, 20, n_items=6, redundancy=redundancy)
    start = threading.Barrier(len(labelers))

    def label(user_id: int) -> list[int]:
        asked: list[int] = []
        start.wait()
        while True:
            held = lease_among_others(wide_database, project, user_id, 2)
            asked += [question.id for question in held]
            if not held:
                return asked
            for question in held:
                answer(wide_database, project, user_id, question.triplet)

    with ThreadPoolExecutor(len(labelers)) as pool:
        asked = list(pool.map(label, labelers))
    assert over_quota(wide_database, redundancy) == []
    for questions in asked:
        assert len(questions) == len(set(questions)), "a question was asked twice of one labeler"
    with wide_database.reading() as session:
        per_triplet = session.execute(select(Answer.triplet_id, func.count()).group_by(Answer.triplet_id)).all()
    counts = Counter(count for _, count in per_triplet)
    assert counts == {redundancy: 60}, "every question got exactly its answers: none starved, none too many"


@pytest.mark.heavy(but="True")
@pytest.mark.parametrize("short", [False, True])
def test_none_of_fifty_labelers_hears_of_an_end_while_there_are_questions(wide_database: Database, short: bool) -> None:
    """From a queue that holds enough for all, and from one that each of them has to top up."""
    project, labelers = make_labelers(wide_database, THREADS, n_items=400)
    with wide_database.transaction() as session:
        queue.top_up(session, project, 20 if short else 1_000)
    start = threading.Barrier(len(labelers))

    def label(user_id: int) -> list[int]:
        asked = []
        start.wait()
        for _ in range(6):
            held = lease_among_others(wide_database, project, user_id, 2)
            asked.append(len(held))
            for question in held:
                answer(wide_database, project, user_id, question.triplet)
        return asked

    with ThreadPoolExecutor(len(labelers)) as pool:
        asked = [length for lengths in pool.map(label, labelers) for length in lengths]
    assert len(asked) == 300
    assert min(asked) > 0
    assert over_quota(wide_database, 1) == []


def test_every_question_of_a_tiny_project_is_asked_and_the_end_is_explained(database: Database) -> None:
    project, [ada, ben] = make_labelers(database, 2, n_items=4)
    with database.transaction() as session:
        held = lease(session, project, ada, 50, seconds=60)
        assert len(held) == 12, "four items, each as anchor with three pairs"
        assert lease(session, project, ben, 5, seconds=60) == []
        reason = queries.why_nothing(session, project.id, ben, 4, words_of("en"))
        assert "screens of other labelers" in reason
        assert f"{held[0].expires_at:%H:%M} UTC" in reason
    for question in held:
        answer(database, project, ada, question.triplet)
    with database.transaction() as session:
        assert lease(session, project, ben, 5, seconds=60) == []
        assert "has been answered" in queries.why_nothing(session, project.id, ben, 4, words_of("en"))


@pytest.mark.only_on("postgres")
@pytest.mark.parametrize("times", [1, queue.ATTEMPTS])
def test_one_whose_questions_another_labeler_leased_first_gets_others(
    database: Database, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Once, and at every attempt."""
    project, [ada, ben] = make_labelers(database, 2, n_items=9)
    with database.transaction() as session:
        queue.top_up(session, project, 20)
    write_leases, snatched = queue._write_leases, list[set[int]]()

    def write_too_late(
        connection: Connection,
        parameters: dict[str, Any],
        ending: Collection[int],
        candidates: Collection[int],
        more: dict[str, Query],
    ) -> dict[str, Rows]:
        if len(snatched) < times:
            snatched.append(set(candidates))
            with database.transaction() as session:
                until = now() + timedelta(seconds=60)
                session.add_all(Lease(triplet_id=key, labeler_id=ben, expires_at=until) for key in candidates)
        return write_leases(connection, parameters, ending, candidates, more)

    monkeypatch.setattr(queue, "_write_leases", write_too_late)
    leased = lease_among_others(database, project, ada, 2)
    assert [len(ids) for ids in snatched] == [2] * times
    assert len(leased) == 2
    assert not {lease.id for lease in leased} & set.union(*snatched)


def is_one_waiting(database: Database) -> bool:
    with database.reading() as session:
        return bool(session.scalar(text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")))


@pytest.mark.only_on("postgres")
def test_those_to_whom_others_were_faster_take_turns_in_their_project(database: Database) -> None:
    project, [ada] = make_labelers(database, 1, n_items=9)
    other, [ben] = make_labelers(database, 1, key="calls", n_items=9)

    def take(project: Project, user_id: int) -> list[LeasedTriplet]:
        with database.transaction() as session:
            return queue.lease_next(session, project, user_id, 2, seconds=60).triplets

    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as session:
            run(session.connection(), turn=(statements.WAIT_IN_LINE, {"project": project.id}))
            taken = pool.submit(take, project, ada)
            wait_for(lambda: is_one_waiting(database))
            assert take(other, ben) == []
            queue.top_up(session, project, 20)
        assert len(taken.result()) == 2, "what was there when the turn came"


@pytest.mark.only_on("postgres")
def test_one_who_waits_in_line_holds_no_question_that_another_may_wait_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, [ada, ben] = make_labelers(database, 2, n_items=9)
    with database.transaction() as session:
        queue.top_up(session, project, 20)
    read_queue, behind_the_head = queue._read_queue, QueuePlace(UNDONE, 0)
    monkeypatch.setattr(QueueHeads, "begin_behind", lambda heads, project_id: behind_the_head)
    monkeypatch.setattr(QueueHeads, "note", lambda heads, project_id, taken: None)

    def read_before_ben_leases_all(
        connection: Connection, taking: Select[Any], parameters: dict[str, Any], begin: QueuePlace
    ) -> tuple[list[LeasedTriplet], list[Candidate]]:
        read = read_queue(connection, taking, parameters, begin)
        if begin == behind_the_head:
            with database.transaction() as session:
                until, every = now() + timedelta(seconds=60), session.scalars(select(Triplet.id))
                session.add_all(Lease(triplet_id=key, labeler_id=ben, expires_at=until) for key in every)
        return read

    def take() -> list[LeasedTriplet]:
        with database.transaction() as session:
            return queue.lease_next(session, project, ada, 30, seconds=60).triplets

    monkeypatch.setattr(queue, "_read_queue", read_before_ben_leases_all)
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as session:
            run(session.connection(), turn=(statements.WAIT_IN_LINE, {"project": project.id}))
            taken = pool.submit(take)
            wait_for(lambda: is_one_waiting(database))
            session.execute(select(Triplet.id).with_for_update(nowait=True))
        assert taken.result() == []


def test_nothing_is_left_for_one_who_saw_all(database: Database) -> None:
    project, [ada] = make_labelers(database, 1, n_items=3, redundancy=2)
    for _ in range(3):
        with database.transaction() as session:
            [held] = lease(session, project, ada, 1, seconds=60)
        answer(database, project, ada, held.triplet)
    with database.transaction() as session:
        assert lease(session, project, ada, 1, seconds=60) == []
        assert "need other labelers" in queries.why_nothing(session, project.id, ada, 3, words_of("en"))


@pytest.mark.parametrize("count", [0, 2])
def test_a_project_with_too_few_items_says_so(database: Database, count: int) -> None:
    project, [ada] = make_labelers(database, 1, n_items=count)
    with database.transaction() as session:
        assert lease(session, project, ada, 5, seconds=60) == []
        assert f"has {count} items" in queries.why_nothing(session, project.id, ada, count, words_of("en"))


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_a_queue_is_used_up_once_every_triplet_of_items_in_use_is_stored(database: Database, kind: str) -> None:
    project, _ = make_labelers(database, 1, n_items=5, question_kind=kind)
    with database.transaction() as session:
        assert not queue.is_used_up(session, project)
        while queue.top_up(session, project, 7):
            stored = session.scalar(select(func.count()).select_from(Triplet))
            assert queue.is_used_up(session, project) == (stored == math.comb(5, 3) * (3 if kind == "relative" else 1))
        session.execute(update(Item).where(Item.position == 0).values(set_aside_at=now()))
        assert queue.is_used_up(session, project), "those of the others are among them"
        session.add(Item(project_id=project.id, key="new", position=5))
        session.flush()
        assert not queue.is_used_up(session, project)


def test_the_hot_path_is_short_and_scans_no_table(sqlite_database_url: str) -> None:
    database = Database(sqlite_database_url)
    project, [ada] = make_labelers(database, 1, n_items=30)
    ran: list[str] = []
    with database.transaction() as session:
        queue.top_up(session, project, 50)
        driver = session.connection().connection.driver_connection
        assert driver is not None
        driver.set_trace_callback(ran.append)
        held = lease(session, project, ada, 5, seconds=60)
        queries.displayed_items(session, held[0].triplet)
        service.store_constraints(session, project, [ConstraintRow(0, uuid.uuid4(), held[0].triplet, "yes", ada, None)])
        statements = ran.copy()
        service.get_progress(session, project.id, [ada])
        driver.set_trace_callback(None)
        plans = {
            statement: [step[3] for step in session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]
            for statement in ran
        }
    database.close()
    assert len(statements) <= 10
    # The values of an IN, those of a list, and the few questions that a labeler holds.
    harmless = {"SCAN CONSTANT ROW", "SCAN listed VIRTUAL TABLE INDEX 1:", "SCAN held"}
    scans = {step for steps in plans.values() for step in steps if step.startswith("SCAN")} - harmless
    assert scans == set()
    taking = next(steps for statement, steps in plans.items() if "ORDER BY triplet.priority" in statement)
    assert any("ix_triplet_queue" in step for step in taking)


@pytest.mark.only_on("postgres")
def test_postgres_reads_only_the_head_of_a_queue_that_a_first_run_filled(database: Database) -> None:
    project, [ada] = make_labelers(database, 1, n_items=400)
    refill(database, project.id, some_questions(items_of(database, project), MOST))
    me = {"project": project.id, "user": ada, "at": now(), "redundancy": 1, "wanted": 5}
    taking = statements.TAKE.compile(dialect=database.engine.dialect)
    with database.transaction() as session:
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {taking}"
        plan = session.connection().exec_driver_sql(explain, taking.construct_params(me)).scalar_one()
    lines = json.dumps(plan)
    assert "ix_triplet_queue" in lines
    assert "Sort Key" not in lines, "in the order of its index, a long queue need not be sorted for five questions"


def test_outlier_questions_are_stored_sorted_and_counted_once(database: Database) -> None:
    project, [ada] = make_labelers(database, 1, n_items=5, question_kind="outlier")
    with database.transaction() as session:
        held = lease(session, project, ada, 50, seconds=60)
    assert len(held) == math.comb(5, 3)
    assert all(question.triplet == tuple(sorted(question.triplet)) for question in held)


def some_questions(project_items: list[int], count: int) -> list[Queued]:
    chance = random.Random(1)
    drawn = [tuple(chance.sample(project_items, 3)) for _ in range(count)]
    return [Queued((a, b, c), Source.INFORMATION) for a, b, c in drawn]


def items_of(database: Database, project: Project) -> list[int]:
    with database.reading() as session:
        return list(session.scalars(select(Item.id).where(Item.project_id == project.id)))


def test_a_refill_replaces_what_nobody_was_shown(database: Database) -> None:
    project, [ada, ben] = make_labelers(database, 2, n_items=400)
    with database.transaction() as session:
        held = lease(session, project, ada, 4, seconds=60)
        first = session.scalars(select(Membership.user_id)).first()
        session.add(Skip(triplet_id=held[3].id, labeler_id=first))
        session.execute(update(Lease).where(Lease.triplet_id == held[2].id).values(expires_at=now()))
    answer(database, project, ada, held[0].triplet)
    moment = now()
    asked = some_questions(items_of(database, project), 50)
    refill(database, project.id, asked)
    with database.transaction() as session:
        older = set(session.scalars(select(Triplet.id).where(Triplet.created_at < moment)))
        assert older == {held[0].id, held[1].id, held[3].id}, "answered, leased, skipped ones stay"
        leased = lease(session, project, ben, 5, seconds=60)
        assert [question.triplet for question in leased] == in_order(asked)[:5], "the best first"
        last = select(Triplet.id).where(Triplet.priority.is_not(None)).order_by(Triplet.priority).limit(1)
        assert session.scalar(last) == held[3].id, "what Ben skipped waits behind all others"


def in_order(asked: list[Queued]) -> list[tuple[int, int, int]]:
    return [(a, min(b, c), max(b, c)) for (a, b, c), *_ in asked]


def test_a_refill_never_leaves_the_queue_empty(database: Database) -> None:
    project, [ada] = make_labelers(database, 1, n_items=60)
    with database.transaction() as session:
        held = lease(session, project, ada, 3, seconds=60)
    fewest: list[int] = []

    def count(connection: Connection, *_: object) -> None:
        of_project = select(func.count()).where(Triplet.project_id == project.id, Triplet.priority.is_not(None))
        fewest.append(connection.execute(of_project).scalar_one())

    event.listen(database.engine, "begin", count)
    for _ in range(3):
        refill(database, project.id, some_questions(items_of(database, project), 50))
    assert min(fewest) >= 40
    with database.transaction() as session:
        again = lease(session, project, ada, 3, seconds=60)
    assert {question.id for question in again} == {question.id for question in held}


def test_questions_wait_in_the_order_of_the_newest_run(database: Database) -> None:
    project, _ = make_labelers(database, 1, n_items=60)
    asked = some_questions(items_of(database, project), 40)
    refill(database, project.id, asked)
    turned = [*asked[30:], *reversed(asked[:20])]
    refill(database, project.id, turned)
    with database.transaction() as session:
        queue.top_up(session, project, 10)
        ids = select(Triplet.anchor_id, Triplet.left_id, Triplet.right_id, Triplet.source)
        rows = session.execute(ids.order_by(Triplet.priority.desc())).all()
    assert [(a, b, c) for a, b, c, _ in rows[:30]] == in_order(turned), "what was queued already has its new place"
    assert {source for *_, source in rows[30:]} == {Source.RANDOM}, "a top-up comes after them"


def in_doubt(
    database: Database, labelers: int, **values: object
) -> tuple[Project, list[int], queue.LeasedTriplet, list[Queued]]:
    """A project whose first labeler has answered a question, and ordinary questions."""
    project, people = make_labelers(database, labelers, n_items=60, **values)
    with database.transaction() as session:
        [asked] = lease(session, project, people[0], 1, seconds=60)
    answer(database, project, people[0], asked.triplet)
    return project, people, asked, some_questions(items_of(database, project), 20)


def leased_by(database: Database, project: Project, person: int, count: int = 3) -> set[int]:
    with database.transaction() as session:
        return {question.id for question in lease(session, project, person, count, seconds=60)}


def state_of(database: Database, key: int) -> tuple[float | None, int, int | None]:
    with database.reading() as session:
        row = session.execute(
            select(Triplet.priority, Triplet.extra_answers, Triplet.asked_of).where(Triplet.id == key)
        )
        return tuple(row.one())


def test_an_answer_in_doubt_is_asked_once_more_and_of_the_labeler_it_waits_for(database: Database) -> None:
    project, [ada, ben, cem], asked, others = in_doubt(database, 3)
    refill(database, project.id, [Queued(asked.triplet, Source.INFORMATION, 1, cem), *others])
    assert asked.id not in leased_by(database, project, ada), "she has answered it"
    assert asked.id not in leased_by(database, project, ben), "it waits for another one"
    assert asked.id in leased_by(database, project, cem)
    answer(database, project, cem, asked.triplet)
    assert state_of(database, asked.id) == (None, 1, None), "with that answer it leaves the queue"
    refill(database, project.id, others)
    assert state_of(database, asked.id)[0] is None


def test_a_question_that_waits_for_nobody_is_given_to_one_of_the_others_only(database: Database) -> None:
    project, [ada, ben, cem], asked, others = in_doubt(database, 3)
    refill(database, project.id, [Queued(asked.triplet, Source.INFORMATION, 1), *others])
    assert asked.id not in leased_by(database, project, ada)
    assert asked.id in leased_by(database, project, ben)
    assert asked.id not in leased_by(database, project, cem), "it needs one answer more, and Ben is about to give it"


def test_doubts_that_are_over_or_late_ask_nothing(database: Database) -> None:
    project, [_, ben, cem], asked, others = in_doubt(database, 3)
    again = Queued(asked.triplet, Source.INFORMATION, 1, ben)
    refill(database, project.id, [again, *others])
    assert state_of(database, asked.id)[1:] == (1, ben)
    refill(database, project.id, others)
    assert state_of(database, asked.id) == (None, 0, None), "the next run has no doubt"
    refill(database, project.id, [again, *others])
    answer(database, project, ben, asked.triplet)
    refill(database, project.id, [again._replace(asked_of=cem), *others])
    assert state_of(database, asked.id)[0] is None, "the run did not know the second answer"


def test_who_skipped_a_question_is_not_waited_for(database: Database) -> None:
    project, [_, ben, cem], asked, others = in_doubt(database, 3)
    with database.transaction() as session:
        session.add(Skip(triplet_id=asked.id, labeler_id=ben))
    refill(database, project.id, [Queued(asked.triplet, Source.INFORMATION, 1, ben), *others])
    assert asked.id not in leased_by(database, project, ben)
    assert asked.id in leased_by(database, project, cem)


def test_one_of_two_answers_in_doubt_that_is_withdrawn_is_asked_for_again(database: Database) -> None:
    project, [ada, ben, cem], asked, others = in_doubt(database, 3, redundancy=2)
    answer(database, project, ben, asked.triplet)
    refill(database, project.id, [Queued(asked.triplet, Source.INFORMATION, 2, cem), *others])
    answer(database, project, cem, asked.triplet)
    assert state_of(database, asked.id) == (None, 1, None)
    with database.transaction() as session:
        session.execute(update(Answer).where(Answer.labeler_id == ada).values(withdrawn_at=now()))
        queue.reopen(session, project, [asked.id], queue.UNDONE)
    assert state_of(database, asked.id) == (queue.UNDONE, 1, None)


def test_an_undone_question_stays_first_through_a_refill(database: Database) -> None:
    project, [ada, _] = make_labelers(database, 2, n_items=60)
    asked = some_questions(items_of(database, project), 20)
    refill(database, project.id, asked)
    undone = asked[9]
    with database.transaction() as session:
        [key] = triplets.find(session, project.id, in_order([undone])).values()
        queue.reopen(session, project, [key], queue.UNDONE)
    refill(database, project.id, asked)
    with database.transaction() as session:
        leased = lease(session, project, ada, 1, seconds=60)
    assert [question.triplet for question in leased] == in_order([undone])


def test_a_run_is_asked_for_what_labelers_need_until_the_next(database: Database) -> None:
    project, [ada, ben] = make_labelers(database, 2, n_items=60, rerun_answers=20)
    with database.transaction() as session:
        held = lease(session, project, ada, 3, seconds=60)
        run = Run(project_id=project.id, number=1, algorithm="dcrc", due_at=now(), answers_from=0, answers_to=0)
        session.add(run)
    assert demand(database, run).n_questions == 20 + SCREEN, "what makes a run due, and one labeler's page"
    for question in held[:2]:
        answer(database, project, ben, question.triplet)
    needed = demand(database, run)
    assert needed.n_questions == 20 + 2 * SCREEN
    assert needed.random_share == pytest.approx(0.05)
    assert (list(needed.labelers), needed.most_answers) == ([ada, ben], 3)
    assert sorted(map(tuple, needed.pending.tolist())) == sorted(question.triplet for question in held)
    with database.transaction() as session:
        session.execute(update(Project).values(answer_number=50))
    assert demand(database, run).n_questions == 50 + 2 * SCREEN, "as many as came while the run was computed"
    run.answers_to = 100_000
    assert demand(database, run).n_questions == MOST


def test_bulk_constraints_are_stored_once_and_end_what_they_answer(database: Database) -> None:
    project, [ada, ben] = make_labelers(database, 2, n_items=10)
    with database.transaction() as session:
        held = lease(session, project, ada, 3, seconds=60)
        rows = [
            ConstraintRow(i, uuid.uuid4(), question.triplet, "no", user, None)
            for i, (question, user) in enumerate([(held[0], ada), (held[1], ben), (held[1], ben)])
        ]
        assert len(service.store_constraints(session, project, rows)) == 3
        assert not service.store_constraints(session, project, rows)
        leases = set(session.scalars(select(Lease.triplet_id).where(Lease.labeler_id == ada)))
        assert leases == {held[1].id, held[2].id}, "only Ada's own answer ends her lease"
        closed = set(session.scalars(select(Triplet.id).where(Triplet.priority.is_(None))))
        assert closed == {held[0].id, held[1].id}
        assert session.scalar(select(Project.answer_number)) == 3


def test_answers_sent_again_among_new_ones_leave_no_gap_in_the_numbers(database: Database) -> None:
    project, [ada] = make_labelers(database, 1, n_items=10)
    with database.transaction() as session:
        held = lease(session, project, ada, 5, seconds=60)
        rows = [ConstraintRow(i, uuid.uuid4(), question.triplet, "no", ada, None) for i, question in enumerate(held)]
        again = [rows[0], rows[3], rows[1], rows[4], rows[4]]
        service.store_constraints(session, project, [rows[1], rows[2]])
        assert service.store_constraints(session, project, again) == {rows[0].id, rows[3].id, rows[4].id}
        stored = session.execute(select(Answer.number, Answer.id).order_by(Answer.number)).all()
        assert [number for number, _ in stored] == [1, 2, 3, 4, 5]
        assert [key for _, key in stored] == [rows[i].id for i in (1, 2, 0, 3, 4)]
        assert session.scalar(select(Project.answer_number)) == 5
    contradiction = rows[0]._replace(value="yes")
    with pytest.raises(Conflict), database.transaction() as session:
        service.store_constraints(session, project, [contradiction])


def test_canonical_triplets_are_made_once(database: Database) -> None:
    project, _ = make_labelers(database, 0, n_items=3)
    with database.transaction() as session:
        assert queue.top_up(session, project, 10) == 3
        key_of = {(a, b, c): key for a, b, c, key in session.execute(
            select(Triplet.anchor_id, Triplet.left_id, Triplet.right_id, Triplet.id))}  # fmt: skip
        assert triplets.make(session, project.id, key_of) == key_of


def test_a_clock_that_is_set_back_keeps_no_question_from_others(database: Database) -> None:
    """A lease of a page that was closed would hold for as long as the clock was set back."""
    project, [first, second] = make_labelers(database, 2, n_items=3)
    with database.transaction() as session:
        assert lease(session, project, first, 9, 300)
        assert not lease(session, project, second, 9, 300)
        session.execute(update(Lease).values(expires_at=now() + timedelta(hours=1)))
    queue.end_leases_out_of_reach(database, 3_600)
    with database.transaction() as session:
        assert not lease(session, project, second, 9, 300), "the lease is as long as leases are"
    queue.end_leases_out_of_reach(database, 300)
    with database.transaction() as session:
        assert lease(session, project, second, 9, 300)
