"""Dependencies of the labeling handlers, beside those of all handlers (`tercet.web.dependencies`)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from tercet.accounts.access import Caller, LabelerAccess
from tercet.labeling import service
from tercet.labeling.answer_writer import AnswerWriter
from tercet.labeling.schemas import NextOut
from tercet.web.dependencies import asked_for
from tercet.web.rates import Rates

# Most top-ups that a request waits for. More than one when others take what was added, or all of it is about items that
# the labeler has flagged.
TOP_UPS = 3
# Gives the access of the one who is to get questions, or raises.
Admission = Callable[[Session], LabelerAccess]


async def get_answer_writer(request: Request) -> AnswerWriter:
    """Return the writer of answers that all requests of the process share."""
    return request.app.state.answer_writer  # type: ignore[no-any-return]


@dataclass(frozen=True)
class QuestionLeases:
    """Leases the next questions, few requests at a time, and says in the language of the request why there are none."""

    request: Request

    async def lease(self, caller: Caller, project: str, count: int) -> NextOut:
        """Lease so many questions to a caller; only if there is none, wait until the queue is topped up."""
        return await self._lease(partial(service.admit, caller=caller, project_key=project), count)

    async def lease_to(self, access: LabelerAccess, count: int) -> NextOut:
        """Lease questions as `lease` does, to somebody whom the request has admitted already."""
        return await self._lease(lambda _: access, count)

    async def _lease(self, admit: Admission, count: int) -> NextOut:
        taken = await self._take(admit, count)
        for _ in range(TOP_UPS):
            if taken.short_project is None:
                break
            topped_up = self.request.app.state.top_ups.order(taken.short_project)
            if taken.questions.triplets:
                break
            # Others wait for it too, whatever becomes of this request.
            await asyncio.shield(asyncio.wrap_future(topped_up))
            taken = await self._take(admit, count)
        return taken.questions

    async def _take(self, admit: Admission, count: int) -> service.Taken:
        state, words = self.request.app.state, asked_for(self.request)

        def take() -> service.Taken:
            with state.database.transaction() as session:
                access = admit(session)
                seconds = state.settings.triplet_lease_seconds
                heads = state.queue_heads
                return service.next_triplets(session, state.storage, access, count, seconds, words, heads)

        async with state.leasing:
            return await run_in_threadpool(take)


async def get_questions(request: Request) -> QuestionLeases:
    """Return what leases questions."""
    return QuestionLeases(request)


async def get_rates(request: Request) -> Rates:
    """Return what counts the app's requests."""
    rates: Rates = request.app.state.rates
    return rates


Writer = Annotated[AnswerWriter, Depends(get_answer_writer)]
Questions = Annotated[QuestionLeases, Depends(get_questions)]
Counted = Annotated[Rates, Depends(get_rates)]
