"""Answers that come while others are being written are written together, in one transaction.

All answers of a project are numbered one transaction after the other, so that each waits for those before it. With
fifty labelers most of an answer's time would be waiting, and most of the work would be done once for each that could
be done once for all: who sends, which items are meant, where the project stands. Whatever has come by the time the
transaction before has ended is therefore looked up and written at once. Each request still gets its own outcome, and
none before the commit.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from app.accounts.access import Caller
from app.database import Database
from app.labeling.schemas import AnswerIn, AnswersOut
from app.labeling.service import Checked, Sent, check_answers, store_answers

Outcome = AnswersOut | Exception


@dataclass
class _Turns:
    """What waits to be written to one project, and the task that writes it until nothing does."""

    waiting: list[tuple[Sent, asyncio.Future[Outcome]]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Together:
    """Stores the answers of concurrent requests; the requests of one process share it."""

    def __init__(self, database: Database) -> None:
        """Begin with nobody waiting."""
        self.database = database
        self._turns: dict[str, _Turns] = {}

    async def store(self, caller: Caller, project: str, answers: Sequence[AnswerIn]) -> AnswersOut:
        """Store the answers, all or none, and return once they are committed."""
        turns = self._turns.setdefault(project, _Turns())
        heard: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        turns.waiting.append((Sent(caller, answers), heard))
        if turns.task is None:
            turns.task = asyncio.create_task(self._take_turns(project, turns))
        outcome = await heard
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _take_turns(self, project: str, turns: _Turns) -> None:
        while turns.waiting:
            posts, turns.waiting = turns.waiting, []
            outcomes: Sequence[Outcome]
            try:
                outcomes = await run_in_threadpool(self._write, project, [sent for sent, _ in posts])
            except RuntimeError as error:  # no thread can be had; whoever comes later may have one
                outcomes = [error] * len(posts)
            for (_, heard), outcome in zip(posts, outcomes, strict=True):
                if not heard.done():  # else its request was given up
                    heard.set_result(outcome)
        del self._turns[project]

    def _write(self, project: str, sent: Sequence[Sent]) -> list[Outcome]:
        try:
            with self.database.transaction() as session:
                checked = check_answers(session, project, sent)
                right = [one for one in checked if isinstance(one, Checked)]
                stored = iter(store_answers(session, right) if right else [])
        except (OperationalError, NoConnectionFree) as error:
            return [error] * len(sent)  # the database is away, and would be for each of them
        except Exception as error:  # noqa: BLE001 - raised again by the request that it belongs to
            if len(sent) == 1:
                return [error]
            # What is wrong with one must not cost the others anything.
            return [outcome for one in sent for outcome in self._write(project, [one])]
        return [next(stored) if isinstance(one, Checked) else one for one in checked]
