"""How long a first run takes while others want every processor: alone, beside one busy session, beside eight.

python -m benchmarks.floor        Linux only; sessions matter where /proc/sys/kernel/sched_autogroup_enabled is 1
"""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.projects import make_project, synthetic
from tercet.demo.server import running_server
from tercet.settings import Settings

LOOPS = 2 * (os.cpu_count() or 1)
# How many loops run in each busy session.
CASES = {
    "nothing else": [],
    f"one session of {LOOPS} loops": [LOOPS],
    f"eight sessions of {LOOPS // 2} loops": [LOOPS // 2] * 8,
}
N_ITEMS = 20_000


@contextmanager
def busy(sessions: list[int]) -> Iterator[None]:
    """Keep the processors busy from other sessions, as other programs of the machine do."""
    leaders = [start_session(loops) for loops in sessions]
    try:
        yield
    finally:
        for leader in leaders:
            os.killpg(leader, signal.SIGKILL)
            os.waitpid(leader, 0)


def start_session(loops: int) -> int:
    """Start a session of endless loops and give the number of its leader."""
    leader = os.fork()
    if leader:
        return leader
    os.setsid()
    for _ in range(loops - 1):
        if not os.fork():
            break
    while True:
        sum(range(100))


def seconds_of_first_run(url: str, settings: Settings, key: str) -> float:
    """Make a project and give the seconds until its first clusters are there."""
    project = make_project(settings, synthetic(N_ITEMS, 38, 13), n_clusters=13, key=key)
    start = time.monotonic()
    headers = {"Authorization": f"Bearer {project.token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        while client.get(f"/api/v1/projects/{key}/runs/latest").status_code == 404:
            time.sleep(0.2)
    return time.monotonic() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        with running_server({"data": folder, "workers": "1", "log_level": "warning"}) as server:
            seconds_of_first_run(server.url, settings, "warm-up")
            for i, (name, sessions) in enumerate(CASES.items()):
                with busy(sessions):
                    seconds = seconds_of_first_run(server.url, settings, f"case-{i}")
                print(f"{name:28} first run done after {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
