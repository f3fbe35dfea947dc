"""Fifty labelers at once while a run computes: answers a second, latencies, memory; nothing lost, nothing doubled.

python -m benchmarks.load --seconds 60 --think 0        flat out
python -m benchmarks.load --seconds 150 --think 0.75    as people would
add --postgres URL for a PostgreSQL server that may be filled, and --processes for several web processes there
"""

import argparse
import asyncio
import json
import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np
import psutil
import psycopg

from benchmarks.labelers import Tally, Wait, crowd, join
from benchmarks.projects import LoadProject, make_project, synthetic
from tercet.demo.server import running_server
from tercet.settings import Settings

# Everybody's first questions are asked for in the same instant, and the next ones after as many answers. So long after
# the first have come, chance has spread the requests as it spreads those of people.
SETTLING_SECONDS = 60.0


def percentiles(waits: list[Wait], since: float = 0.0) -> str:
    """Give p50 / p95 / p99 in milliseconds of what was waited for since then."""
    seconds = [wait.seconds for wait in waits if wait.until > since]
    return " / ".join(f"{1000 * np.percentile(seconds, q):.1f}" for q in (50, 95, 99)) if seconds else "none"


def memory_mb(pid: int) -> tuple[float, float]:
    """Give the memory of the web process, and that of all its processes, each page counted once."""
    web = psutil.Process(pid)
    shares = [web.memory_full_info().pss, *(child.memory_full_info().pss for child in web.children(recursive=True))]
    return web.memory_info().rss / 2**20, sum(shares) / 2**20


def processor_seconds(pid: int, database: str) -> dict[str, float]:
    """Give the processor time used so far: of web processes, of workers, of a PostgreSQL on this machine, here."""
    web = psutil.Process(pid)
    used = {"web": seconds_of(web), "workers": 0.0, "PostgreSQL": 0.0, "client": seconds_of(psutil.Process())}
    for child in web.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            listens = any(each.status == psutil.CONN_LISTEN for each in child.net_connections("tcp4"))
            is_web = listens and "dask" not in " ".join(child.cmdline()) and child.nice() == 0
            used["web" if is_web else "workers"] += seconds_of(child)
    if database:
        with psycopg.connect(database) as connection:
            master = psutil.Process(connection.info.backend_pid).parent()
        assert master is not None, "PostgreSQL runs on this machine"
        used["PostgreSQL"] = sum(seconds_of(each) for each in (master, *master.children(recursive=True)))
    return used


def seconds_of(process: psutil.Process) -> float:
    """Give the processor time of a process, 0 if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return sum(process.cpu_times()[:2])
    return 0.0


def watch_memory(pid: int, stop: threading.Event, peaks: list[tuple[float, float]]) -> None:
    """Note the memory every two seconds."""
    while not stop.wait(2):
        with suppress(psutil.NoSuchProcess):  # a child that has just ended
            peaks.append(memory_mb(pid))


def wait_for_first_run(url: str, project: LoadProject) -> None:
    """Wait until the workers are up and the features are clustered, as they are when labelers come."""
    headers = {"Authorization": f"Bearer {project.token}"}
    deadline = time.monotonic() + 120
    path = f"{url}/api/v1/projects/{project.key}/runs/latest"
    while (response := httpx.get(path, headers=headers)).status_code == 404:
        if time.monotonic() > deadline:
            raise SystemExit("The first run did not end within two minutes: see the server's log.")
        time.sleep(0.2)
    response.raise_for_status()


def stored_ids(url: str, project: LoadProject) -> list[str]:
    """Give the ids of every stored answer, as the export says."""
    headers = {"Authorization": f"Bearer {project.token}", "Accept": "application/x-ndjson"}
    response = httpx.get(f"{url}/api/v1/projects/{project.key}/constraints", headers=headers, timeout=120)
    return [json.loads(line)["id"] for line in response.text.splitlines()]


def report(
    tally: Tally, seconds: float, stored: list[str], peaks: list[tuple[float, float]], locked: int, runs: int
) -> bool:
    """Print the figures; True when nothing was lost or doubled."""
    lost = set(tally.acknowledged) - set(stored)
    doubled = len(stored) - len(set(stored))
    print(f"answers acknowledged {len(tally.acknowledged)}, {len(tally.acknowledged) / seconds:.0f} a second")
    for title, since in (("in all", 0.0), ("once settled", max(wait.until for wait in tally.first) + SETTLING_SECONDS)):
        print(f"{title}: answer p50/p95/p99 {percentiles(tally.answers, since)} ms, ", end="")
        print(f"with the next questions {percentiles(tally.answers_and_next, since)} ms")
    print(f"the first questions p50/p95/p99 {percentiles(tally.first)} ms")
    web, every = (max(each) for each in zip(*peaks, strict=True))
    print(f"web process at most {web:.0f} MB, all processes together {every:.0f} MB; runs finished meanwhile {runs}")
    print(f"refused {tally.refused or 'none'}; without a question {tally.empty} times")
    print(f"lost {len(lost)}, doubled {doubled}, 'database is locked' {locked}")
    return not lost and not doubled and not locked


def main() -> None:
    """Run the load and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, default=0.0)
    parser.add_argument("--postgres", default="")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"data": folder, "database_url": options.postgres, "log_level": "warning"}
        settings["web_processes"] = str(options.processes)
        features = synthetic(4998, 38, 13)
        project = make_project(Settings(data=folder, database_url=options.postgres), features, n_clusters=13)
        log = Path(folder) / "server.log"
        with log.open("wb") as stderr, running_server(settings, stderr=stderr) as server:
            wait_for_first_run(server.url, project)
            cookies = [join(server.url, project.share_path, f"labeler {i}") for i in range(options.labelers)]
            peaks: list[tuple[float, float]] = []
            stop = threading.Event()
            threading.Thread(target=watch_memory, args=(server.process.pid, stop, peaks), daemon=True).start()
            before = processor_seconds(server.process.pid, options.postgres)
            start = time.monotonic()
            tally = asyncio.run(crowd(server.url, cookies, project.key, options.seconds, options.think))
            seconds = time.monotonic() - start
            stop.set()
            after = processor_seconds(server.process.pid, options.postgres)
            stored = stored_ids(server.url, project)
            headers = {"Authorization": f"Bearer {project.token}"}
            runs = httpx.get(f"{server.url}/api/v1/projects/{project.key}/runs?limit=1000", headers=headers).json()
        done = sum(run["status"] == "done" for run in runs["runs"])
        locked = log.read_text().count("database is locked")
    print(f"{options.labelers} labelers, think time {options.think} s, load {os.getloadavg()[0]:.1f}")
    spent = {who: 1000 * (after[who] - before[who]) / max(len(tally.acknowledged), 1) for who in after}
    print("processor ms an answer, with its part of asking for questions: ", end="")
    print(", ".join(f"{who} {milliseconds:.2f}" for who, milliseconds in spent.items()))
    if not report(tally, seconds, stored, peaks, locked, done):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
