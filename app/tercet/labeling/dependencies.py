"""Dependencies of the labeling handlers, beside those of all handlers (`tercet.web.dependencies`)."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from tercet.accounts.access import Caller
from tercet.labeling import service
from tercet.labeling.answer_writer import AnswerWriter
from tercet.labeling.schemas import NextOut
from tercet.web.dependencies import asked_for
from tercet.web.rates import Rates


async def get_answer_writer(request: Request) -> AnswerWriter:
    """Return the writer of answers that all requests of the process share."""
    return request.app.state.answer_writer  # type: ignore[no-any-return]


@dataclass(frozen=True)
class QuestionLeases:
    """Leases the next questions, few requests at a time, and says in the language of the request why there are none."""

    request: Request

    async def lease(self, caller: Caller, project: str, count: int) -> NextOut:
        """Lease so many questions to a caller."""
        state, words = self.request.app.state, asked_for(self.request)

        def lease() -> NextOut:
            with state.database.transaction() as session:
                access = service.admit(session, caller, project)
                seconds = state.settings.triplet_lease_seconds
                return service.next_triplets(session, state.storage, access, count, seconds, words)

        async with state.leasing:
            return await run_in_threadpool(lease)


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
