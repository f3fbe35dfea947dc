"""Answers that wait for one another are written in one transaction, and each request gets its own outcome."""

import asyncio
import threading
import time
import uuid
from collections.abc import Sequence

import anyio.to_thread
import pytest
from sqlalchemy import Connection, event, func, select

from tercet.accounts.access import Caller, hash_token
from tercet.database import Database
from tercet.errors import Conflict, Invalid, NotFound
from tercet.labeling import answer_writer as module
from tercet.labeling.answer_writer import AnswerWriter
from tercet.labeling.schemas import AnswerIn, AnswersOut
from tercet.labeling.service import StoredAnswers
from tercet.models import Answer, Project, Role, now
from tests.factories import add_member, make_project, make_session, make_user
from tests.loops import run

REQUESTS = 8
SECONDS = 20


def answer_about(keys: str, value: str = "yes", answer_id: uuid.UUID | None = None) -> AnswerIn:
    triplet = [f"item-{key}" for key in keys.split()]
    return AnswerIn(id=answer_id or uuid.uuid4(), triplet=triplet, answer=value, response_ms=None)


class Crowd:
    """A project with labelers, whose requests all come in the same instant."""

    def __init__(self, database: Database) -> None:
        with database.transaction() as session:
            self.project = make_project(session, n_items=12)
            self.labelers = [add_member(session, self.project, Role.LABELER, f"L{i}").id for i in range(REQUESTS)]
            self.stranger = make_user(session, "Sam").id
            everybody = [*self.labelers, self.stranger]
            self.callers = {user: Caller(session=hash_token(make_session(session, user))) for user in everybody}
        self.writer = AnswerWriter(database)
        self.commits: list[object] = []
        event.listen(database.engine, "commit", self.commits.append)

    def at_once(self, requests: Sequence[tuple[int, AnswerIn]]) -> list[AnswersOut | Exception]:
        """Send the requests, and give what each heard."""

        async def send() -> list[StoredAnswers | BaseException]:
            stores = [self.writer.store(self.callers[user], "songs", [answer]) for user, answer in requests]
            heard = await asyncio.gather(*stores, return_exceptions=True)
            await self.at_rest()
            return heard

        outcomes = run(asyncio.wait_for(send(), SECONDS))
        heard = [outcome.response if isinstance(outcome, StoredAnswers) else outcome for outcome in outcomes]
        return [each for each in heard if isinstance(each, AnswersOut | Exception)]

    async def at_rest(self) -> None:
        """Wait until the last thread has seen that nothing waits any more."""
        await asyncio.gather(*self.writer._tasks)


def stored(database: Database) -> int:
    with database.reading() as session:
        assert session.scalar(select(Project.answer_number)) == session.scalar(select(func.max(Answer.number)))
        return session.scalar(select(func.count()).select_from(Answer)) or 0


def pressed(keys: str, value: str) -> AnswerIn:
    """An answer as the labeling page sends it."""
    return answer_about(keys, value).model_copy(update={"response_ms": 900})


def test_two_tabs_that_answer_one_question_in_the_same_instant_store_one_answer(database: Database) -> None:
    crowd = Crowd(database)
    one, other, *_ = crowd.labelers
    first = pressed("1 2 3", "yes")
    outcomes = crowd.at_once([(one, first), (one, pressed("1 3 2", "yes")), (other, pressed("1 2 3", "no"))])
    counts = [(out.stored, out.repeated) for out in outcomes if isinstance(out, AnswersOut)]
    assert counts == [(1, 0), (0, 1), (1, 0)]
    [late, elsewhere] = crowd.at_once([(one, pressed("1 2 3", "yes")), (one, answer_about("1 2 3"))])
    assert isinstance(late, AnswersOut)
    assert isinstance(elsewhere, AnswersOut)
    assert (late.stored, late.repeated) == (0, 1)
    assert elsewhere.stored == 1, "a program may answer as often as it likes"
    with database.transaction() as session:
        session.get_one(Answer, first.id).withdrawn_at = now()
    [again] = crowd.at_once([(one, pressed("1 2 3", "no"))])
    assert isinstance(again, AnswersOut)
    assert again.stored == 1, "what was undone is answered anew"
    assert stored(database) == 4


@pytest.mark.parametrize("is_first_under_way", [True, False])
def test_two_tabs_of_two_processes_store_one_answer(database: Database, is_first_under_way: bool) -> None:
    crowd, elsewhere = Crowd(database), AnswerWriter(Database(database.engine.url.render_as_string(False)))
    caller = crowd.callers[crowd.labelers[0]]

    async def send() -> list[AnswersOut]:
        first = asyncio.create_task(crowd.writer.store(caller, "songs", [pressed("1 2 3", "yes")]))
        if not is_first_under_way:
            await first
        second = await elsewhere.store(caller, "songs", [pressed("1 2 3", "no")])
        outcomes = [(await first).response, second.response]
        await asyncio.gather(crowd.at_rest(), *elsewhere._tasks)
        return outcomes

    outcomes = run(asyncio.wait_for(send(), SECONDS))
    assert sorted((out.stored, out.repeated) for out in outcomes) == [(0, 1), (1, 0)]
    assert stored(database) == 1
    elsewhere.database.close()


def test_requests_that_wait_are_written_in_one_transaction(database: Database) -> None:
    crowd = Crowd(database)
    outcomes = crowd.at_once([(user, answer_about(f"{i} {i + 1} {i + 2}")) for i, user in enumerate(crowd.labelers)])
    assert len(crowd.commits) == 1
    answered = [outcome for outcome in outcomes if isinstance(outcome, AnswersOut)]
    assert [(out.stored, out.progress.mine, out.progress.project_answers) for out in answered] == [
        (1, 1, REQUESTS)
    ] * REQUESTS
    assert stored(database) == REQUESTS
    assert not crowd.writer._waiting, "nothing is kept of a project that nobody answers about"


def test_what_comes_during_a_turn_is_written_without_the_event_loop(database: Database) -> None:
    crowd = Crowd(database)
    writing, go_on, written = threading.Event(), threading.Event(), threading.Event()

    def commit(connection: Connection) -> None:
        if writing.is_set():
            written.set()
        writing.set()
        assert go_on.wait(SECONDS)

    event.listen(database.engine, "commit", commit)

    async def send() -> list[AnswersOut]:
        callers = iter(crowd.callers.values())
        first = asyncio.create_task(crowd.writer.store(next(callers), "songs", [answer_about("1 2 3")]))
        assert await asyncio.to_thread(writing.wait, SECONDS)
        second = asyncio.create_task(crowd.writer.store(next(callers), "songs", [answer_about("1 2 4")]))
        await asyncio.sleep(0)
        go_on.set()
        assert written.wait(SECONDS), "the second answer waits for the event loop, which stands still here"
        outcomes = [(await first).response, (await second).response]
        await crowd.at_rest()
        return outcomes

    assert [outcome.stored for outcome in run(asyncio.wait_for(send(), 3 * SECONDS))] == [1, 1]
    assert not crowd.writer._waiting


def test_answers_without_end_leave_threads_to_others(database: Database) -> None:
    crowd = Crowd(database)
    ended = threading.Event()

    def commit(connection: Connection) -> None:
        give_up = time.monotonic() + SECONDS
        while not (crowd.writer._waiting.get("songs") or ended.is_set() or time.monotonic() > give_up):
            time.sleep(0.001)  # so that there is always a next turn

    event.listen(database.engine, "commit", commit)

    async def send() -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1
        stores = []

        async def press() -> None:
            while not ended.is_set():
                answer = crowd.writer.store(crowd.callers[crowd.labelers[0]], "songs", [answer_about("1 2 3")])
                stores.append(asyncio.create_task(answer))
                await asyncio.sleep(0.001)

        pressing = asyncio.create_task(press())
        await asyncio.sleep(0.1)
        try:
            await asyncio.wait_for(anyio.to_thread.run_sync(time.monotonic), SECONDS)
        finally:
            ended.set()
            await pressing
            assert all(outcome.response.stored == 1 for outcome in await asyncio.gather(*stores))

    run(send())


def test_what_is_wrong_with_one_costs_the_others_nothing(database: Database) -> None:
    crowd = Crowd(database)
    taken = uuid.uuid4()
    outcomes = crowd.at_once(
        [
            (crowd.labelers[1], answer_about("1 2 3", answer_id=taken)),
            (crowd.labelers[2], answer_about("1 2 77")),
            (crowd.stranger, answer_about("1 2 3")),
            (crowd.labelers[3], answer_about("4 5 6", answer_id=taken)),
            (crowd.labelers[4], answer_about("4 5 6")),
        ]
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds.count(AnswersOut) == 2
    assert kinds[1:3] == [Invalid, NotFound]
    assert sorted(kind.__name__ for kind in (kinds[0], kinds[3])) == ["AnswersOut", "Conflict"]
    assert Conflict in kinds
    assert isinstance(outcomes[4], AnswersOut)
    assert stored(database) == 2


def test_the_same_answer_sent_twice_at_once_is_one(database: Database) -> None:
    crowd = Crowd(database)
    answer = answer_about("1 2 3")
    outcomes = crowd.at_once([(crowd.labelers[1], answer), (crowd.labelers[1], answer)])
    counted = [(outcome.stored, outcome.repeated) for outcome in outcomes if isinstance(outcome, AnswersOut)]
    assert sorted(counted) == [(0, 1), (1, 0)]
    assert stored(database) == 1


def test_a_request_that_is_given_up_costs_the_others_nothing(database: Database) -> None:
    crowd = Crowd(database)

    async def send() -> AnswersOut:
        first, second = (
            asyncio.create_task(crowd.writer.store(crowd.callers[user], "songs", [answer_about("1 2 3")]))
            for user in crowd.labelers[:2]
        )
        await asyncio.sleep(0)
        first.cancel()
        outcome = await asyncio.wait_for(second, SECONDS)
        await crowd.at_rest()
        return outcome.response

    assert run(send()).stored == 1
    assert not crowd.writer._waiting


def test_without_a_thread_requests_fail_and_later_ones_do_not_wait_for_ever(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd(database)
    requests = [(user, answer_about("1 2 3")) for user in crowd.labelers[:2]]

    async def no_thread(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_in_threadpool", no_thread)
        assert [type(heard) for heard in crowd.at_once(requests)] == [RuntimeError] * 2
    assert [type(heard) for heard in crowd.at_once(requests)] == [AnswersOut] * 2


@pytest.mark.parametrize("projects", [3])
def test_each_project_has_turns_of_its_own(database_url: str, projects: int) -> None:
    database = Database(database_url)
    writer = AnswerWriter(database)
    with database.transaction() as session:
        callers = []
        for i in range(projects):
            project = make_project(session, f"p{i}", n_items=5)
            token = make_session(session, add_member(session, project, Role.LABELER).id)
            callers.append(Caller(session=hash_token(token)))
    senders = [i % projects for i in range(30)]

    async def send() -> list[StoredAnswers]:
        return await asyncio.gather(*(writer.store(callers[i], f"p{i}", [answer_about("0 1 2")]) for i in senders))

    assert all(outcome.response.stored == 1 for outcome in run(send()))
    with database.reading() as session:
        numbers = session.execute(select(Project.key, Project.answer_number)).all()
    database.close()
    assert sorted(numbers) == [(f"p{i}", 10) for i in range(projects)]
