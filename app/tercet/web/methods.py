"""HTTP's methods: which ones an address takes, and HEAD wherever there is GET."""

import re
from functools import cache

from fastapi import Request
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def allowed_methods(request: Request) -> list[str]:
    """Return the methods that some route takes at the address of a request, sorted."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    methods = {
        method
        for route in iter_route_contexts(request.app.routes)
        if route.path is not None and _pattern(route.path).match(path)
        for method in route.methods or ()
    }
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a route's addresses; compiled once, for strangers may ask as often as they like."""
    return compile_path(path)[0]


class HeadRequests:
    """Answers HEAD as GET would be answered, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a HEAD request on as GET, and end the response after its headers: a stream would never end."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        await self.app({**scope, "method": "GET"}, receive, send_headers)
