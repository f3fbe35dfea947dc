"""Compresses what is text on its way out: pages, scripts, JSON and tables shrink to a fifth.

Starlette's own middleware compresses everything, recordings and ranges of them too, and in the versions of two years
ago holds events back.
"""

import re
import zlib

from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TEXT = re.compile(r"text/(?!event-stream)|application/(json|problem\+json|x-ndjson|javascript|xml)|image/svg")
LEAST = 1_000  # bytes; less is not worth it
LARGE = 100_000  # bytes; more is compressed in a thread, and other requests go on meanwhile
LEVEL, GZIP = 5, 31


class Compression:
    """Compresses text for those who can read it."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with a `send` that compresses."""
        if scope["type"] == "http" and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            send = _CompressingSend(send)
        await self.app(scope, receive, send)


class _CompressingSend:
    """Passes the messages of one response on, and compresses its body if it is text."""

    def __init__(self, send: Send) -> None:
        """Wrap the `send` of a request."""
        self.send = send
        self.start: Message | None = None
        self.compressor: zlib._Compress | None = None

    async def __call__(self, message: Message) -> None:
        """Pass a message on; the headers wait for the first part of the body, whose size decides."""
        if message["type"] == "http.response.start":
            self.start = message
            return
        if self.start is not None and message["type"] == "http.response.body":
            start, self.start = self.start, None
            self._decide(start, message)
            await self.send(start)
        if self.compressor is not None and message["type"] == "http.response.body":
            body, more = message.get("body", b""), message.get("more_body", False)
            if len(body) > LARGE:
                body = await run_sync(_compress, self.compressor, body, more)
            else:
                body = _compress(self.compressor, body, more)
            message = {**message, "body": body}
        await self.send(message)

    def _decide(self, start: Message, first: Message) -> None:
        headers = MutableHeaders(scope=start)
        body, more = first.get("body", b""), first.get("more_body", False)
        if not TEXT.match(headers.get("content-type", "")) or "content-encoding" in headers or start["status"] == 206:
            return
        headers.add_vary_header("Accept-Encoding")
        if more or len(body) >= LEAST:
            self.compressor = zlib.compressobj(LEVEL, wbits=GZIP)
            headers["Content-Encoding"] = "gzip"
            del headers["Content-Length"]


def _compress(compressor: "zlib._Compress", body: bytes, more: bool) -> bytes:
    return compressor.compress(body) + (b"" if more else compressor.flush())
