"""kill -9 of a worker, then of the server, under twenty labelers: what is lost, and from where the run goes on.

    python -m benchmarks.crash

One project is labeled all the time; in another a long run computes, so that both kills hit it half-way.
"""

import argparse
import asyncio
import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.labelers import Tally, crowd, join
from benchmarks.projects import LoadProject, make_project, synthetic
from tercet.demo.server import DemoServer, free_port, running_server
from tercet.settings import Settings
from tests.runs.support import worker_processes

LABELERS = 20
LONG_ITEMS = 300_000


class Watch:
    """Reads the long run's row over REST, whatever happens to the server meanwhile."""

    def __init__(self, url: str, project: LoadProject) -> None:
        self.path = f"{url}/api/v1/projects/{project.key}/runs/1"
        self.headers = {"Authorization": f"Bearer {project.token}"}

    def run(self) -> dict[str, Any]:
        """Give the run as it stands."""
        return dict(httpx.get(self.path, headers=self.headers, timeout=10).raise_for_status().json())

    def wait(self, what: Callable[[dict[str, Any]], bool], seconds: float = 300) -> float:
        """Wait until something is true of the run; give how long it took."""
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            try:
                if what(self.run()):
                    return time.monotonic() - start
            except httpx.TransportError:
                pass  # the server is down at this moment, which is the point
            time.sleep(0.05)
        raise SystemExit(f"the run did not get there in {seconds:.0f} s: {self.run()}")


def kill_workers(server: DemoServer) -> int:
    """Kill every process that computes runs for the server, without a warning; give how many there were."""
    workers = worker_processes(server.process.pid)
    for worker in workers:
        worker.kill()
    return len(workers)


def is_taken_up(run: dict[str, Any]) -> bool:
    """Whether a worker has begun with a run again, and not come further than the one before it."""
    return bool(run["attempts"] > 1)


def label_meanwhile(url: str, project: LoadProject, seconds: float) -> tuple[threading.Thread, list[Tally]]:
    """Let the labelers work in a thread of their own."""
    cookies = [join(url, project.share_path, f"labeler {i}") for i in range(LABELERS)]
    tallies: list[Tally] = []
    thread = threading.Thread(
        target=lambda: tallies.append(asyncio.run(crowd(url, cookies, project.key, seconds, think=0.4)))
    )
    thread.start()
    return thread, tallies


def stored_ids(url: str, project: LoadProject) -> list[str]:
    """Give the ids of every stored answer."""
    headers = {"Authorization": f"Bearer {project.token}", "Accept": "application/x-ndjson"}
    response = httpx.get(f"{url}/api/v1/projects/{project.key}/constraints", headers=headers, timeout=60)
    return [json.loads(line)["id"] for line in response.raise_for_status().text.splitlines()]


def main() -> None:
    """Kill, watch, count."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small = make_project(Settings(data=Path(folder)), synthetic(600, 20, 6), 6, "small")
        long = make_project(Settings(data=Path(folder)), synthetic(LONG_ITEMS, 38, 13), 13, "long")
        settings = {"data": folder, "workers": "2", "log_level": "warning"}
        port = free_port()
        with running_server(settings, port=port) as server:
            watch = Watch(server.url, long)
            thread, tallies = label_meanwhile(server.url, small, 60)
            watch.wait(lambda run: run["progress"] > 0.05)
            before = watch.run()["progress"]
            print(f"{kill_workers(server)} workers killed at {before:.0%} of the long run")
            took = watch.wait(is_taken_up)
            print(f"  taken up again after {took:.1f} s at {watch.run()['progress']:.0%}")
            watch.wait(lambda run: run["progress"] > before + 0.05)
            before = watch.run()["progress"]
            children = psutil.Process(server.process.pid).children(recursive=True)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            killed = time.monotonic()
            _, alive = psutil.wait_procs(children, timeout=10)
            print(f"server killed at {before:.0%}; of its {len(children)} children {len(alive)} live on")
        with running_server(settings, port=port) as server:
            print(f"  serves again {time.monotonic() - killed:.1f} s after the kill")
            watch.wait(is_taken_up)
            print(f"  run taken up {time.monotonic() - killed:.1f} s after the kill")
            watch.wait(lambda run: run["status"] == "done")
            run = watch.run()
            print(f"  done; resumed at start {run['metrics'].get('resumed_start')}, ", end="")
            print(f"iteration {run['metrics'].get('resumed_iteration')} of {run['metrics']['n_iter']}")
            thread.join()
            tally, stored = tallies[0], stored_ids(server.url, small)
    lost, doubled = set(tally.acknowledged) - set(stored), len(stored) - len(set(stored))
    print(f"{len(tally.acknowledged)} answers acknowledged, {len(stored)} stored, {len(lost)} lost, {doubled} doubled")
    print(f"while the server was away: {tally.refused}")
    if lost or doubled:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
