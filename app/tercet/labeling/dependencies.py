"""Dependencies of the labeling handlers, beside those of all handlers (`tercet.web.dependencies`)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from tercet.accounts.access import Caller, LabelerAccess
from tercet.errors import DATABASE_AWAY
from tercet.labeling import service
from tercet.labeling.answer_writer import AnswerWriter
from tercet.labeling.leasing import Leasing, Outcome, QuestionRequest
from tercet.labeling.schemas import NextOut, ProgressOut
from tercet.web.dependencies import asked_for
from tercet.web.languages import Words
from tercet.web.rates import Rates

log = logging.getLogger(__name__)

# Most top-ups that a request waits for. More than one when others take what was added, or all of it is about items that
# the labeler has flagged.
TOP_UPS = 3


async def get_answer_writer(request: Request) -> AnswerWriter:
    """Return the writer of answers that all requests of the process share."""
    return request.app.state.answer_writer  # type: ignore[no-any-return]


@dataclass(frozen=True)
class QuestionLeases:
    """Leases the next questions, few requests at a time, and says in the language of the request why there are none."""

    request: Request

    async def lease(self, caller: Caller, project: str, count: int) -> NextOut:
        """Lease so many questions to a caller; only if there is none, wait until the queue is topped up."""
        return await self._topping_up(lambda: self._leasing.alone(lambda: self._admit(caller, project, count)))

    async def lease_to(self, access: LabelerAccess, count: int, progress: ProgressOut) -> NextOut:
        """Lease questions as `lease` does, to somebody whose answers the request has stored just before."""
        asked = QuestionRequest(access, count, asked_for(self.request), progress)
        return await self._topping_up(lambda: self._leasing.together(asked, self._take_together))

    @property
    def _leasing(self) -> Leasing:
        return self.request.app.state.leasing  # type: ignore[no-any-return]

    async def _topping_up(self, take: Callable[[], Awaitable[service.Taken]]) -> NextOut:
        top_ups, taken = self.request.app.state.top_ups, await take()
        top_ups.keep_up(taken.project_id)
        for _ in range(TOP_UPS):
            if not taken.is_short:
                break
            topped_up = top_ups.order(taken.project_id)
            if taken.questions.triplets:
                break
            # Others wait for it too, whatever becomes of this request.
            await asyncio.shield(asyncio.wrap_future(topped_up))
            taken = await take()
        return taken.questions

    def _admit(self, caller: Caller, project: str, count: int) -> service.Taken:
        words = asked_for(self.request)
        with self.request.app.state.database.transaction() as session:
            return self._take(session, service.admit(session, caller, project), count, words)

    def _take(
        self, session: Session, access: LabelerAccess, count: int, words: Words, progress: ProgressOut | None = None
    ) -> service.Taken:
        state = self.request.app.state
        seconds, heads = state.settings.triplet_lease_seconds, state.queue_heads
        return service.next_triplets(session, state.storage, access, count, seconds, words, heads, progress)

    def _take_together(self, asked: Sequence[QuestionRequest]) -> list[Outcome]:
        taken = self._lease_together(asked) if len(asked) > 1 else [None]
        return [own or self._take_alone(each) for own, each in zip(taken, asked, strict=True)]

    def _lease_together(self, asked: Sequence[QuestionRequest]) -> Sequence[service.Taken | None]:
        state, wanted = self.request.app.state, [(each.access, each.questions, each.progress) for each in asked]
        seconds, heads = state.settings.triplet_lease_seconds, state.queue_heads
        try:
            with state.database.transaction() as session:
                return service.next_triplets_together(session, state.storage, wanted, seconds, heads)
        except DATABASE_AWAY:
            raise  # the database cannot be reached, which would fail each of them
        except Exception:
            # One by one, so that the fault of one fails nobody else: somebody may have been erased meanwhile.
            log.warning("Questions could not be leased to %d labelers together", len(asked), exc_info=True)
            return [None] * len(asked)

    def _take_alone(self, asked: QuestionRequest) -> Outcome:
        try:
            with self.request.app.state.database.transaction() as session:
                return self._take(session, *asked)
        except Exception as error:  # noqa: BLE001 - raised again by the request that it belongs to
            return error


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
