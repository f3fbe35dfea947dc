"""Refuses requests that would wait too long, so that those before them are answered and nobody's browser gives up.

By Little's law the mean time in a system is the number in it divided by how many leave it a second. A labeling page
that is refused goes on with the questions that it has, and sends its answers again after `Retry-After`.
"""

import math
import time
from collections import deque

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tercet.errors import Overloaded
from tercet.web.errors import answer_problem
from tercet.web.rates import FREE

MOST_WAIT_SECONDS = 5.0
# The rate at which requests leave is that of so many seconds.
WINDOW_SECONDS = 5.0
# A rush is judged after this part of the bound: the first to leave after many were held up for a moment says nothing.
JUDGED_AFTER = 0.2
LONGEST_RETRY = 30


class LoadShedding:
    """Answers 503 while requests would wait longer than a bound. Below one request for each thread none is refused."""

    def __init__(self, app: ASGIApp, threads: int, most_wait: float = MOST_WAIT_SECONDS) -> None:
        """Wrap an app."""
        self.app = app
        self.threads = threads
        self.most_wait = most_wait
        self.inside = 0
        self.left: deque[float] = deque()  # when requests got their responses, within the window
        self.busy_since: float | None = None  # since when there are more requests than threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 503."""
        if scope["type"] != "http" or scope["path"].startswith(FREE) or _waits_on_purpose(scope):
            await self.app(scope, receive, send)
            return
        wait = self.expected_wait()
        if wait > self.most_wait:
            problem = Overloaded(retry_after=min(LONGEST_RETRY, math.ceil(min(wait, LONGEST_RETRY))))
            await answer_problem(Request(scope), problem)(scope, receive, send)
            return
        await self._pass_on(scope, receive, send)

    def expected_wait(self) -> float:
        """Return how many seconds one more request would take; 0 while there is a thread for each."""
        if self.busy_since is None:
            return 0.0
        at = time.monotonic()
        while self.left and self.left[0] < at - WINDOW_SECONDS:
            self.left.popleft()
        seconds = min(WINDOW_SECONDS, at - self.busy_since)
        if seconds < JUDGED_AFTER * self.most_wait:
            return 0.0
        return self.inside * seconds / len(self.left) if self.left else seconds

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the request from when its body is there to when its response begins: slow networks are no load."""
        counted = done = False

        def enter() -> None:
            nonlocal counted
            counted = True
            self._change(1)

        def leave() -> None:
            nonlocal done
            if counted and not done:
                done = True
                self._change(-1)

        async def receiving() -> Message:
            message = await receive()
            if not counted and not message.get("more_body", False):
                enter()
            return message

        async def sending(message: Message) -> None:
            leave()
            await send(message)

        if not _has_body(scope):
            enter()
        try:
            await self.app(scope, receiving, sending)
        finally:
            leave()

    def _change(self, by: int) -> None:
        self.inside += by
        at = time.monotonic()
        if by < 0:
            self.left.append(at)
        if self.inside <= self.threads:
            self.busy_since = None
            self.left.clear()
        elif self.busy_since is None:
            self.busy_since = at


def _waits_on_purpose(scope: Scope) -> bool:
    """Return whether a program waits for a run to end, which takes no thread."""
    return b"wait=" in scope["query_string"] and "/runs/" in scope["path"]


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
