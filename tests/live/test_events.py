"""Events: their numbers, the one poll that feeds all listeners, and the stream over HTTP, on both databases."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx2 as httpx
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import event, select, update

from tercet.database import Database
from tercet.live import events
from tercet.live.feed import MOST_WAITING, Feed, Listener, Message, count_answers
from tercet.models import Answer, Event, Project, Role, Scope, now
from tercet.serve import StreamEndingServer
from tercet.web.health import Measures
from tests.factories import add_member, make_project, make_token
from tests.loops import run
from tests.runs.support import answer_truly, wait_for

SECONDS = 20


@pytest.fixture
def project(database: Database) -> int:
    with database.transaction() as session:
        return make_project(session, n_items=9).id


def record(database: Database, project_id: int, *payloads: int) -> None:
    for payload in payloads:
        with database.transaction() as session:
            events.record(session, project_id, ("project", {"step": payload}))


async def take(listener: Listener, count: int) -> list[Message]:
    """Wait for so many messages."""
    return [await asyncio.wait_for(anext(listener.messages()), SECONDS) for _ in range(count)]


def test_events_are_numbered_without_gaps(database: Database, project: int) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda step: record(database, project, *range(step, step + 10)), range(0, 60, 10)))
    with database.reading() as session:
        assert session.scalars(select(Event.number).order_by(Event.number)).all() == list(range(1, 61))
        assert session.get_one(Project, project).event_number == 60


def test_old_events_go_and_whoever_was_away_for_longer_hears_the_rest(
    database: Database, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_STORED", 10)
    monkeypatch.setattr(events, "PRUNE_EVERY", 5)
    with database.transaction() as session:
        other_project = make_project(session, "other", n_items=3).id
    record(database, other_project, 1, 2)
    record(database, project, *range(1, 24))
    with database.transaction() as session:
        events.record(session, project, ("project", {"step": 24}), ("project", {"step": 25}), ("project", {"step": 26}))
    with database.reading() as session:
        stored = session.execute(select(Event.project_id, Event.number).order_by(Event.project_id, Event.number)).all()
        assert [number for of, number in stored if of == project] == list(range(17, 27))
        assert [number for of, number in stored if of == other_project] == [1, 2]

    async def listen() -> list[Message]:
        feed = Feed(database)
        async with feed.listen(project, 2) as away:
            heard = await take(away, 10)
        await feed.close()
        return heard

    assert [message.payload["step"] for message in run(listen())] == list(range(17, 27))


def test_a_listener_hears_every_event_once_and_in_order(database: Database, project: int) -> None:
    record(database, project, 1, 2, 3)

    async def listen() -> tuple[list[Message], list[Message]]:
        feed = Feed(database)
        async with feed.listen(project, 1) as late, feed.listen(project, 3) as current:
            await asyncio.to_thread(record, database, project, 4, 5)
            heard = await take(late, 4), await take(current, 2)
        await feed.close()
        return heard

    late, current = run(listen())
    assert [(message.number, message.payload["step"]) for message in late] == [(2, 2), (3, 3), (4, 4), (5, 5)]
    assert [message.number for message in current] == [4, 5]


def test_a_hundred_listeners_cost_one_poll(database: Database, project: int) -> None:
    statements: list[str] = []

    async def listen() -> list[list[Message]]:
        feed = Feed(database)
        async with feed.listen(project, 0) as first:
            streams = [feed.listen(project, 0) for _ in range(99)]
            others = [await stream.__aenter__() for stream in streams]
            event.listen(database.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
            await asyncio.to_thread(record, database, project, 1)
            heard = await asyncio.gather(*(take(listener, 1) for listener in [first, *others]))
            assert len(feed.listeners) == 100
            for stream in streams:
                await stream.__aexit__(None, None, None)
        assert not feed.listeners
        await feed.close()
        return heard

    heard = run(listen())
    assert {message.number for [message] in heard} == {1}
    reads = [statement for statement in statements if statement.startswith("SELECT event.")]
    assert len(reads) == 1


def test_nobody_listens_nothing_is_read(database: Database, project: int) -> None:
    async def listen() -> None:
        feed = Feed(database)
        async with feed.listen(project, 0):
            pass
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == "feed of events"]
        await asyncio.wait_for(task, SECONDS)

    run(listen())


def test_new_answers_are_counted(database: Database, project: int) -> None:
    with database.transaction() as session:
        add_member(session, session.get_one(Project, project), Role.LABELER)

    async def listen() -> Message:
        feed = Feed(database)
        async with feed.listen(project, 0) as listener:
            while feed._counts.get(project) is None or feed._counts[project].answers is None:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(answer_truly, database, project, 3)
            [message] = await take(listener, 1)
        await feed.close()
        return message

    message = run(listen())
    assert (message.kind, message.number) == ("answers", None)
    assert message.payload == {"total": 3, "last_hour": 3, "last_minute": 3}


def test_withdrawn_answers_are_not_counted(database: Database, project: int) -> None:
    with database.transaction() as session:
        add_member(session, session.get_one(Project, project), Role.LABELER)
    answer_truly(database, project, 3)
    with database.transaction() as session:
        first = session.scalars(select(Answer).where(Answer.number == 1)).one()
        first.withdrawn_at = first.created_at
        answer_number = session.get_one(Project, project).answer_number
        session.flush()
        assert count_answers(session, project, answer_number) == {"total": 2, "last_hour": 2, "last_minute": 2}


def test_a_listener_that_does_not_read_is_let_go(database: Database, project: int) -> None:
    async def listen() -> list[Message]:
        feed = Feed(database)
        async with feed.listen(project, 0) as listener:
            feed._send({project: [Message("run", {}, number) for number in range(1, MOST_WAITING + 2)]})
            assert listener not in feed.listeners
            heard = [message async for message in listener.messages()]
        await feed.close()
        return heard

    assert [message.number for message in run(listen())] == list(range(1, MOST_WAITING + 1))


def test_closing_ends_every_stream(database: Database, project: int) -> None:
    async def listen() -> None:
        feed = Feed(database)
        async with feed.listen(project, 0) as listener:
            await feed.close()
            assert [message async for message in listener.messages()] == []
        async with feed.listen(project, 0) as late:
            assert [message async for message in late.messages()] == []

    run(asyncio.wait_for(listen(), SECONDS))


def test_the_lag_is_that_of_new_events_alone(database: Database, project: int) -> None:
    record(database, project, 1)
    with database.transaction() as session:
        session.execute(update(Event).values(created_at=now() - timedelta(hours=1)))
    measures = Measures()

    async def listen() -> None:
        feed = Feed(database, measures.event_lag)
        async with feed.listen(project, 0) as away, feed.listen(project, 1) as there:
            await take(away, 1)
            record(database, project, 2, 3)
            await take(there, 2)
        await feed.close()

    run(listen())
    count, total = (measures.registry.get_sample_value(f"tercet_event_lag_seconds_{part}") for part in ("count", "sum"))
    assert count == 2, "one that catches up hears late of what was in time"
    assert 0 <= (total or 0) < 2 * SECONDS


@pytest.fixture
def server(app: FastAPI) -> Iterator[str]:
    """The app behind a real server in a thread; gives its address."""
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=2)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    wait_for(lambda: running.started)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join()


def headers(database: Database, project: int, role: Role = Role.ANALYST, scope: Scope = Scope.READ) -> dict[str, str]:
    with database.transaction() as session:
        token = make_token(session, add_member(session, session.get_one(Project, project), role), scope)
    return {"Authorization": f"Bearer {token}"}


def read(lines: Iterator[str], count: int, until: Callable[[], None] | None = None) -> list[dict[str, str]]:
    """Read so many events off a stream; comments are skipped, and the first one calls `until`."""
    events: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":") and until is not None:
            until()
        elif not line and fields:
            events.append(fields)
            if len(events) == count:
                break
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
    return events


def test_the_stream_resumes_behind_the_last_id(app: FastAPI, server: str, database: Database, project: int) -> None:
    record(database, project, 1, 2, 3)
    address, credentials = f"{server}/api/v1/projects/songs/events", headers(database, project)
    with httpx.stream("GET", address, headers={**credentials, "Last-Event-ID": "1"}, timeout=SECONDS) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        first = read(lines, 2)
        record(database, project, 4)
        first += read(lines, 1)
    assert [(got["event"], got["id"], json.loads(got["data"])) for got in first] == [
        ("project", str(number), {"step": number}) for number in (2, 3, 4)
    ]
    wait_for(lambda: not app.state.feed.listeners)


def test_a_new_stream_begins_with_now(server: str, database: Database, project: int) -> None:
    record(database, project, 1, 2)
    address, credentials = f"{server}/api/v1/projects/songs/events", headers(database, project)
    with httpx.stream("GET", address, headers=credentials, timeout=SECONDS) as stream:
        [got] = read(stream.iter_lines(), 1, until=lambda: record(database, project, 3))
    assert got["id"] == "3"


def test_streams_end_when_the_server_stops(app: FastAPI, database: Database, project: int) -> None:
    credentials = headers(database, project)
    running = StreamEndingServer(app, uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=running.run)
    thread.start()
    wait_for(lambda: running.started)
    address = f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/api/v1/projects/songs/events"
    with httpx.stream("GET", address, headers=credentials, timeout=SECONDS) as stream:
        wait_for(lambda: app.state.feed.listeners)
        running.should_exit = True
        assert [line for line in stream.iter_lines() if line] == [": listening"]
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert not app.state.feed.listeners


@pytest.mark.parametrize(
    ("role", "scope", "sent", "status"),
    [
        (None, Scope.READ, "", 401),
        (Role.LABELER, Scope.OWN, "", 403),
        (Role.ANALYST, Scope.LABEL, "", 403),
        (Role.ANALYST, Scope.READ, "yesterday", 422),
    ],
)
def test_a_stream_is_refused_before_it_begins(
    app: FastAPI,
    server: str,
    database: Database,
    project: int,
    role: Role | None,
    scope: Scope,
    sent: str,
    status: int,
) -> None:
    credentials = {} if role is None else headers(database, project, role, scope)
    address = f"{server}/api/v1/projects/songs/events"
    answer = httpx.get(address, headers={**credentials, "Last-Event-ID": sent}, timeout=SECONDS)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert not app.state.feed.listeners
