"""A server that was started for a simulation, a benchmark or a test ends with the process that started it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

STARTER = """
import sys, time
from tercet.demo.server import running_server

with running_server({"data": sys.argv[1], "workers": "0"}) as server:
    print(server.url, flush=True)
    time.sleep(600)
"""
PATIENCE = 60  # seconds; the machine may be busy


def is_served(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


def test_a_server_ends_with_a_killed_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        url = starter.stdout.readline().strip()
        assert is_served(url)
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while is_served(url):
        assert time.monotonic() < deadline, "it still serves"
        time.sleep(0.05)
