"""Past a bounded wait requests are refused at once, those before them are answered, and slow networks are no load."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI, Request

from tercet.web import shedding
from tercet.web.shedding import LoadShedding
from tests.loops import run

THREADS = 2
MOST_WAIT = 0.5


def make_app() -> FastAPI:
    """An app of two threads, with requests that take and that wait."""
    app = FastAPI()

    @app.get("/work")
    def work() -> str:
        return "done"

    @app.get("/runs/1")
    async def slow() -> str:
        await asyncio.sleep(1.5)
        return "done"

    @app.post("/upload")
    async def upload(request: Request) -> int:
        return len(await request.body())

    @app.get("/healthz")
    async def health() -> str:
        return "ok"

    app.add_middleware(LoadShedding, threads=THREADS, most_wait=MOST_WAIT)
    return app


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(make_app()), base_url="http://tercet")


def test_in_a_rush_nobody_waits_longer_than_the_bound_and_no_thread_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated: a hundred requests a second for twenty seconds, where two threads do twenty a second."""
    at = 0.0
    monkeypatch.setattr(shedding, "time", SimpleNamespace(monotonic=lambda: at))
    doorman = LoadShedding(make_app(), threads=THREADS, most_wait=MOST_WAIT)
    free_at, leaving, waits, refused = [0.0, 0.0], deque[float](), [], 0
    for number in range(2_000):
        at = number / 100
        while leaving and leaving[0] <= at:
            arrived, at = at, leaving.popleft()
            doorman._change(-1)
            at = arrived
        if doorman.expected_wait() > MOST_WAIT:
            refused += 1
            continue
        doorman._change(1)
        free_at[0] = max(free_at[0], at) + 0.1
        leaving.append(free_at[0])
        waits.append(free_at[0] - at)
        free_at.sort()
    assert refused > 1_000
    assert len(waits) > 20 * 20 * 0.95, "twenty a second for twenty seconds"
    assert max(waits) < 2 * MOST_WAIT
    at += 10
    while leaving:
        leaving.popleft()
        doorman._change(-1)
    assert doorman.expected_wait() == 0, "afterwards nobody is refused"


def test_the_first_to_leave_after_a_moment_is_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a database that stood still for a third of a second: a hundred times as many leave soon after."""
    at = 0.0
    monkeypatch.setattr(shedding, "time", SimpleNamespace(monotonic=lambda: at))
    doorman = LoadShedding(make_app(), threads=THREADS)
    for _ in range(100):
        doorman._change(1)
    at = 0.3
    doorman._change(-1)
    assert doorman.expected_wait() == 0
    at = 1.2
    assert doorman.expected_wait() > doorman.most_wait, "one of a hundred in more than a second is one"


def test_health_is_never_refused_nor_what_waits_on_purpose() -> None:
    async def ask() -> None:
        async with client() as http:
            waiting = [asyncio.create_task(http.get("/runs/1")) for _ in range(6)]
            await asyncio.sleep(1.2)
            assert (await http.get("/work")).status_code == 503, "nothing has been answered for a second"
            assert (await http.get("/work?wait=3")).status_code == 503, "only runs are waited for"
            assert (await http.get("/healthz")).status_code == 200
            assert (await http.get("/runs/1?wait=3")).status_code == 200
            assert {response.status_code for response in await asyncio.gather(*waiting)} == {200}

    run(ask())


def test_bodies_that_come_slowly_are_no_load() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x"
            await asyncio.sleep(0.5)

    async def send() -> None:
        async with client() as http:
            sending = [asyncio.create_task(http.post("/upload", content=slowly())) for _ in range(8)]
            await asyncio.sleep(1.2)
            assert (await http.get("/work")).status_code == 200
            assert {response.json() for response in await asyncio.gather(*sending)} == {3}

    run(send())
