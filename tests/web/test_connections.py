"""Connections that keep the server waiting: how many there may be, and how long each may take."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from tercet.serve import StreamEndingServer, server_config
from tercet.settings import Settings
from tercet.web import connections
from tests.runs.support import wait_for

pytestmark = pytest.mark.only_on("sqlite")
SECONDS = 20.0
HALF_OPEN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def server(app: FastAPI, settings: Settings) -> Iterator[tuple[str, int]]:
    """The app behind a real server in a thread; gives its host and port."""
    running = StreamEndingServer(app, server_config(app, settings))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, args=([listener],))
    thread.start()
    wait_for(lambda: running.started)
    yield listener.getsockname()
    running.should_exit = True
    thread.join()


def connect(server: tuple[str, int], sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(server, SECONDS)
    connection.sendall(sent)
    return connection


def seconds_until_closed(connection: socket.socket) -> float:
    began = time.monotonic()
    while True:
        try:
            if not connection.recv(2**16):
                break
        except ConnectionError:
            break
    return time.monotonic() - began


def sent_until_closed(connection: socket.socket, piece: bytes) -> int:
    """Send a piece every hundredth of a second until the server closes; return how many bytes that were."""
    sent = 0
    with suppress(ConnectionError):
        while sent < 1000 * len(piece):
            connection.sendall(piece)
            sent += len(piece)
            time.sleep(0.01)
    return sent


@pytest.mark.parametrize("sent", [b"", b"G", HALF_OPEN, HALF_OPEN + b"\r\n" + HALF_OPEN])
def test_headers_that_do_not_end(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with connect(server, sent) as connection:
        assert seconds_until_closed(connection) < SECONDS / 2


def test_headers_without_end(server: tuple[str, int]) -> None:
    with connect(server, HALF_OPEN + b"X-Long: ") as connection:
        assert sent_until_closed(connection, b"x" * 10_000) < 5_000_000


@pytest.mark.parametrize("dripping", [False, True])
def test_bodies_that_do_not_come(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch, dripping: bool) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.3)
    head = b"POST /sign-in/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    with connect(server, head + form) as connection:
        if dripping:
            assert sent_until_closed(connection, b"a") < 1000
        else:
            assert seconds_until_closed(connection) < SECONDS / 2


def test_answers_that_are_not_read(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.2)
    httpx.get(f"http://{server[0]}:{server[1]}/openapi.json", timeout=SECONDS)  # slow at first
    with connect(server, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100) as connection:
        time.sleep(2.0)
        received = 0
        with suppress(ConnectionError):
            while piece := connection.recv(2**20):
                received += len(piece)
        assert received < 100 * 200_000, "the server has given up, not waited"


def test_a_slow_but_honest_body_is_read(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(connections, "BODY_BYTES", 10)

    def slowly() -> Iterator[bytes]:
        for _ in range(15):
            yield b"name=abcdefghijklmnop&"
            time.sleep(0.1)

    address = f"http://{server[0]}:{server[1]}/sign-in/x"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert httpx.post(address, content=slowly(), headers=form, timeout=SECONDS).status_code == 404


CODE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
from tercet.serve import listen, run_server
from tercet.settings import Settings
listener = listen("127.0.0.1", 0)
print(listener.getsockname()[1], flush=True)
run_server(Settings(workers=0), listener)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of descriptors are of Unix")
def test_half_open_connections_do_not_stop_the_server(tmp_path: Path) -> None:
    """1,100 of them, to a server that may have 1,024 descriptors and no more."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    command = [sys.executable, "-c", CODE]
    environment = {**os.environ, "TERCET_DATA": str(tmp_path)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True)
    held = []
    try:
        address = ("127.0.0.1", int(server.stdout.readline()))
        ready = f"http://127.0.0.1:{address[1]}/healthz"
        assert httpx.get(ready, timeout=SECONDS).status_code == 200
        with httpx.Client() as labeler:
            assert labeler.get(ready, timeout=SECONDS).status_code == 200
            for _ in range(1100):
                held.append(connect(address, HALF_OPEN))
            refused = [connection for connection in held if answer_at_once(connection)]
            assert 500 < len(refused) < 700
            assert all(b"503" in answer_at_once(connection) for connection in refused[:3])
            assert labeler.get(ready, timeout=SECONDS).status_code == 200, "who is in stays in"
            source = httpx.HTTPTransport(local_address="127.0.0.2")
            with httpx.Client(transport=source) as another_address:
                assert another_address.get(ready, timeout=SECONDS).status_code == 200
    finally:
        for connection in held:
            connection.close()
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=SECONDS)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def answer_at_once(connection: socket.socket) -> bytes:
    connection.settimeout(0.001)
    try:
        return connection.recv(1000, socket.MSG_PEEK)
    except TimeoutError:
        return b""
    except ConnectionError:
        return b"503"
