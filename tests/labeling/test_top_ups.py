"""Requests only take questions; whoever gets none waits for a top-up, and hears of an end only when there is one."""

import asyncio
import threading
from types import SimpleNamespace

import httpx2 as httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.labeling import queue, queue_heads, top_ups
from tercet.models import Item, Project, Role, Triplet, now
from tests.factories import add_member, make_project, session_cookie
from tests.labeling.conftest import SONGS, World, ask, give
from tests.loops import run
from tests.runs.support import wait_for

LABELERS = 30


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that topped up a queue."""
    names, top_up = list[str](), queue.top_up

    def noting(*arguments: object) -> int:
        names.append(threading.current_thread().name)
        return top_up(*arguments)

    monkeypatch.setattr(queue, "top_up", noting)
    return names


def test_who_finds_a_short_queue_gets_what_is_there_and_the_next_request_more(
    app: FastAPI, ada: TestClient, world: World, threads: list[str]
) -> None:
    with app.state.database.transaction() as session:
        n_queued = queue.top_up(session, world.project, 2)  # the same may be drawn twice
    first = ada.get(f"{SONGS}/triplets/next?n=5").json()
    assert (len(first["triplets"]), first["left"], first["reason"]) == (n_queued, None, None)
    again = wait_for(lambda: (more := ask(ada)) and len(more) == 5 and more)
    assert again[:n_queued] == [question["triplet"] for question in first["triplets"]]
    assert all(name.startswith("top-ups") for name in threads[1:])


def test_a_busy_queue_gets_what_it_lacks_before_it_is_short(
    app: FastAPI, ada: TestClient, ben: TestClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_heads, "FROM_THE_TOP", 0)
    monkeypatch.setattr(top_ups, "RESERVE", 25)
    monkeypatch.setattr(top_ups, "LOOK_SECONDS", 0)
    with app.state.database.transaction() as session:
        n_queued = queue.top_up(session, world.project, queue.TOP_UP)
    added: list[int] = []
    monkeypatch.setattr(queue, "top_up", lambda session, project, count: added.append(count))
    assert len(ask(ben, n_queued - 30)) == n_queued - 30
    wait_for(lambda: not app.state.top_ups._under_way)
    assert not added, "there are thirty left"
    assert len(ask(ada, 10)) == 10
    wait_for(lambda: added == [5])


def test_a_busy_queue_is_looked_at_few_times_and_a_quiet_one_never(
    app: FastAPI, anonymous: TestClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, added = [100.0], list[int]()
    for module in (top_ups, queue_heads):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(queue, "top_up", lambda session, project, count: added.append(count))

    def keep_up() -> None:
        app.state.top_ups.keep_up(world.project.id)
        app.state.top_ups.close()

    for _ in range(queue_heads.FROM_THE_TOP):
        app.state.queue_heads.begin_behind(world.project.id)
        keep_up()
    assert not added
    app.state.queue_heads.begin_behind(world.project.id)
    for passed, looks in ((0, 1), (0.1, 1), (top_ups.LOOK_SECONDS, 2)):
        now[0] += passed
        keep_up()
        assert added == [top_ups.RESERVE] * looks


def test_many_at_once_in_a_new_project_all_get_questions_and_wait_for_few_top_ups(
    app: FastAPI, anonymous: TestClient, threads: list[str]
) -> None:
    with app.state.database.transaction() as session:
        project = make_project(session, n_items=200)
        people = [add_member(session, project, Role.LABELER, f"L{i}") for i in range(LABELERS)]
    cookies = [session_cookie(app.state.database, person) for person in people]

    async def ask_at_once() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=str(anonymous.base_url)) as client:
            asked = (client.get(f"{SONGS}/triplets/next", headers={"Cookie": f"tercet={cookie}"}) for cookie in cookies)
            return await asyncio.gather(*asked)

    on_screens = [response.json()["triplets"] for response in run(ask_at_once())]
    assert min(map(len, on_screens)) > 0
    assert len(set(threads)) == 1, "and none in a request"
    assert len(threads) < LABELERS


def answer_all(client: TestClient) -> str:
    """Answer until nothing is left, and give the reason."""
    while questions := ask(client, 100):
        for triplet in questions:
            give(client, triplet)
    return str(client.get(f"{SONGS}/triplets/next").json()["reason"])


@pytest.fixture
def tiny(app: FastAPI, world: World) -> None:
    """Leave four of the twelve items."""
    with app.state.database.transaction() as session:
        session.execute(update(Item).where(Item.position >= 4).values(set_aside_at=now()))


@pytest.mark.usefixtures("tiny")
def test_the_end_comes_with_the_last_possible_question(ada: TestClient) -> None:
    assert ask(ada, 100)
    last = wait_for(lambda: (told := ada.get(f"{SONGS}/triplets/next?n=100").json())["left"] and told)
    assert last["left"] == len(last["triplets"]) == 12
    assert "has been answered" in answer_all(ada)


@pytest.mark.usefixtures("tiny")
def test_nothing_is_left_until_an_item_comes_back(app: FastAPI, ada: TestClient) -> None:
    answer_all(ada)
    with app.state.database.transaction() as session:
        session.execute(update(Item).where(Item.position == 4).values(set_aside_at=None))
    assert ask(ada)


@pytest.mark.usefixtures("tiny")
def test_a_raised_redundancy_asks_others_again_once_nothing_new_is_left(
    app: FastAPI, ada: TestClient, ben: TestClient
) -> None:
    answer_all(ada)
    assert not ask(ben)
    with app.state.database.transaction() as session:
        session.execute(update(Project).values(redundancy=2))
    assert not ask(ada), "she has answered all"
    assert len(ask(ben, 100)) == 12


def test_a_question_that_was_deleted_with_the_queue_is_no_end(app: FastAPI, ada: TestClient, ben: TestClient) -> None:
    assert len(ask(ben, 100)) > 20
    wait_for(lambda: len(ask(ada, 10)) == 10)
    with app.state.database.transaction() as session:
        asked = set(session.scalars(select(Triplet.anchor_id)))
        session.execute(update(Item).where(Item.id.in_(sorted(asked)[3:])).values(set_aside_at=now()))
        session.execute(Triplet.__table__.delete())
    assert ask(ada)


def test_a_request_that_goes_away_takes_no_top_up_from_the_others(
    app: FastAPI, anonymous: TestClient, world: World
) -> None:
    headers = {"Cookie": f"tercet={session_cookie(app.state.database, world.ada)}"}
    top_ups, may_go_on = app.state.top_ups, threading.Event()
    top_ups._thread.submit(may_go_on.wait, 30)

    async def leave_and_stay() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=str(anonymous.base_url), headers=headers) as client:
            leaving = asyncio.create_task(client.get(f"{SONGS}/triplets/next"))
            while not top_ups._under_way:
                await asyncio.sleep(0.01)
            leaving.cancel()
            await asyncio.wait([leaving])
            staying = asyncio.create_task(client.get(f"{SONGS}/triplets/next"))
            await asyncio.sleep(0.1)
            may_go_on.set()
            return await staying

    assert len(run(leave_and_stay()).json()["triplets"]) == 5


def test_the_more_find_too_few_the_larger_the_next_top_up(
    app: FastAPI, anonymous: TestClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    added, may_go_on = list[int](), threading.Event()
    monkeypatch.setattr(queue, "top_up", lambda session, project, count: added.append(count))
    order = app.state.top_ups.order
    for n_orders, expected in ((1, 1), (3, 3), (50, 10), (1, 1)):
        may_go_on.clear()
        app.state.top_ups._thread.submit(may_go_on.wait, 30)
        orders = {order(world.project.id) for _ in range(n_orders)}
        may_go_on.set()
        [top_up] = orders
        top_up.result(timeout=10)
        assert added.pop() == expected * queue.TOP_UP
