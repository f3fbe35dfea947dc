"""The class of routes with JSON bodies: large ones are parsed in a thread, and have a bounded number of values.

A megabyte of JSON holds up to half a million values. Checking so many against a schema takes seconds, during which
the event loop would answer nobody else.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

# What the event loop parses in a tenth of a millisecond.
SMALL_BYTES = 2**14
# A thousand answers have ten thousand.
MOST_VALUES = 15_000


class JsonRoute(APIRoute):
    """A route whose handler gets the body of a `BoundedRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler of the request, behind the bounds."""
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            return await handle(BoundedRequest(request.scope, request.receive))

        return handle_bounded


class BoundedRequest(Request):
    """A request whose JSON is bounded."""

    async def json(self) -> Any:
        """Parse the body; answer 413 where it has too many values."""
        body = await self.body()
        if len(body) <= SMALL_BYTES:
            return json.loads(body)
        value = await run_in_threadpool(_parse, body)
        if value is TOO_MANY:
            raise HTTPException(413, f"The body has more than {MOST_VALUES:,} values: send it in smaller parts.")
        return value


TOO_MANY = object()


def _parse(body: bytes) -> Any:
    # Each value but the first follows one of these signs.
    may_have_too_many = sum(map(body.count, b",:[{")) > MOST_VALUES
    value = json.loads(body)
    return TOO_MANY if may_have_too_many and _has_too_many(value) else value


def _has_too_many(value: object) -> bool:
    waiting, count = [value], 0
    while waiting and count <= MOST_VALUES:
        part = waiting.pop()
        parts = list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else []
        count += len(parts)
        waiting += parts
    return count > MOST_VALUES
