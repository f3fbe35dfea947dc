"""Dependencies of the labeling handlers, beside those of all handlers (`tercet.web.dependencies`)."""

import asyncio
from typing import Annotated

from fastapi import Depends, Request

from tercet.labeling.answer_writer import AnswerWriter
from tercet.web.rates import Rates


async def get_answer_writer(request: Request) -> AnswerWriter:
    """Return the writer of answers that all requests of the process share."""
    return request.app.state.answer_writer  # type: ignore[no-any-return]


async def get_leasing(request: Request) -> asyncio.Semaphore:
    """Return the semaphore that limits how many requests lease questions at a time."""
    return request.app.state.leasing  # type: ignore[no-any-return]


async def get_rates(request: Request) -> Rates:
    """Return what counts the app's requests."""
    rates: Rates = request.app.state.rates
    return rates


Writer = Annotated[AnswerWriter, Depends(get_answer_writer)]
Leasing = Annotated[asyncio.Semaphore, Depends(get_leasing)]
Counted = Annotated[Rates, Depends(get_rates)]
