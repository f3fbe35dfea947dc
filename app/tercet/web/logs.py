"""Logs one line a request, and adds the request id to every line; secrets in addresses are masked."""

import json
import logging
import math
import random
import re
import threading
import time
from datetime import UTC, datetime
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tercet.request_context import client_address, request_id

access = logging.getLogger("tercet.access")

PLAIN = "%(asctime)s %(levelname)s %(request_id)s %(name)s: %(message)s"
MOST_KINDS = 1_000
USABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
SECRET_PATH = re.compile(r"^(/(?:sign-in|join|invitation))/.+", re.DOTALL)


def shown_path(path: str) -> str:
    """Return a path for a log line: on one line, and without the token of a link."""
    return quote(SECRET_PATH.sub(r"\1/...", path))


class WithRequestId(logging.Filter):
    """Gives every record the id of the request that is handled now."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the id; keep the record."""
        record.request_id = request_id.get()
        return True


class OneASecond(logging.Filter):
    """Lets each kind of warning through once a second: an outage would fill the disk with what every request says."""

    def __init__(self) -> None:
        """Begin with nothing logged."""
        super().__init__()
        self._lock = threading.Lock()
        # When each kind was logged last, and how many were left out since.
        self._logged: dict[tuple[str, str, object], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is the first of its kind within a second; it says how many were not."""
        if record.levelno < logging.WARNING:
            return True
        kind, moment = (record.name, str(record.msg), record.exc_info and record.exc_info[0]), time.monotonic()
        with self._lock:
            at, left_out = self._logged.get(kind, (-math.inf, 0))
            if moment < at + 1:
                self._logged[kind] = (at, left_out + 1)
                return False
            if len(self._logged) >= MOST_KINDS:
                self._logged.clear()
            self._logged[kind] = (moment, 0)
        if left_out:
            record.msg = f"{record.msg} ({left_out} more of this kind are left out)"
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line, for log collectors."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "request": getattr(record, "request_id", "-"),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure(level: str, as_json: bool) -> None:
    """Send the log of this process to standard error."""
    handler = logging.StreamHandler()
    handler.addFilter(OneASecond())
    handler.addFilter(WithRequestId())
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter(PLAIN))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for talkative in ("alembic", "uvicorn"):
        logging.getLogger(talkative).setLevel(max(logging.WARNING, logging.getLogger().level))


class RequestLog:
    """Names each request, logs it when its response has ended, and counts it."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, watching its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get("x-request-id", "")
        # Asking the system for randomness would let other threads go first, each of which may take milliseconds.
        name = sent_id if USABLE_ID.fullmatch(sent_id) else f"{random.getrandbits(64):016x}"
        request_id.set(name)
        client_address.set(scope["client"][0] if scope.get("client") else "")
        began = time.perf_counter()
        status = 500

        async def send_watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                seconds = time.perf_counter() - began
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"], headers["Server-Timing"] = name, f"app;dur={1000 * seconds:.1f}"
                scope["app"].state.measures.started(scope, status, seconds)
            await send(message)

        try:
            await self.app(scope, receive, send_watched)
        finally:
            milliseconds = 1000 * (time.perf_counter() - began)
            level = logging.DEBUG if scope["path"].startswith("/static/") else logging.INFO
            if access.isEnabledFor(level):
                path = shown_path(scope["path"])
                access.log(level, "%s %s %d %.1f ms", scope["method"], path, status, milliseconds)
