"""A real server in a process of its own on a free port, for the simulation, the benchmarks and the tests."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import httpx

START_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """Where the server listens, and its process."""

    url: str
    process: subprocess.Popen[bytes]


def free_port() -> int:
    """Give a port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_server(
    settings: dict[str, str], *, port: int | None = None, stderr: IO[bytes] | None = None
) -> Iterator[Server]:
    """Start `tercet serve` with TERCET_ settings, wait until it is ready, and end it at the end of the block."""
    settings = {name: value for name, value in settings.items() if value}
    port = port or free_port()
    environment = {**os.environ, **{f"TERCET_{name.upper()}": value for name, value in settings.items()}}
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
    server = Server(f"http://127.0.0.1:{port}", process)
    try:
        _wait_until_ready(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise RuntimeError(f"The server ended at once with exit code {server.process.returncode}.")
        try:
            if httpx.get(f"{server.url}/readyz", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"The server was not ready after {START_SECONDS:.0f} seconds.")
