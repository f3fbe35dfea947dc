"""Lets few requests lease questions at a time, and takes those along that wait for their turn.

More at a time would only compete for the interpreter, open more connections, which are slow at first, and delay the
answers. So requests take turns. Where many come, most of what a labeler waits for would be the turns of others: the one
whose turn it is leases for those of its project that wait behind it too, in one transaction.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from fastapi.concurrency import run_in_threadpool

from tercet.accounts.access import LabelerAccess
from tercet.labeling.schemas import ProgressOut
from tercet.labeling.service import Taken
from tercet.web.languages import Words

AT_ONCE = 2
# More would wait longer for the last of them than for another turn.
MOST_TOGETHER = 16
T = TypeVar("T")
Outcome = Taken | Exception


class QuestionRequest(NamedTuple):
    """A labeler whose answers were stored, how many questions they want, the language of texts, and their progress."""

    access: LabelerAccess
    questions: int
    words: Words
    progress: ProgressOut


Take = Callable[[Sequence[QuestionRequest]], Sequence[Outcome]]


@dataclass(eq=False)
class _Turn:
    """A request that waits for its questions."""

    asked: QuestionRequest
    outcome: asyncio.Future[Outcome]


class Leasing:
    """The turns of the requests of one process."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._turns = asyncio.Semaphore(AT_ONCE)
        # Those who may be taken along, by the project's id, in the order in which they came.
        self._waiting: dict[int, list[_Turn]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def alone(self, take: Callable[[], T]) -> T:
        """Run a function in a thread when it is its turn."""
        async with self._turns:
            return await run_in_threadpool(take)

    async def together(self, asked: QuestionRequest, take: Take) -> Taken:
        """Have questions leased by a function in a thread, which gets all who wait in the same project."""
        own, project_id = _Turn(asked, asyncio.get_running_loop().create_future()), asked.access.project.id
        self._waiting.setdefault(project_id, []).append(own)
        try:
            async with self._turns:
                if own in self._waiting.get(project_id, ()):  # else it was taken along
                    await self._begin(self._next(own, project_id), take)
        except asyncio.CancelledError:
            self._forget(own, project_id)
            raise
        outcome = await own.outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _begin(self, batch: Sequence[_Turn], take: Take) -> None:
        task = asyncio.create_task(_take(batch, take))
        self._tasks.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)  # others wait for it too, whatever becomes of this request

    def _forget(self, turn: _Turn, project_id: int) -> None:
        left = [waiting for waiting in self._waiting.pop(project_id, ()) if waiting is not turn]
        if left:
            self._waiting[project_id] = left

    def _next(self, first: _Turn, project_id: int) -> list[_Turn]:
        """Take from those who wait the one whose turn it is, and those behind it."""
        others = [waiting for waiting in self._waiting.pop(project_id) if waiting is not first]
        if left := others[MOST_TOGETHER - 1 :]:
            self._waiting[project_id] = left
        return [first, *others[: MOST_TOGETHER - 1]]


async def _take(batch: Sequence[_Turn], take: Take) -> None:
    try:
        outcomes = await run_in_threadpool(take, [waiting.asked for waiting in batch])
    except Exception as error:  # noqa: BLE001 - raised again by each request
        outcomes = [error] * len(batch)
    for waiting, outcome in zip(batch, outcomes, strict=True):
        if not waiting.outcome.done():  # else its request was given up
            waiting.outcome.set_result(outcome)
