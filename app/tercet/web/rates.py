"""How often an address, a link, a labeler or a token may ask: who asks more often is told when to come again.

The limits are far above what people and well-behaved programs do. They keep one runaway or hostile client from taking
what the others need. They are counted in this process alone.
"""

import hashlib
import ipaddress
import math
import threading
import time

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tercet.errors import TooOften
from tercet.translatable import to_translate
from tercet.web.errors import answer_problem

# All per minute. An address has many people behind it where a school or a company has one for all.
PER_ADDRESS = 1_200
# Opening one link, or pressing its button; a class comes within a minute.
PER_LINK = 1_000
# Passwords tried for one account: from one network, and from wherever, where a stranger's tries must not keep its owner
# out too easily.
PER_PASSWORD, PER_ACCOUNT = 10, 100
# A session or a token. A page that uploads thousands of small files sends the most.
PER_CALLER = 12_000
# Answers of one labeler: thirty times as many as the fastest people give.
PER_LABELER = 3_000
# Addresses that answer only signed-in callers: a successful response from one proves the credentials for a while.
SIGNED_IN = ("/api/v1/", "/projects/")
MINUTE = 60.0
MOST_COUNTED = 100_000
PROVEN_SECONDS = 900.0
MOST_PROVEN = 100_000
FREE = ("/static/", "/healthz", "/readyz")
LINKS = ("/join/", "/sign-in/", "/invitation/")
# Everybody's way to the OpenID Connect provider: one who asks too often is not to close it for the others.
NO_LINK = "/sign-in/openid"


class Rates:
    """Counts what is asked, by whom, in each minute, by a clock that is never set: setting it could shut people out."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._counts: dict[str, tuple[float, int]] = {}  # when the minute ends, and what was counted in it
        self._counting = threading.Lock()
        self._proven_until: dict[str, float] = {}

    def count(self, limit: int, who: str, cost: int = 1) -> None:
        """Count a request, or something of another cost; raise TooOften once the limit is reached."""
        moment = time.monotonic()
        with self._counting:
            end, count = self._counts.get(who, (0.0, 0))
            if moment >= end:
                self._make_room(moment)
                end, count = moment + MINUTE, 0
            self._counts[who] = end, count + cost
        if count + cost > limit:
            detail = to_translate("That is too often. Wait a moment.")
            raise TooOften(detail, retry_after=max(1, math.ceil(end - moment)))

    def _make_room(self, moment: float) -> None:
        """Forget the minutes that are over when there are many."""
        if len(self._counts) >= MOST_COUNTED:
            self._counts = {who: counted for who, counted in self._counts.items() if counted[0] > moment}

    def count_password(self, scope: Scope, email: str) -> None:
        """Count a password that is tried for an account; raise TooOften once there were too many."""
        account = _digest(email.strip().lower())
        self.count(PER_PASSWORD, f"password of {account} from {_network(scope)}")
        self.count(PER_ACCOUNT, f"password of {account}")

    def prove(self, credentials: str) -> None:
        """Note that these credentials are somebody's."""
        if len(self._proven_until) >= MOST_PROVEN:
            self._proven_until.clear()
        self._proven_until[credentials] = time.monotonic() + PROVEN_SECONDS

    def is_proven(self, credentials: str) -> bool:
        """Return whether these credentials were somebody's within the last minutes."""
        return self._proven_until.get(credentials, 0.0) > time.monotonic()


class RateLimit:
    """Answers 429 to who asks too often, before anything is looked up or read."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        """Wrap an app."""
        self.app = app
        self.rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 429."""
        if scope["type"] != "http" or scope["path"].startswith(FREE):
            await self.app(scope, receive, send)
            return
        credentials = _credentials(scope)
        try:
            self._count(scope, credentials)
        except TooOften as problem:
            await answer_problem(Request(scope), problem)(scope, receive, send)
            return
        if credentials and scope["path"].startswith(SIGNED_IN):
            send = self._proving(credentials, send)
        await self.app(scope, receive, send)

    def _count(self, scope: Scope, credentials: str) -> None:
        """Count a request for its link, its caller and, unless the caller is known, its address.

        Invented credentials would else make each request one of another caller. They are counted apart from requests
        without any, so that who signs in is not kept out by a stranger at the same address who asks without end.
        """
        path: str = scope["path"]
        is_link = path.startswith(LINKS) and not path.startswith(NO_LINK)
        if is_link:
            self.rates.count(PER_LINK, f"link {_digest('/'.join(path.split('/')[1:3]))}")
        if credentials:
            self.rates.count(PER_CALLER, f"caller {credentials}")
            if not self.rates.is_proven(credentials):
                self.rates.count(PER_ADDRESS, f"unknown callers of {_network(scope)}")
        if not credentials or is_link:
            self.rates.count(PER_ADDRESS, f"address {_network(scope)}")

    def _proving(self, credentials: str, send: Send) -> Send:
        """Return a `send` that takes note of credentials with which a request succeeds."""

        async def proving(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                self.rates.prove(credentials)
            await send(message)

        return proving


def _credentials(scope: Scope) -> str:
    """Return a hash of a request's token or cookies; empty where it has none."""
    headers = Headers(scope=scope)
    sent = headers.get("authorization") or headers.get("cookie")
    return _digest(sent) if sent else ""


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
