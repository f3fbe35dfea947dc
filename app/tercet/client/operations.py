"""Operations as generators: they yield the calls to send and are sent the responses, so each is written once.

`waiting` makes a method of a client that waits from an operation, and `awaited` one of a client that is awaited.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from tercet.client.errors import NoConnection, Refused

P = ParamSpec("P")
T = TypeVar("T")
# Seconds before a call is sent again, unless the server says how long to wait.
PAUSES = (0.2, 1.0, 3.0, 8.0)
LONGEST_PAUSE = 60.0
# A server that is too busy, or a proxy before one that starts again. The server has done nothing yet.
TRY_AGAIN = {429, 503}
# A proxy that lost the server on the way: it may have done what it was asked.
PERHAPS_DONE = {502, 504}


@dataclass(frozen=True)
class Call:
    """A request below /api/v1; `repeatable` says that sending it twice does the same as sending it once."""

    method: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = True


@dataclass(frozen=True)
class Pause:
    """Some seconds to wait before the next step."""

    seconds: float


Steps = Generator[Call | Pause, httpx.Response | None, T]


def respond(call: Call) -> Steps[httpx.Response]:
    """Return the response to a call, which is sent again where that is safe; raise Refused or NoConnection."""
    for pause in PAUSES:
        try:
            response = yield from _once(call)
        except httpx.TransportError as error:
            if not (call.repeatable or isinstance(error, httpx.ConnectError)):
                raise NoConnection(error) from error
            yield Pause(pause)
            continue
        if not (response.status_code in TRY_AGAIN or (call.repeatable and response.status_code in PERHAPS_DONE)):
            return _accepted(response)
        yield Pause(_seconds_asked_for(response, pause))
    try:
        return _accepted((yield from _once(call)))
    except httpx.TransportError as error:
        raise NoConnection(error) from error


def _once(call: Call) -> Steps[httpx.Response]:
    response = yield call
    assert response is not None, "a call is answered by a response"
    return response


def _accepted(response: httpx.Response) -> httpx.Response:
    if response.is_error:
        raise Refused.of(response)
    return response


def _seconds_asked_for(response: httpx.Response, otherwise: float) -> float:
    """Return what Retry-After says in seconds, within reason."""
    text = response.headers.get("Retry-After", "")
    return min(float(text), LONGEST_PAUSE) if text.isdigit() else otherwise


# What a step came to: the response to a call, or why there is none; neither after a pause.
Outcome = tuple[httpx.Response | None, httpx.TransportError | None]
NOTHING: Outcome = (None, None)


def carry_out(http: httpx.Client, steps: Steps[T]) -> T:
    """Carry out an operation and return its result."""
    outcome = NOTHING
    try:
        while True:
            outcome = _take(http, _next_step(steps, outcome))
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]


async def carry_out_awaited(http: httpx.AsyncClient, steps: Steps[T]) -> T:
    """Carry out an operation in a coroutine and return its result."""
    outcome = NOTHING
    try:
        while True:
            outcome = await _take_awaited(http, _next_step(steps, outcome))
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]


def _take(http: httpx.Client, step: Call | Pause) -> Outcome:
    if isinstance(step, Pause):
        time.sleep(step.seconds)
        return NOTHING
    try:
        return http.request(step.method, step.path, **step.options), None
    except httpx.TransportError as error:
        return None, error


async def _take_awaited(http: httpx.AsyncClient, step: Call | Pause) -> Outcome:
    if isinstance(step, Pause):
        await asyncio.sleep(step.seconds)
        return NOTHING
    try:
        return await http.request(step.method, step.path, **step.options), None
    except httpx.TransportError as error:
        return None, error


def _next_step(steps: Steps[T], outcome: Outcome) -> Call | Pause:
    response, failure = outcome
    return steps.send(response) if failure is None else steps.throw(failure)


def waiting(operation: Callable[Concatenate[Any, P], Steps[T]]) -> Callable[Concatenate[Any, P], T]:
    """Make a method of an operation that waits for the server."""

    @wraps(operation)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return carry_out(self.http, operation(self, *args, **kwargs))

    return method


def awaited(
    operation: Callable[Concatenate[Any, P], Steps[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Make a coroutine method of an operation."""

    @wraps(operation)
    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await carry_out_awaited(self.http, operation(self, *args, **kwargs))

    return method
