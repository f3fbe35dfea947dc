"""The path below which people reach the service: that of TERCET_PUBLIC_URL, /tercet of https://example.org/tercet.

Inside, every address is as at the top of a host. The path is taken off requests, where the proxy has not done so, and
put before what a browser follows: by `SubPath` in headers, by `rendering.py` in templates, and by `local` elsewhere.
"""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tercet.request_context import sub_path

COOKIE_PATH = re.compile(r"(?<=; path=)/", re.IGNORECASE)
# The router's own redirect, to the same address with or without a slash at its end, and with the host of the request.
SAME_ADDRESS = 307


def sub_path_of(public_url: str) -> str:
    """Return the path of the public address, without a slash at its end."""
    return urlsplit(public_url).path.rstrip("/")


class SubPath:
    """Lets an app that knows nothing of it be reached below a path, whether the proxy passes this path on or not."""

    def __init__(self, app: ASGIApp, public_url: str) -> None:
        """Wrap an app."""
        self.app = app
        self.path = sub_path_of(public_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the path off the request, and put it before the addresses in the headers of the response."""
        if scope["type"] != "http" or not self.path:
            await self.app(scope, receive, send)
            return
        origin = f"{scope['scheme']}://{Headers(scope=scope).get('host', '')}"

        async def send_below(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._put_before(message, origin)
            await send(message)

        sub_path.set(self.path)
        await self.app(self._inside(scope), receive, send_below)

    def _inside(self, scope: Scope) -> Scope:
        """Return the request as if it had come to the top of the host."""
        path: str = scope["path"]
        if path != self.path and not path.startswith(f"{self.path}/"):
            return scope
        raw = scope.get("raw_path") or path.encode()
        return {**scope, "path": path[len(self.path) :] or "/", "raw_path": raw[len(self.path) :] or b"/"}

    def _put_before(self, start: Message, origin: str) -> None:
        headers = MutableHeaders(scope=start)
        location = headers.get("location", "")
        if location.startswith("/") and not location.startswith("//"):
            headers["location"] = self.path + location
        elif start["status"] == SAME_ADDRESS and location.startswith(f"{origin}/"):
            headers["location"] = origin + self.path + location[len(origin) :]
        cookies = headers.getlist("set-cookie")
        del headers["set-cookie"]
        for cookie in cookies:
            headers.append("set-cookie", COOKIE_PATH.sub(self._below, cookie, count=1))

    def _below(self, slash: re.Match[str]) -> str:
        """Return the path of a cookie as far as this one, which has a slash at its end only at the top of a host."""
        return self.path if slash.string[slash.end() :][:1] in ("", ";") else f"{self.path}/"
