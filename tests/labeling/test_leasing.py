"""Turns of requests for questions: those who wait are taken along, and nobody is forgotten."""

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import httpx2 as httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.labeling import dependencies, leasing, queue, service
from tercet.labeling.leasing import AT_ONCE, MOST_TOGETHER, Leasing, QuestionRequest
from tercet.models import Role
from tests.factories import add_member, session_cookie
from tests.labeling.conftest import SONGS, World, ask
from tests.loops import run

LABELERS = 12


def asked(name: object, project: int = 1) -> QuestionRequest:
    access = SimpleNamespace(project=SimpleNamespace(id=project), name=name)
    return QuestionRequest(access, 5, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]


class Lessor:
    """Takes batches, the first ones as long as the door is shut."""

    def __init__(self) -> None:
        self.open, self.batches = threading.Event(), list[list[Any]]()

    def __call__(self, batch: Sequence[QuestionRequest]) -> list[Any]:
        self.batches.append([each.access.name for each in batch])
        self.open.wait(10)
        return [f"for {each.access.name}" for each in batch]


async def when_first_are_busy(ask: Callable[[int], Awaitable[Any]], rest: Sequence[int], lessor: Lessor) -> list[Any]:
    """Let as many ask as may lease at once, then the others, and open the door."""
    tasks = []
    for number in range(AT_ONCE):
        tasks.append(asyncio.ensure_future(ask(number)))
        while len(lessor.batches) <= number:
            await asyncio.sleep(0.001)
    tasks += [asyncio.ensure_future(ask(number)) for number in rest]
    await asyncio.sleep(0)
    lessor.open.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_those_who_wait_for_a_turn_are_taken_along() -> None:
    leases, lessor = Leasing(), Lessor()
    rest = range(AT_ONCE, AT_ONCE + MOST_TOGETHER + 3)

    async def ask(number: int) -> Any:
        return await leases.together(asked(number), lessor)

    got = run(when_first_are_busy(ask, rest, lessor))
    assert got == [f"for {number}" for number in (*range(AT_ONCE), *rest)]
    assert lessor.batches[:AT_ONCE] == [[number] for number in range(AT_ONCE)]
    assert sorted(map(len, lessor.batches[AT_ONCE:])) == [3, MOST_TOGETHER]
    assert leases._waiting == {}


def test_only_those_of_the_same_project_are_taken_along() -> None:
    leases, lessor = Leasing(), Lessor()

    async def ask(number: int) -> Any:
        return await leases.together(asked(number, project=number % 2), lessor)

    run(when_first_are_busy(ask, range(2, 8), lessor))
    assert sorted(lessor.batches[AT_ONCE:]) == [[2, 4, 6], [3, 5, 7]]


def test_a_fault_is_that_of_all_who_were_taken_along() -> None:
    leases, lessor = Leasing(), Lessor()

    def take(batch: Sequence[QuestionRequest]) -> list[Any]:
        if len(lessor(batch)) > 1:
            raise OSError("the database is away")
        return ["questions"]

    async def ask(number: int) -> Any:
        return await leases.together(asked(number), take)

    got = run(when_first_are_busy(ask, range(AT_ONCE, AT_ONCE + 3), lessor))
    assert got[:AT_ONCE] == ["questions"] * AT_ONCE
    assert [str(each) for each in got[AT_ONCE:]] == ["the database is away"] * 3


@pytest.mark.parametrize("given_up", [0, AT_ONCE, AT_ONCE + 1])
def test_others_get_theirs_when_a_request_is_given_up(given_up: int) -> None:
    """One whose turn it is, the one that would take others along, or one that would be taken along."""
    leases, lessor = Leasing(), Lessor()
    tasks: dict[int, asyncio.Task[Any]] = {}

    async def ask(number: int) -> Any:
        tasks[number] = asyncio.create_task(leases.together(asked(number), lessor))
        if len(tasks) == AT_ONCE + 3:
            tasks[given_up].cancel()
        return await tasks[number]

    got = run(when_first_are_busy(ask, range(AT_ONCE, AT_ONCE + 3), lessor))
    assert [each for each in got if not isinstance(each, asyncio.CancelledError)] == [
        f"for {number}" for number in range(AT_ONCE + 3) if number != given_up
    ]
    assert leases._waiting == {}
    assert run(leases.alone(lambda: "free")) == "free"


def test_few_lease_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    leases, under_way, most = Leasing(), 0, 0

    async def watched(take: Callable[..., Any], *values: Any) -> Any:
        nonlocal under_way, most
        under_way, most = under_way + 1, max(most, under_way + 1)
        await asyncio.sleep(0.001)
        under_way -= 1
        return take(*values)

    async def ask(number: int) -> Any:
        if number % 2:
            return await leases.alone(lambda: f"for {number}")
        return await leases.together(asked(number), lambda batch: [f"for {each.access.name}" for each in batch])

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(ask(number) for number in range(20)))

    monkeypatch.setattr(leasing, "run_in_threadpool", watched)
    assert run(all_at_once()) == [f"for {number}" for number in range(20)]
    assert most == AT_ONCE


@pytest.fixture
def cookies(app: FastAPI, world: World) -> list[str]:
    """Labelers' browsers."""
    with app.state.database.transaction() as session:
        people = [add_member(session, world.project, Role.LABELER, f"labeler {i}") for i in range(LABELERS)]
        queue.top_up(session, world.project, 200)
    return [session_cookie(app.state.database, each) for each in people]


def answer_at_once(app: FastAPI, cookies: Sequence[str], triplet: list[str]) -> list[httpx.Response]:
    """Have everybody answer the same question in one moment, and ask for the next ones."""

    async def all_at_once() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        headers = {"Sec-Fetch-Site": "same-origin"}
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", headers=headers) as client:
            forms = [{"id": str(uuid.uuid4()), "triplet": triplet, "answer": "yes", "response_ms": 9} for _ in cookies]
            sent = [
                client.post(f"{SONGS}/answers?ask=3", json=form, headers={"Cookie": f"tercet={cookie}"})
                for form, cookie in zip(forms, cookies, strict=True)
            ]
            return await asyncio.gather(*sent)

    return run(all_at_once())


def test_those_who_answer_at_once_get_different_questions_together(
    app: FastAPI, ada: TestClient, cookies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, real = list[int](), service.next_triplets_together

    def watched(session: Any, storage: Any, asked: Sequence[Any], *others: Any) -> list[Any]:
        sizes.append(len(asked))
        return real(session, storage, asked, *others)

    monkeypatch.setattr(dependencies.service, "next_triplets_together", watched)
    replies = answer_at_once(app, cookies, ask(ada, 1)[0])
    questions = [question for reply in replies for question in reply.json()["next"]["triplets"]]
    assert [reply.status_code for reply in replies] == [201] * LABELERS
    assert len({(first, *sorted(rest)) for first, *rest in (each["triplet"] for each in questions)}) == 3 * LABELERS
    assert [reply.json()["next"]["progress"]["mine"] for reply in replies] == [1] * LABELERS
    assert max(sizes) > 1


def test_the_fault_of_one_is_not_that_of_others(
    app: FastAPI, ada: TestClient, cookies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = service.next_triplets
    failing = list[int]()

    def fail_together(*_: object) -> list[Any]:
        raise RuntimeError("one of them is gone")

    def fail_first(session: Any, storage: Any, access: Any, *others: Any) -> Any:
        if not failing:
            failing.append(access.user_id)
            raise RuntimeError("gone")
        return real(session, storage, access, *others)

    monkeypatch.setattr(dependencies.service, "next_triplets_together", fail_together)
    triplet = ask(ada, 1)[0]
    monkeypatch.setattr(dependencies.service, "next_triplets", fail_first)
    replies = answer_at_once(app, cookies, triplet)
    assert sorted(reply.status_code for reply in replies) == [201] * (LABELERS - 1) + [500]
