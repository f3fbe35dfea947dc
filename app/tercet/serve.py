"""Runs the web server as one process until it is told to stop."""

import os
import socket

import uvicorn
from fastapi import FastAPI

from tercet.main import create_app
from tercet.settings import Settings
from tercet.web import logs
from tercet.web.errors import Conflict

# How long requests under way may take to end when the server stops.
SHUTDOWN_SECONDS = 3


class StreamEndingServer(uvicorn.Server):
    """A server that first ends its event streams when it stops: they never end by themselves."""

    def __init__(self, app: FastAPI, config: uvicorn.Config) -> None:
        """Keep the application whose streams are to be ended."""
        super().__init__(config)
        self.app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for the other requests."""
        await self.app.state.feed.close()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; done before anything slow, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)
        raise Conflict(f"Cannot listen on {host}, port {port}: {reason}. --port chooses another port.") from error


def local_url(listener: socket.socket) -> str:
    """Return the address that a browser on this machine opens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    print(f"Tercet serves on {local_url(listener)} (Ctrl-C stops it)", flush=True)  # noqa: T201 - for the terminal
    logs.configure(settings.log_level, settings.log_json)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    StreamEndingServer(app, config).run(sockets=[listener])
