"""Writes the answers of concurrent requests in one transaction.

All answers of a project are numbered one transaction after the other, so each waits for those before it. With fifty
labelers most of an answer's time would be waiting, and most of the work could be done once for many: who sends, which
items are meant, where the project stands. So answers that come while a transaction is being written wait, and the
next one checks and writes all of them. Each request gets its own outcome, and none before the commit.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import NamedTuple

from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from tercet.accounts.access import Caller
from tercet.database import Database
from tercet.labeling.schemas import AnswerIn, AnswersOut
from tercet.labeling.service import CheckedAnswers, SentAnswers, check_answers, store_answers, until_stored

# So many transactions a thread writes before it is given back: in the event loop between two of them it would wait
# for the interpreter twice, but other requests must get a thread however many answers come.
TRANSACTIONS_IN_A_ROW = 16
Outcome = AnswersOut | Exception


class _Waiting(NamedTuple):
    """A request whose answers are to be written, and the future of its outcome."""

    request: SentAnswers
    outcome: asyncio.Future[Outcome]


class AnswerWriter:
    """Stores the answers of concurrent requests; the requests of one process share it."""

    def __init__(self, database: Database) -> None:
        """Begin with no request waiting."""
        self.database = database
        # The requests that wait, by project, for each project whose answers a thread is writing.
        self._waiting: dict[str, list[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()

    async def store(self, caller: Caller, project: str, answers: Sequence[AnswerIn]) -> AnswersOut:
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
        """Write the answers about one project until none waits."""
        try:
            while await run_in_threadpool(self._write_some, project):
                pass
        except RuntimeError as error:  # no thread can be had; later requests may get one
            with self._lock:
                batch = self._waiting.pop(project)
            _resolve(batch, [error] * len(batch))

    def _write_some(self, project: str) -> bool:
        """Write a row of transactions, each with all requests that wait by then; return whether more may wait."""
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
        """Return the outcome of each request after the transaction that stored what is right of them."""
        try:
            return until_stored(lambda: self._write_together(project, requests))
        except (OperationalError, NoConnectionFree) as error:
            return [error] * len(requests)  # the database is away, and would be for each of them
        except Exception as error:  # noqa: BLE001 - raised again by the request that it belongs to
            if len(requests) == 1:
                return [error]
            # What is wrong with one request must not cost the others anything.
            return [outcome for request in requests for outcome in self._write(project, [request])]

    def _write_together(self, project: str, requests: Sequence[SentAnswers]) -> list[Outcome]:
        with self.database.transaction() as session:
            checked = check_answers(session, project, requests)
            accepted = [outcome for outcome in checked if isinstance(outcome, CheckedAnswers)]
            stored = iter(store_answers(session, accepted) if accepted else [])
        return [next(stored) if isinstance(outcome, CheckedAnswers) else outcome for outcome in checked]


def _resolve(batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
    """Hand each request its outcome, in the event loop that it waits in: tests have several."""
    for loop in {waiting.outcome.get_loop() for waiting in batch}:
        loop.call_soon_threadsafe(_set_results, loop, batch, outcomes)


def _set_results(loop: asyncio.AbstractEventLoop, batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
    for waiting, outcome in zip(batch, outcomes, strict=True):
        if waiting.outcome.get_loop() is loop and not waiting.outcome.done():  # else its request was given up
            waiting.outcome.set_result(outcome)
