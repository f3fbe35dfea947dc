"""Answers that wait for one another are written in one transaction, and each request gets its own outcome."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, func, select

from app.accounts.access import Caller
from app.database import Database
from app.errors import Conflict, Invalid, NotFound
from app.labeling.schemas import AnswerIn, AnswersOut
from app.labeling.together import Together, _Turn
from app.models import Answer, Project, Role
from tests.factories import add_member, make_project, make_user

REQUESTS = 8


def given(keys: str, value: str = "yes", answer_id: uuid.UUID | None = None) -> AnswerIn:
    triplet = [f"item-{key}" for key in keys.split()]
    return AnswerIn(id=answer_id or uuid.uuid4(), triplet=triplet, answer=value, response_ms=None)


class Crowd:
    """A project with labelers, and requests of theirs that all wait for the same turn."""

    def __init__(self, database: Database) -> None:
        with database.transaction() as session:
            self.project = make_project(session, n_items=12)
            self.labelers = [add_member(session, self.project, Role.LABELER, f"L{i}").id for i in range(REQUESTS)]
            self.stranger = make_user(session, "Sam").id
        self.together = Together(database)
        self.commits: list[object] = []
        event.listen(database.engine, "commit", self.commits.append)

    def at_once(self, requests: list[tuple[int, AnswerIn]], wrong: int = 0) -> list[AnswersOut | Exception]:
        """Send the requests while an earlier one is being written, and give what each heard.

        So many of them are found to be wrong before they would wait.
        """

        def send(user_id: int, answer: AnswerIn) -> AnswersOut | Exception:
            try:
                return self.together.store(Caller(user_id=user_id), "songs", [answer])
            except Exception as error:  # noqa: BLE001 - what this request heard
                return error

        with ThreadPoolExecutor(len(requests) + 1) as pool:
            pool.submit(send, self.labelers[0], given("0 1 2")).result()
            turn = self.busy()
            heard = [pool.submit(send, *request) for request in requests]
            try:
                self.wait_for(turn, len(requests) - wrong)
            finally:
                turn.lock.release()
            return [future.result() for future in heard]

    def busy(self) -> _Turn:
        """Take the project's turn, as a request does that is being written."""
        turn = self.together._turns.setdefault("songs", _Turn())
        turn.lock.acquire()
        self.commits.clear()
        return turn

    @staticmethod
    def wait_for(turn: _Turn, count: int) -> None:
        deadline = time.monotonic() + 30
        while len(turn.waiting) < count:
            assert time.monotonic() < deadline
            threading.Event().wait(0.005)


def stored(database: Database) -> int:
    with database.reading() as session:
        assert session.scalar(select(Project.answer_number)) == session.scalar(select(func.max(Answer.number)))
        return session.scalar(select(func.count()).select_from(Answer)) or 0


def test_requests_that_wait_are_written_in_one_transaction(database: Database) -> None:
    crowd = Crowd(database)
    outcomes = crowd.at_once([(user, given(f"{i} {i + 1} {i + 2}")) for i, user in enumerate(crowd.labelers)])
    assert len(crowd.commits) == 1
    assert [outcome.stored for outcome in outcomes if isinstance(outcome, AnswersOut)] == [1] * REQUESTS
    mine = [outcome.progress.mine for outcome in outcomes if isinstance(outcome, AnswersOut)]
    assert mine == [2, *[1] * (REQUESTS - 1)]
    assert stored(database) == REQUESTS + 1
    assert not crowd.together._turns, "nothing is kept of a project that nobody answers about"


def test_what_is_wrong_with_one_costs_the_others_nothing(database: Database) -> None:
    crowd = Crowd(database)
    taken = uuid.uuid4()
    outcomes = crowd.at_once(
        [
            (crowd.labelers[1], given("1 2 3", answer_id=taken)),
            (crowd.labelers[2], given("1 2 77")),
            (crowd.stranger, given("1 2 3")),
            (crowd.labelers[3], given("4 5 6", answer_id=taken)),
            (crowd.labelers[4], given("4 5 6")),
        ],
        wrong=2,
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds.count(AnswersOut) == 2
    assert kinds[1:3] == [Invalid, NotFound]
    assert sorted(kind.__name__ for kind in (kinds[0], kinds[3])) == ["AnswersOut", "Conflict"]
    assert Conflict in kinds
    assert isinstance(outcomes[4], AnswersOut)
    assert stored(database) == 3


def test_the_same_answer_sent_twice_at_once_is_one(database: Database) -> None:
    crowd = Crowd(database)
    answer = given("1 2 3")
    outcomes = crowd.at_once([(crowd.labelers[1], answer), (crowd.labelers[1], answer)])
    counted = [(outcome.stored, outcome.repeated) for outcome in outcomes if isinstance(outcome, AnswersOut)]
    assert sorted(counted) == [(0, 1), (1, 0)]
    assert stored(database) == 2


@pytest.mark.parametrize("projects", [3])
def test_projects_do_not_wait_for_each_other(database_url: str, projects: int) -> None:
    database = Database(database_url)
    together = Together(database)
    with database.transaction() as session:
        users = []
        for i in range(projects):
            project = make_project(session, f"p{i}", n_items=5)
            users.append(add_member(session, project, Role.LABELER).id)
    with ThreadPoolExecutor(12) as pool:
        futures = [
            pool.submit(together.store, Caller(user_id=users[i % projects]), f"p{i % projects}", [given("0 1 2")])
            for i in range(30)
        ]
        assert all(future.result().stored == 1 for future in futures)
    with database.reading() as session:
        numbers = session.execute(select(Project.key, Project.answer_number)).all()
    database.close()
    assert sorted(numbers) == [(f"p{i}", 10) for i in range(projects)]
