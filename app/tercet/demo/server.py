"""A real server in a process of its own on a free port, for the simulation, the benchmarks and the tests.

The process is this module run as a script, which does what `tercet serve` does, but ends when its standard input does.
That is a pipe from the process that started it, so that nothing is left behind by one that is killed.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import httpx

START_SECONDS = 60.0


@dataclass(frozen=True)
class DemoServer:
    """Where the server listens, and its process."""

    url: str
    process: subprocess.Popen[bytes]


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_server(
    settings: dict[str, str], *, port: int | None = None, stderr: IO[bytes] | None = None
) -> Iterator[DemoServer]:
    """Start `tercet serve` with TERCET_ settings, wait until it is ready, and end it at the end of the block."""
    settings = {name: value for name, value in settings.items() if value}
    port = port or free_port()
    settings_variables = {f"TERCET_{name.upper()}": value for name, value in settings.items()}
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ, **settings_variables}
    command = [sys.executable, "-m", "tercet.demo.server", str(port)]
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stderr
    )
    server = DemoServer(f"http://127.0.0.1:{port}", process)
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
        assert process.stdin is not None
        process.stdin.close()


def _wait_until_ready(server: DemoServer) -> None:
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


def _end_with_parent() -> None:
    """Ask this process to end when the other end of its standard input is closed."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve on the port that is named, until standard input ends."""
    from tercet.serve import listen, run_server  # most who start a server need not load one themselves
    from tercet.settings import Settings

    threading.Thread(target=_end_with_parent, daemon=True).start()
    run_server(Settings(), listen("127.0.0.1", int(sys.argv[1])))


if __name__ == "__main__":
    main()
