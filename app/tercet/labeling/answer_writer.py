"""Writes the answers of concurrent requests in one transaction.

The numbers of a project's answers are given out one transaction after the other, so each waits for those before it.
With fifty labelers most of an answer's time would be waiting, although much work can be shared: looking up the callers,
the items and the state of the project. So answers that come during a transaction wait, and the next transaction checks
and writes all of them. Each request gets its own outcome, after the commit.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import NamedTuple

from fastapi.concurrency import run_in_threadpool

from tercet.accounts.access import Caller
from tercet.database import Database
from tercet.errors import DATABASE_AWAY
from tercet.labeling import second_tabs
from tercet.labeling.schemas import AnswerIn
from tercet.labeling.service import (
    CheckedAnswers,
    SentAnswers,
    StoredAnswers,
    check_answers,
    store_answers,
    until_stored,
)
from tercet.labeling.sql.answers import Overtaken

# Transactions that a thread writes before it is given back. Going through the event loop between two of them would cost
# two waits for the interpreter; but other requests must get a thread, however many answers come.
TRANSACTIONS_IN_A_ROW = 16
Outcome = StoredAnswers | Exception


class _Waiting(NamedTuple):
    """A request whose answers are to be written, and the future of its outcome."""

    request: SentAnswers
    outcome: asyncio.Future[Outcome]


class AnswerWriter:
    """Stores the answers of concurrent requests; the requests of one process share it."""

    def __init__(self, database: Database) -> None:
        """Begin with no request waiting."""
        self.database = database
        # The waiting requests by project; a project has an entry while a thread writes its answers.
        self._waiting: dict[str, list[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()

    async def store(self, caller: Caller, project: str, answers: Sequence[AnswerIn]) -> StoredAnswers:
        """Store the answers, all or none, and return once they are committed."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        with self._lock:
            idle = project not in self._waiting
            self._waiting.setdefault(project, []).append(_Waiting(SentAnswers(caller, answers), future))
        if idle:
            task = asyncio.create_task(self._write_project(project))
            self._tasks.add(task)  # the loop itself keeps only a weak reference
            task.add_done_callback(self._tasks.discard)
        outcome = await future
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _write_project(self, project: str) -> None:
        """Write the answers of one project until none waits."""
        try:
            while await run_in_threadpool(self._write_some, project):
                pass
        except RuntimeError as error:  # no thread can be started now; later requests may get one
            with self._lock:
                batch = self._waiting.pop(project)
            _resolve(batch, [error] * len(batch))

    def _write_some(self, project: str) -> bool:
        """Write several transactions, each with all requests that wait by then; return whether more may wait."""
        for _ in range(TRANSACTIONS_IN_A_ROW):
            with self._lock:
                batch = self._waiting.pop(project)
                if batch:
                    self._waiting[project] = []  # for requests that come from now on
            if not batch:
                return False
            outcomes = self._write(project, [waiting.request for waiting in batch])
            _resolve(batch, outcomes)
        return True

    def _write(self, project: str, requests: Sequence[SentAnswers]) -> list[Outcome]:
        """Store the answers of all requests without a fault in one transaction; return the outcome of each request."""
        try:
            return self._write_unless_overtaken(project, requests)
        except DATABASE_AWAY as error:
            return [error] * len(requests)  # the database cannot be reached, which would fail each of them
        except Exception as error:  # noqa: BLE001 - raised again by the request that it belongs to
            if len(requests) == 1:
                return [error]
            # One by one, so that a fault of one request does not fail the others.
            return [outcome for request in requests for outcome in self._write(project, [request])]

    def _write_unless_overtaken(self, project: str, requests: Sequence[SentAnswers]) -> list[Outcome]:
        try:
            return self._write_together(project, requests, is_overtaken=False)
        except Overtaken:
            return until_stored(lambda: self._write_together(project, requests, is_overtaken=True))

    def _write_together(self, project: str, requests: Sequence[SentAnswers], *, is_overtaken: bool) -> list[Outcome]:
        with self.database.transaction() as session:
            checked = check_answers(session, project, requests)
            accepted = [outcome for outcome in checked if isinstance(outcome, CheckedAnswers)]
            accepted = second_tabs.leave_out(session, accepted, is_overtaken=is_overtaken)
            stored = iter(store_answers(session, accepted) if accepted else [])
        return [next(stored) if isinstance(outcome, CheckedAnswers) else outcome for outcome in checked]


def _resolve(batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
    """Set the outcome of each request, in the event loop that it waits in (tests have several)."""
    for loop in {waiting.outcome.get_loop() for waiting in batch}:
        loop.call_soon_threadsafe(_set_results, loop, batch, outcomes)


def _set_results(loop: asyncio.AbstractEventLoop, batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
    for waiting, outcome in zip(batch, outcomes, strict=True):
        if waiting.outcome.get_loop() is loop and not waiting.outcome.done():  # else its request was given up
            waiting.outcome.set_result(outcome)
