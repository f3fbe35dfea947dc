"""Open pages are told in words what the server lacks, and when it is there again, on both databases."""

import asyncio
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from tercet.database import Database
from tercet.jobs import lifecycle as job_lifecycle
from tercet.live import feed as feeding
from tercet.live import outages as module
from tercet.live.feed import Feed
from tercet.live.outages import NO_WORKER, Outages, due_and_untouched_since
from tercet.models import BackgroundJob, JobKind, Run, now
from tercet.runs import lifecycle
from tercet.storage import Storage
from tercet.web import readiness as readiness_module
from tercet.web.readiness import WHEN_BACK, Outage, Readiness
from tests.loops import run
from tests.runs.support import get_run, make_songs, request

FULL = "Items and results cannot be stored: Not a directory."


@pytest.fixture
def project(database: Database, storage: Storage) -> int:
    return make_songs(database, storage)


def untouched_since(database: Database) -> object:
    with database.reading() as session:
        return due_and_untouched_since(session)


def test_listeners_hear_of_an_outage_and_of_its_end(
    database: Database, storage: Storage, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(feeding, "OUTAGE_SECONDS", 0.01)
    monkeypatch.setattr(readiness_module, "SECONDS_BETWEEN", 0.0)
    readiness = Readiness(database, storage)
    before = now()

    async def listen() -> list[dict[str, str]]:
        feed = Feed(database, outages=Outages(database, readiness))
        heard = []
        async with feed.listen(project, 99) as first:
            readiness.storage = Storage("/dev/null/blobs")
            heard.append(await asyncio.wait_for(anext(first.messages()), 20))
            async with feed.listen(project, 99) as second:
                heard.append(await asyncio.wait_for(anext(second.messages()), 20))
                readiness.storage = storage
                heard.append(await asyncio.wait_for(anext(second.messages()), 20))
        await feed.close()
        return [message.payload for message in heard if message.kind == "outage"]

    began, to_a_page_that_comes_later, ended = run(listen())
    assert (began["detail"], began["then"]) == (FULL, WHEN_BACK)
    assert before.isoformat() <= began["since"] <= now().isoformat()
    assert to_a_page_that_comes_later == began
    assert ended == {}


def test_readyz_says_since_when_and_what_happens_next(anonymous: TestClient) -> None:
    readiness: Readiness = anonymous.app.state.readiness  # type: ignore[attr-defined]
    assert anonymous.get("/readyz").status_code == 200
    readiness.storage, readiness._next_trial = Storage("/dev/null/blobs"), 0.0
    told = anonymous.get("/readyz").json()
    readiness._next_trial = 0.0
    assert anonymous.get("/readyz").json() == told, "it began when it was first seen"
    assert (told["detail"], told["then"]) == (FULL, WHEN_BACK)


def test_work_that_is_due_and_untouched_is_seen_until_a_worker_is_at_something(
    database: Database, storage: Storage, project: int
) -> None:
    other_project = make_songs(database, storage, key="others")
    assert untouched_since(database) is None, "nothing is due"
    first = request(database, project)
    due_at = get_run(database, first).due_at
    assert untouched_since(database) == due_at
    lifecycle.claim_next(database, 15)
    request(database, other_project)
    assert untouched_since(database) is None, "a worker is busy, and the other run waits for it"
    with database.transaction() as session:
        session.execute(update(Run).where(Run.id == first).values(lease_expires_at=due_at - timedelta(hours=1)))
    assert untouched_since(database) == due_at - timedelta(hours=1), "its worker is gone"
    with database.transaction() as session:
        session.execute(update(Run).values(status="cancelled"))
        job_lifecycle.queue(session, project, JobKind.DRAW_PICTURES)
    assert untouched_since(database) is not None
    job_lifecycle.claim_next(database, 15)
    assert untouched_since(database) is None
    with database.transaction() as session:
        session.execute(update(BackgroundJob).values(lease_expires_at=due_at))
    assert untouched_since(database) == due_at


def test_workers_are_called_away_only_after_a_while(
    database: Database, storage: Storage, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outages = Outages(database, Readiness(database, storage))
    due_at = get_run(database, request(database, project)).due_at
    assert outages.look() is None
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    assert outages.look() == Outage(NO_WORKER, due_at, module.WHEN_WORKERS_ARE_BACK)
    lifecycle.claim_next(database, 15)
    assert outages.look() is None
