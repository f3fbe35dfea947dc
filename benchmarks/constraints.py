"""100,000 constraints as NDJSON over HTTP into a real server on SQLite, while labelers go on answering.

python -m benchmarks.constraints            prints seconds, rows a second, memory, and what labelers waited
python -m benchmarks.constraints --rows N   for another size: the memory should not grow with it
"""

import argparse
import json
import os
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np

from tercet import migrate
from tercet.accounts.service import make_api_token, make_user
from tercet.database import Database
from tercet.demo.server import running_server
from tercet.intake.local import add_rows
from tercet.intake.tables import ItemRow
from tercet.models import Scope
from tercet.projects.service import create_project
from tercet.settings import Settings
from tercet.storage import Storage

ITEMS = 4_998
LABELERS = 400
BLOCK = 1_000


def make_token(folder: str) -> str:
    """Make the project 'bulk' with its items; give its owner's API token."""
    settings = Settings(data=Path(folder))
    database, storage = Database(settings.resolved_database_url()), Storage(settings.resolved_storage_url())
    migrate.upgrade(database)
    with database.transaction() as session:
        owner = make_user(session, "Owner", email="owner@example.org")
        create_project(session, owner, name="Bulk", key="bulk")
        token = make_api_token(session, owner, "benchmark", Scope.OWN)
    add_rows(database, storage, "bulk", [ItemRow(f"item-{i}") for i in range(ITEMS)])
    database.close()
    return token


def ndjson(rows: int) -> Iterator[bytes]:
    """Write rows of random triplets, in blocks."""
    chance = random.Random(0)
    for start in range(0, rows, BLOCK):
        lines = []
        for _ in range(start, min(start + BLOCK, rows)):
            triplet = [f"item-{i}" for i in chance.sample(range(ITEMS), 3)]
            labeler = f"worker {chance.randrange(LABELERS)}"
            answer = chance.choice(["yes", "no", "dnk"])
            row = {"triplet": triplet, "answer": answer, "labeler": labeler, "response_ms": 900}
            lines.append(json.dumps(row))
        yield ("\n".join(lines) + "\n").encode()


def answer_until(stop: threading.Event, url: str, headers: dict[str, str], waits: list[float]) -> None:
    """Answer one question after the other as one labeler, noting how long each took."""
    chance = random.Random(1)
    with httpx.Client(headers=headers, timeout=60) as client:
        while not stop.wait(0.05):
            triplet = [f"item-{i}" for i in chance.sample(range(ITEMS), 3)]
            body = {"id": str(uuid.uuid4()), "triplet": triplet, "answer": "yes"}
            start = time.perf_counter()
            client.post(f"{url}/api/v1/projects/bulk/answers", json=body).raise_for_status()
            waits.append(time.perf_counter() - start)


def memory_mb(pid: int, field: str) -> float:
    """Give a figure of a process's memory: VmRSS now, VmHWM at its highest."""
    return int(Path(f"/proc/{pid}/status").read_text().split(f"{field}:")[1].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Give the processor time of a process: what the rows cost, however busy the machine is."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        headers = {"Authorization": f"Bearer {make_token(folder)}"}
        log = Path(folder) / "server.log"
        with log.open("wb") as stderr, running_server({"data": folder, "workers": "0"}, stderr=stderr) as server:
            url = f"{server.url}/api/v1/projects/bulk/constraints"
            before = memory_mb(server.process.pid, "VmRSS")
            stop, waits = threading.Event(), []
            labeler = threading.Thread(target=answer_until, args=(stop, server.url, headers, waits))
            labeler.start()
            kind = {"Content-Type": "application/x-ndjson"}
            start, cpu = time.perf_counter(), cpu_seconds(server.process.pid)
            done = httpx.post(url, content=ndjson(rows), headers={**headers, **kind}, timeout=None)
            seconds, cpu = time.perf_counter() - start, cpu_seconds(server.process.pid) - cpu
            stop.set()
            labeler.join()
            start = time.perf_counter()
            with httpx.stream("GET", url, headers=headers, timeout=None) as out:
                exported = sum(block.count(b"\n") for block in out.iter_bytes())
            export_seconds = time.perf_counter() - start
            peak = memory_mb(server.process.pid, "VmHWM")
    print(f"{done.status_code} {done.text}")
    print(f"in:  {rows} rows in {seconds:.1f} s, {rows / seconds:.0f} rows/s, {cpu:.1f} s of the server's CPU")
    print(f"out: {exported} rows in {export_seconds:.1f} s, {exported / export_seconds:.0f} rows/s")
    print(f"server: {before:.0f} MB before, {peak:.0f} MB at most")
    p50, p95, worst = (1000 * np.percentile(waits, q) for q in (50, 95, 100))
    print(f"meanwhile {len(waits)} answers of a labeler: p50 {p50:.0f} ms, p95 {p95:.0f} ms, longest {worst:.0f} ms")
    if exported != rows + len(waits):
        raise SystemExit("rows were lost or doubled")


if __name__ == "__main__":
    main()
