"""Connections with bounds: how many an address may have, and how long and how much each may keep the server waiting.

uvicorn bounds only how long a connection may be idle between two requests. Without more, a thousand connections that
never end their first line use up the server's descriptors, and nobody else gets in.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# From the first byte of a request, or from the connection, to the end of its headers.
HEAD_SECONDS = 10.0
MOST_HEAD_BYTES = 2**16
# A body has to bring so many bytes in so many seconds while the server reads, and a reader has to take what was sent.
BODY_SECONDS, BODY_BYTES = 20.0, 20_000
UNREAD_SECONDS = 60.0
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b"
)
TOO_MANY = b"There are too many connections, or too many from your address. Try again in a moment."


class BoundedConnection(HttpToolsProtocol):
    """One connection; its subclass, made by `bounded_connections`, holds what all of a server share."""

    most: ClassVar[int]
    most_per_address: ClassVar[int]
    open_by_address: ClassVar[Counter[str]]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Begin without a deadline."""
        super().__init__(*arguments, **named)
        self.address: str | None = None  # None: not counted
        self.in_head = True
        self.head_bytes = 0
        self.body_bytes = 0
        self.reading: asyncio.TimerHandle | None = None
        self.unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, or refuse it."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if self.open_by_address.total() >= self.most or self.open_by_address[address] >= self.most_per_address:
            transport.write(FULL % (len(TOO_MANY), TOO_MANY))
            transport.close()
            return
        self.address = address
        self.open_by_address[address] += 1
        self._expect(HEAD_SECONDS, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its deadlines."""
        self._expect_nothing()
        if self.unread is not None:
            self.unread.cancel()
        if self.address is not None:
            self.open_by_address[self.address] -= 1
            if not self.open_by_address[self.address]:
                del self.open_by_address[self.address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the headers have become too long."""
        super().data_received(data)
        if not self.in_head:
            self.body_bytes += len(data)
            return
        self.head_bytes += len(data)
        if self.head_bytes > MOST_HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Expect the headers to end soon."""
        super().on_message_begin()
        self.in_head, self.head_bytes = True, 0
        if self.reading is None:
            self._expect(HEAD_SECONDS, self._head_is_late)

    def on_headers_complete(self) -> None:
        """Expect the body to come at a pace."""
        self.in_head, self.body_bytes = False, 0
        self._expect(BODY_SECONDS, self._watch_body)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect nothing until the next request."""
        self._expect_nothing()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Expect the client to read what was sent."""
        super().pause_writing()
        if self.unread is None:
            self.unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Expect nothing of the client's reading."""
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def _expect(self, seconds: float, otherwise: Callable[[], None]) -> None:
        self._expect_nothing()
        self.reading = self.loop.call_later(seconds, otherwise)

    def _expect_nothing(self) -> None:
        if self.reading is not None:
            self.reading.cancel()
            self.reading = None

    def _head_is_late(self) -> None:
        self._close_unless_paused(self._head_is_late, HEAD_SECONDS)

    def _watch_body(self) -> None:
        enough, self.body_bytes = self.body_bytes >= BODY_BYTES, 0
        if enough:
            self._expect(BODY_SECONDS, self._watch_body)
        else:
            self._close_unless_paused(self._watch_body, BODY_SECONDS)

    def _close_unless_paused(self, look_again: Callable[[], None], seconds: float) -> None:
        """Close, unless it is the server that does not read."""
        if self.flow.read_paused:
            self._expect(seconds, look_again)
        else:
            self.transport.close()


def bounded_connections(most: int, most_per_address: int) -> type[BoundedConnection]:
    """Make the class of one server's connections."""
    shared = {"most": most, "most_per_address": most_per_address, "open_by_address": Counter()}
    return type("Connection", (BoundedConnection,), shared)
