"""How fresh an open dashboard is: from the answer that makes a run due to the event that says its clusters are there.

python -m benchmarks.freshness --data DIR        DIR has birdsong_hja.npz; median of 10, 10 new answers each
"""

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
import uuid
from pathlib import Path
from queue import Queue

import httpx
import numpy as np

from algorithms.simulate import random_triplets, true_answers
from app.accounts.access import hash_token
from app.database import Database
from app.demo.server import running_server
from app.migrate import upgrade
from app.models import ApiToken, Item, Membership, Project, Role, Scope, User
from app.settings import Settings

TOKEN = "a token of this benchmark"
API = "/api/v1/projects/birdsong"
NAMES = np.array(["dnk", "yes", "no"])
WARM_ANSWERS = 1500


def make_project(settings: Settings, n_items: int) -> None:
    """Add a project and its owner."""
    database = Database(settings.resolved_database_url())
    upgrade(database)
    with database.transaction() as session:
        user = User(name="Ada", email="ada@example.org")
        project = Project(key="birdsong", name="Birdsong", n_clusters=13, rerun_answers=10)
        session.add_all([user, project])
        session.flush()
        session.add(Membership(project_id=project.id, user_id=user.id, role=Role.OWNER))
        session.add(ApiToken(user_id=user.id, name="benchmark", token_hash=hash_token(TOKEN), scope=Scope.OWN))
        session.add_all(Item(project_id=project.id, key=f"item-{i}", position=i) for i in range(n_items))
    database.close()


def listen(url: str, headers: dict[str, str], heard: "Queue[tuple[int, float]]") -> None:
    """Put the number of every run whose clusters are announced, with the time."""
    with httpx.stream("GET", f"{url}{API}/events", headers=headers, timeout=None) as stream:
        kind = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: ") and kind == "clusters":
                heard.put((json.loads(line.removeprefix("data: "))["run"], time.monotonic()))


def answers(triplets: np.ndarray, values: list[str]) -> list[dict[str, object]]:
    """Write answers as a client sends them."""
    return [
        {"id": str(uuid.uuid4()), "triplet": [f"item-{i}" for i in triplet], "answer": value}
        for triplet, value in zip(triplets.tolist(), values, strict=True)
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with np.load(options.data / "birdsong_hja.npz") as stored:
        X, y = stored["X"], stored["y"]
    triplets = random_triplets(len(X), WARM_ANSWERS + 10 * options.rounds, np.random.default_rng(0))
    given = answers(triplets, NAMES[true_answers(y, triplets)].tolist())
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        make_project(settings, len(X))
        np.save(Path(folder) / "X.npy", X)
        with running_server({"data": folder}) as server:
            measure(server.url, Path(folder) / "X.npy", given, options.rounds)


def measure(url: str, features: Path, given: list[dict[str, object]], rounds: int) -> None:
    """Upload, let the first runs settle, then time round after round."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    heard: Queue[tuple[int, float]] = Queue()
    client = httpx.Client(base_url=url, headers=headers, timeout=60)
    threading.Thread(target=listen, args=(url, headers, heard), daemon=True).start()
    sent = client.put(f"{API}/features?name=X.npy&filename=X.npy", content=features.read_bytes())
    sent.raise_for_status()
    print(f"first clusters without answers: run {heard.get(timeout=120)[0]}")
    for start in range(0, WARM_ANSWERS, 500):
        client.post(f"{API}/answers", json={"answers": given[start : start + 500]}).raise_for_status()
    used = 0
    while used < WARM_ANSWERS:
        run = client.get(f"{API}/runs/{heard.get(timeout=120)[0]}").json()
        used = run["answers_to"]
        print(f"run {run['number']}: {used} answers, {run['seconds']:.2f} s")
    delays, computed = [], []
    for step in range(rounds):
        fresh = given[WARM_ANSWERS + 10 * step :][:10]
        for answer in fresh[:-1]:
            client.post(f"{API}/answers", json=answer).raise_for_status()
        started = time.monotonic()
        client.post(f"{API}/answers", json=fresh[-1]).raise_for_status()
        number, at = heard.get(timeout=60)
        metrics = client.get(f"{API}/runs/{number}").json()["metrics"]
        delays.append(at - started)
        computed.append(metrics["seconds"])
        print(
            f"run {number}: {delays[-1]:.2f} s, of which the run {computed[-1]:.2f} s, {metrics['n_iter']} iterations"
        )
    print(f"median {statistics.median(delays):.2f} s, largest {max(delays):.2f} s")
    print(f"median run {statistics.median(computed):.2f} s")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
