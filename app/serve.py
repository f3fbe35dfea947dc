"""Runs the web server as one process until it is told to stop."""

import socket

import uvicorn
from fastapi import FastAPI

from app import logs
from app.main import create_app
from app.settings import Settings

# How long requests under way may take to end when the server stops.
SHUTDOWN_SECONDS = 3


class Server(uvicorn.Server):
    """A server that first ends its event streams when it stops: they never end by themselves."""

    def __init__(self, app: FastAPI, config: uvicorn.Config) -> None:
        """Remember whose streams to end."""
        super().__init__(config)
        self.app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for the other requests."""
        await self.app.state.feed.close()
        await super().shutdown(sockets)


def run_server(settings: Settings, host: str, port: int) -> None:
    """Serve on the address until SIGTERM or Ctrl-C."""
    print(f"Tercet serves on http://{host}:{port} (Ctrl-C stops it)", flush=True)  # noqa: T201 - for the terminal
    logs.configure(settings.log_level, settings.log_json)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    Server(app, config).run()
