"""Security headers of all responses, and the checks of all requests.

Plain ASGI middleware, because responses may stream for hours.
"""

import ipaddress
import re
import socket
from functools import lru_cache
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tercet.web.errors import respond

# What pages of other origins may show in a frame where the settings list them: a labeling link, and the page behind it.
FRAMED = re.compile(r"/join/[^/]+|/projects/[^/]+/label(?:/.*)?")
NO_FRAMES = "frame-ancestors 'none'"
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "img-src 'self' blob: data:",
        "media-src 'self' blob:",
        "object-src 'none'",
        NO_FRAMES,
        "base-uri 'none'",
        "form-action 'self'",
    ]
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers would then send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# For a year, browsers that came by TLS never come without it again.
HSTS = "max-age=31536000"
# The default for caching: revalidate each time.
CACHE_CONTROL = "private, no-cache"
# The longest name that there is, and a port; and how many of those that came are remembered.
LONGEST_HOST, MOST_HOSTS = 260, 1_000
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
CROSS_SITE = "This request came from another site, so it was refused. Open the page here and try again."


class SecurityHeaders:
    """Puts the headers on every response, error pages included."""

    def __init__(self, app: ASGIApp, frame_origins: str = "") -> None:
        """Wrap an app; `frame_origins`, separated by commas, may show the labeling page in a frame."""
        self.app = app
        ancestors = f"frame-ancestors {' '.join(origin.strip() for origin in frame_origins.split(','))}"
        self.framed = {**HEADERS, "Content-Security-Policy": CONTENT_SECURITY_POLICY.replace(NO_FRAMES, ancestors)}
        del self.framed["X-Frame-Options"]  # it knows no lists
        self.may_be_framed = bool(frame_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers when its response starts."""
        framed = self.may_be_framed and FRAMED.fullmatch(scope.get("path", "")) is not None

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self.framed if framed else HEADERS)
                headers.setdefault("Cache-Control", CACHE_CONTROL)
                if scope.get("scheme") == "https":
                    headers["Strict-Transport-Security"] = HSTS
            await send(message)

        await self.app(scope, receive, send_with_headers)


class AllowedHosts:
    """Refuses requests for a host that this server is not: what it links to is named by the request.

    Numeric addresses are let in, since no other site's name can stand for one.
    """

    def __init__(self, app: ASGIApp, public_url: str, more: str) -> None:
        """Wrap an app; `more` are host names, separated by commas, beside the public one and this machine's."""
        self.app = app
        machine = socket.gethostname().lower()
        self.names = {"localhost", machine, f"{machine}.local", urlsplit(public_url).hostname or "localhost"}
        self.names |= {name.strip().lower() for name in more.split(",") if name.strip()}
        self._is_known = lru_cache(MOST_HOSTS)(self._is_ours)  # nearly all requests name the same one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400."""
        if scope["type"] != "http" or self.is_allowed(Headers(scope=scope).get("host", "")):
            await self.app(scope, receive, send)
        else:
            detail = "This server does not go by that name. TERCET_PUBLIC_URL or TERCET_ALLOWED_HOSTS has to name it."
            await respond(Request(scope), 400, detail)(scope, receive, send)

    def is_allowed(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        return len(host) <= LONGEST_HOST and self._is_known(host)

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self.names or name.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class PlainAddress:
    """Refuses addresses with a NUL character, which PostgreSQL cannot store or look up."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400."""
        if scope["type"] == "http" and ("\0" in scope["path"] or b"%00" in scope["query_string"]):
            await respond(Request(scope), 400, "The address holds a NUL character (%00).")(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class OriginCheck:
    """Refuses changes that another site's page requests with this browser's cookie (CSRF).

    Browsers say where a request comes from in Sec-Fetch-Site, and over plain HTTP in Origin; a page cannot
    forge either. A bearer token is never sent by a browser on its own, so requests with one pass.
    """

    def __init__(self, app: ASGIApp, public_url: str = "") -> None:
        """Wrap an app; `public_url` is the public address behind a proxy."""
        self.app = app
        self.public_host = urlsplit(public_url).netloc

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS or self.is_ours(Headers(scope=scope)):
            await self.app(scope, receive, send)
        else:
            await respond(Request(scope), 403, CROSS_SITE)(scope, receive, send)

    def is_ours(self, headers: Headers) -> bool:
        """Return whether a page of this server, or a program, made the request."""
        if headers.get("authorization", "").lower().startswith("bearer "):
            return True
        if site := headers.get("sec-fetch-site"):
            return site in ("same-origin", "none")
        if origin := headers.get("origin"):
            return urlsplit(origin).netloc in {headers.get("host"), self.public_host} - {"", None}
        # No browser made it: without a cookie it acts for nobody but itself.
        return "cookie" not in headers
