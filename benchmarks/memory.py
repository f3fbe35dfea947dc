"""How much memory a server takes under fifty labelers: each page once, by process.

python -m benchmarks.memory                             one web process and two workers on SQLite
python -m benchmarks.memory --workers 1
python -m benchmarks.memory --postgres --processes 2    on a PostgreSQL of its own, whose memory is not counted

Pages that several processes share count for each by its part (PSS), which Linux alone tells.
"""

import argparse
import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psutil

from benchmarks.faults import Postgres
from benchmarks.labelers import Tally, crowd, join
from benchmarks.projects import make_project, synthetic
from tercet.demo.server import running_server
from tercet.settings import Settings

LABELERS, THINK = 50, 0.75
KINDS = {"forkserver": "what workers are forked from", "resource_tracker": "Python's own helper"}


def megabytes(process: psutil.Process) -> float:
    """Return the memory of a process, shared pages by its part."""
    lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def kind_of(process: psutil.Process, server: int) -> str:
    """Return in words what a process of the server's does."""
    command = " ".join(process.cmdline())
    if process.pid == server:
        return "web process"
    parent = process.parent()
    if "forkserver" in command and parent is not None and parent.pid != server:
        return "worker"
    return next((words for sign, words in KINDS.items() if sign in command), "web process or worker")


def report(server: int, title: str) -> None:
    """Print the memory of each process."""
    process = psutil.Process(server)
    sizes = [(kind_of(member, server), megabytes(member)) for member in (process, *process.children(recursive=True))]
    each = ", ".join(f"{words} {size:.0f}" for words, size in sizes)
    print(f"{title}: {sum(size for _, size in sizes):.0f} MB ({each})", flush=True)


def main() -> None:
    """Start, let people label, and look twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--processes", default="1")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ends:
        url = ""
        if options.postgres:
            postgres = Postgres()
            ends.callback(postgres.server.cleanup)
            url = postgres.url
        project = make_project(Settings(data=Path(folder), database_url=url), synthetic(4_998, 38, 13), 13)
        settings = {"data": folder, "database_url": url, "log_level": "warning", "workers": options.workers}
        server = ends.enter_context(running_server({**settings, "web_processes": options.processes}))
        asyncio.run(asyncio.sleep(15))
        report(server.process.pid, "15 s after the start")
        cookies = [join(server.url, project.share_path, f"labeler {number}") for number in range(LABELERS)]
        tally = Tally()
        asyncio.run(crowd(server.url, cookies, project.key, options.seconds, THINK, tally))
        report(server.process.pid, f"after {len(tally.acknowledged):,} answers of {LABELERS} labelers")
        asyncio.run(asyncio.sleep(20))
        report(server.process.pid, "20 s later")


if __name__ == "__main__":
    main()
