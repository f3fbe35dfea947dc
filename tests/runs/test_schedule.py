"""The rerun rule and the one queued run, on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import event, func, select, update

from tercet.database import Database
from tercet.errors import Conflict, Invalid
from tercet.jobs import wake_up
from tercet.models import Event, Project, Run, now
from tercet.projects.service import change_project
from tercet.runs import lifecycle
from tercet.runs.schedule import Standing, answers_arrived, due_at, request_run
from tercet.storage import Storage
from tests.factories import add_features, make_project

RULE = {"rerun_answers": 5, "rerun_idle_seconds": 20.0, "rerun_max_seconds": 60.0}


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    with database.transaction() as session:
        project = make_project(session, n_items=6, **RULE)
        add_features(session, storage, project, np.zeros((6, 2)))
        return project.id


def answer(database: Database, project_id: int, times: int = 1) -> None:
    """Do to the counters what storing answers one by one does, and nothing else."""
    with database.transaction() as session:
        for _ in range(times):
            session.execute(update(Project).values(answer_number=Project.answer_number + 1))
            answers_arrived(session, session.get_one(Project, project_id))


def runs(database: Database) -> list[Run]:
    with database.reading() as session:
        return list(session.scalars(select(Run).order_by(Run.number)))


def test_rule_waits_for_quiet_but_not_for_ever() -> None:
    moment, rule = now(), Project(**RULE)
    assert due_at(Standing(1, 0, True, None, None), rule, moment) == moment + timedelta(seconds=20)
    long_ago = moment - timedelta(seconds=50)
    waiting = Standing(3, 0, True, long_ago, moment + timedelta(seconds=5))
    assert due_at(waiting, rule, moment) == moment + timedelta(seconds=10)


def test_rule_runs_at_once_after_n_answers() -> None:
    moment, rule = now(), Project(**RULE)
    assert due_at(Standing(15, 10, True, moment, moment + timedelta(seconds=9)), rule, moment) == moment


def test_what_is_due_stays_due() -> None:
    moment, rule = now(), Project(**RULE)
    earlier = moment - timedelta(seconds=3)
    assert due_at(Standing(1, 0, True, earlier, earlier), rule, moment) == earlier


def test_answers_gather_in_one_queued_run(database: Database, project: int) -> None:
    answer(database, project, 4)
    [run] = runs(database)
    assert (run.status, run.number, run.reason) == ("queued", 1, "answers")
    assert run.due_at > now()
    answer(database, project)
    [run] = runs(database)
    assert run.due_at <= now()


def test_answers_of_many_threads_gather_in_one_queued_run(database: Database, project: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: answer(database, project, 25), range(8)))
    [run] = runs(database)
    assert run.due_at <= now()
    with database.reading() as session:
        assert session.scalar(select(Project.answer_number)) == 200
        assert session.scalar(select(func.count()).select_from(Event)) == 1


def test_answers_during_a_run_make_exactly_one_more(database: Database, project: int) -> None:
    answer(database, project, 5)
    with database.transaction() as session:
        session.execute(update(Run).values(status="running", answers_to=5))
    answer(database, project, 500)
    first, second = runs(database)
    assert (first.status, second.status, second.number) == ("running", "queued", 2)
    assert second.due_at <= now()


@pytest.mark.parametrize("answers", [1, 5])
def test_an_answer_costs_one_statement_while_a_run_waits_or_is_due(
    database: Database, project: int, answers: int
) -> None:
    answer(database, project, answers)
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    with database.transaction() as session:
        stored = session.get_one(Project, project)
        statements.clear()
        answers_arrived(session, stored)
    assert len(statements) == 1


@pytest.mark.parametrize(("quiet", "missing"), [(10.0, 0.6), (20.0, 1.1), (3600.0, 1.1)])
def test_each_answer_puts_the_run_off_unless_hardly_any_of_the_quiet_is_missing(
    database: Database, project: int, quiet: float, missing: float
) -> None:
    with database.transaction() as session:
        session.execute(update(Project).values(rerun_idle_seconds=quiet, rerun_max_seconds=7200))
    answer(database, project)
    [first] = runs(database)
    answer(database, project)
    [second] = runs(database)
    assert second.due_at == first.due_at
    with database.transaction() as session:
        session.execute(update(Run).values(due_at=first.due_at - timedelta(seconds=missing)))
    before = now()
    answer(database, project)
    [third] = runs(database)
    assert third.due_at >= before + timedelta(seconds=quiet)


def test_a_clock_that_is_set_back_keeps_no_run_waiting(database: Database, project: int) -> None:
    """Times that were written before it are an hour ahead then: of a waiting run, and of the lease of a dead worker."""
    answer(database, project)
    hour = timedelta(hours=1)
    assert lifecycle.claim_next(database, 15) is None, "more answers may come"
    with database.transaction() as session:
        session.execute(update(Run).values(created_at=now() + hour, due_at=now() + hour))
    claim = lifecycle.claim_next(database, 15)
    assert claim is not None
    assert lifecycle.claim_next(database, 15) is None
    with database.transaction() as session:
        session.execute(update(Run).values(lease_expires_at=now() + hour))
    again = lifecycle.claim_next(database, 15)
    assert again is not None
    assert again.run_id == claim.run_id


def test_runs_that_answers_brought_wait_while_their_project_rests(database: Database, project: int) -> None:
    answer(database, project, 5)
    assert lifecycle.claim_next(database, 15, [project]) is None
    assert lifecycle.claim_next(database, 15, [project + 1]) is not None


def test_a_run_that_was_asked_for_does_not_wait_while_its_project_rests(database: Database, project: int) -> None:
    with database.transaction() as session:
        request_run(session, session.get_one(Project, project), reason="request")
    assert lifecycle.claim_next(database, 15, [project]) is not None


def test_without_features_answers_wait_and_requests_say_what_to_do(database: Database) -> None:
    with database.transaction() as session:
        bare = make_project(session, n_items=6, rerun_answers=1).id
    answer(database, bare)
    assert runs(database) == []
    with database.transaction() as session, pytest.raises(Conflict, match="upload features"):
        request_run(session, session.get_one(Project, bare), reason="request")


def test_a_request_makes_the_waiting_run_due_and_its_choice_counts(database: Database, project: int) -> None:
    answer(database, project)
    with database.transaction() as session:
        run = request_run(session, session.get_one(Project, project), reason="request", parameters={"tau": 2.0})
        assert (run.number, run.reason, run.parameters) == (1, "request", {"tau": 2.0})
    with database.transaction() as session:
        run = request_run(session, session.get_one(Project, project), reason="features")
        assert (run.number, run.parameters) == (1, {"tau": 2.0})
    [run] = runs(database)
    assert run.due_at <= now()


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"algorithm": "kmeanz"}, "algorithm"),
        ({"parameters": {"epsilon": 0.9}}, "parameters.epsilon"),
        ({"parameters": {"epsilonn": 0.1}}, "parameters.epsilonn"),
        ({"parameters": {"n_clusters": 7}}, "n_clusters"),
    ],
)
def test_a_wrong_request_names_the_field_and_queues_nothing(
    database: Database, project: int, request_: dict[str, object], field: str
) -> None:
    with pytest.raises(Invalid) as caught, database.transaction() as session:
        request_run(session, session.get_one(Project, project), reason="request", **request_)
    assert [e.field for e in caught.value.errors] == [field]
    assert runs(database) == []


def test_supervisors_wake_after_the_commit_that_made_a_run_due(database: Database, project: int) -> None:
    rung = threading.Event()
    wake_up.register(rung)
    try:
        answer(database, project, 4)
        assert not rung.is_set()
        with database.transaction() as session:
            request_run(session, session.get_one(Project, project), reason="request")
            assert not rung.is_set()
        assert rung.is_set()
    finally:
        wake_up.unregister(rung)


def test_a_run_that_answers_brought_takes_the_algorithm_of_its_start(database: Database, project: int) -> None:
    answer(database, project, 5)
    with database.transaction() as session:
        change_project(session, session.get_one(Project, project), {"algorithm": "sklr", "parameters": {"C": 0.5}})
    assert lifecycle.claim_next(database, 15) is not None
    [run] = runs(database)
    assert (run.algorithm, run.parameters["C"], run.status) == ("sklr", 0.5, "running")


def test_a_run_that_was_asked_for_keeps_its_algorithm(database: Database, project: int) -> None:
    with database.transaction() as session:
        request_run(session, session.get_one(Project, project), reason="request", algorithm="sklr")
    answer(database, project, 5)
    assert lifecycle.claim_next(database, 15) is not None
    [run] = runs(database)
    assert (run.algorithm, run.reason) == ("sklr", "request")
