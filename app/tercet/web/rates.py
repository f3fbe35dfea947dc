"""How often an address, a link, a labeler or a token may ask: who asks more often is told when to come again.

The limits are far above what people and well-behaved programs do. They keep one runaway or hostile client from taking
what the others need. They are counted in this process alone.
"""

import hashlib
import ipaddress
import math
import time

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tercet.web.errors import TooOften, answer_problem

# An address has many people behind it where a school or a company has one for all.
PER_ADDRESS = RateLimitItemPerMinute(1_200)
# Opening one link, or pressing its button; a class comes within a minute.
PER_LINK = RateLimitItemPerMinute(1_000)
# A session or a token. A page that uploads thousands of small files sends the most.
PER_CALLER = RateLimitItemPerMinute(12_000)
# Answers of one labeler: thirty times as many as the fastest people give.
PER_LABELER = RateLimitItemPerMinute(3_000)
FREE = ("/static/", "/healthz", "/readyz")
LINKS = ("/join/", "/sign-in/", "/invitation/")


class Rates:
    """Counts what was asked, by whom, in each minute."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def count(self, limit: RateLimitItem, who: str, cost: int = 1) -> None:
        """Count a request, or something of another cost; raise TooOften once the limit is reached."""
        if not self._limiter.hit(limit, who, cost=cost):
            seconds = self._limiter.get_window_stats(limit, who).reset_time - time.time()
            raise TooOften("That is too often. Wait a moment.", retry_after=max(1, math.ceil(seconds)))


class RateLimit:
    """Answers 429 to who asks too often, before anything is looked up or read."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        """Wrap an app."""
        self.app = app
        self.rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 429."""
        if scope["type"] == "http" and not scope["path"].startswith(FREE):
            try:
                self._count(scope)
            except TooOften as problem:
                await answer_problem(Request(scope), problem)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _count(self, scope: Scope) -> None:
        path: str = scope["path"]
        if path.startswith(LINKS):
            self.rates.count(PER_LINK, f"link {_digest('/'.join(path.split('/')[1:3]))}")
        headers = Headers(scope=scope)
        credentials = headers.get("authorization") or headers.get("cookie")
        if credentials:
            self.rates.count(PER_CALLER, f"caller {_digest(credentials)}")
        if not credentials or path.startswith(LINKS):
            self.rates.count(PER_ADDRESS, f"address {_network(scope)}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _network(scope: Scope) -> str:
    """Return the address, or the network of 64 bits that a customer with IPv6 gets."""
    host = scope["client"][0] if scope.get("client") else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    return str(address) if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
