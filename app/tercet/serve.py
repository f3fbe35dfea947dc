"""Runs the web server until it is told to stop, in one process or several."""

import gc
import os
import socket
import sys

import uvicorn
from fastapi import FastAPI

from tercet import migrate
from tercet.database import Database
from tercet.errors import Conflict
from tercet.memory import share_heaps
from tercet.settings import Settings, keep_private
from tercet.web import logs
from tercet.web.connections import bounded_connections
from tercet.web_processes import WebProcesses

# How long requests under way may take to end when the server stops.
SHUTDOWN_SECONDS = 3
# Descriptors for files, databases and workers, and those that connections get where the system says no number.
OTHER_DESCRIPTORS, MOST_CONNECTIONS = 256, 50_000

# How many more objects there are before the garbage collector looks for cycles among the new ones. Requests leave next
# to none. At Python's 700 it looked forty times a second while five hundred people labeled, and every three seconds at
# all objects: a tenth of a process's time, and pauses of 60 ms in which nobody was answered.
YOUNG_OBJECTS = 10_000

# Who listens on every address of the machine is reached at this one too.
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on


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
    host = ANY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def raise_descriptor_limit() -> int:
    """Let this process open as many files as it may; return how many connections that is."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource  # Unix has it alone

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_CONNECTIONS + OTHER_DESCRIPTORS
    allowed = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS)


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Return how uvicorn serves the app."""
    return uvicorn.Config(
        app,
        http=bounded_connections(raise_descriptor_limit(), settings.connections_per_address),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def run_server(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C, in as many processes as the settings say."""
    others = WebProcesses(settings, listener, serve)
    keep_private(settings)
    upgrade_first(settings)
    print(f"Tercet serves on {local_url(listener)} (Ctrl-C stops it)", flush=True)  # noqa: T201 - for the terminal
    settings.remember_url(local_url(listener))
    if settings.web_processes == 1:
        serve(settings, listener)
        return
    others.start()
    try:
        serve(settings, listener)
    finally:
        others.stop()


def upgrade_first(settings: Settings) -> None:
    """Upgrade the database before any process looks at it; what is wrong with it is then said in a sentence."""
    database = Database(settings.resolved_database_url())
    try:
        migrate.upgrade(database)
    finally:
        database.close()


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve in this process until SIGTERM or Ctrl-C."""
    logs.configure(settings.log_level, settings.log_json)
    share_heaps()
    # What is imported and made here stays. The garbage collector would look at it again and again meanwhile, for a
    # sixth of the time that a server takes to start, and later while requests wait.
    gc.disable()
    from tercet.main import create_app

    app = create_app(settings)
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()
    StreamEndingServer(app, server_config(app, settings)).run(sockets=[listener])
