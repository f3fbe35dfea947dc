"""Simulated labelers answer over HTTP while the server refits.

They err as the people of the DCRC paper's Table IV did. They use nothing but the REST interface.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
from numpy.random import Generator
from sklearn.metrics import adjusted_rand_score

from tercet.demo.project import PROJECT
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers

LABELERS = 3
# What people take for an answer. Their time goes ten times as fast as the clock, but not while a run is computed, which
# would take ten times as long for them: most questions would be of the run before last, and 300 answers bring .06 less.
THINK_SECONDS = 7.0
PACE = 10.0
TICK_SECONDS = 0.05
# A busy machine leaves little to workers, which labelers go before.
PATIENCE_SECONDS = 240.0
WORDS = {1: "yes", -1: "no", 0: "dnk"}
BASE = f"/api/v1/projects/{PROJECT}"

Report = Callable[[str], None]


@dataclass
class Crowd:
    """State that the labelers share: the true classes, the answers still to give, the acknowledged ones."""

    url: str
    join: str
    patterns: dict[str, int]
    still_to_give: int
    rng: Generator
    acknowledged: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    computing: threading.Event = field(default_factory=threading.Event)  # set while a run is computed

    def think(self) -> None:
        """Wait as long as people take for an answer."""
        seconds = THINK_SECONDS
        while seconds > 0:
            time.sleep(TICK_SECONDS)
            seconds -= TICK_SECONDS * (1.0 if self.computing.is_set() else PACE)

    def take_turn(self) -> bool:
        """Take one of the answers still to be given; return False when none is left."""
        with self.lock:
            self.still_to_give -= 1
            return self.still_to_give >= 0

    def answer(self, triplet: list[str]) -> str:
        """Return what a person who hears the patterns would answer, mistakes included."""
        patterns = np.array([self.patterns[key] for key in triplet])
        with self.lock:
            number = noisy_answers(patterns, np.array([[0, 1, 2]]), TABLE_IV, self.rng)[0]
        return WORDS[int(number)]


def label(crowd: Crowd, participant: str) -> None:
    """Join by the share link and answer questions until the crowd has given all its answers."""
    headers = {"Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=crowd.url, headers=headers, timeout=30) as client:
        joined = client.post(crowd.join, data={"participant": participant})
        if joined.is_error:
            joined.raise_for_status()
        while crowd.take_turn():
            question = client.get(f"{BASE}/triplets/next", params={"n": 1}).raise_for_status().json()
            triplet = question["triplets"][0]["triplet"]
            crowd.think()
            answer = {"id": str(uuid.uuid4()), "triplet": triplet, "answer": crowd.answer(triplet)}
            client.post(f"{BASE}/answers", json={"answers": [answer]}).raise_for_status()
            with crowd.lock:
                crowd.acknowledged.append(answer["id"])


class Watcher:
    """The analyst's side: follows the runs over REST and reports one line for each."""

    def __init__(self, url: str, token: str, patterns: dict[str, int], report: Report) -> None:
        """Sign in by token."""
        self.client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        self.patterns = patterns
        self.report = report
        self.indices: list[float] = []
        self.reported = 0

    def look(self) -> bool:
        """Report every run that was done since the last look; return whether one is being computed."""
        runs = self.client.get(f"{BASE}/runs", params={"limit": 1000}).raise_for_status().json()["runs"]
        for run in sorted(runs, key=lambda run: run["number"]):
            if run["status"] == "failed":
                raise RuntimeError(f"Run {run['number']} failed: {run['error']}")
            if run["status"] == "done" and run["number"] > self.reported:
                self._report(run)
                self.reported = run["number"]
        return any(run["status"] == "running" for run in runs)

    def _report(self, run: dict[str, Any]) -> None:
        rows = self.client.get(f"{BASE}/runs/{run['number']}/items", params={"format": "json"}).raise_for_status()
        items = rows.json()["items"]
        truth = [self.patterns[row["item"]] for row in items]
        self.indices.append(float(adjusted_rand_score(truth, [row["cluster"] for row in items])))
        satisfied = run["metrics"].get("answers_satisfied")
        share = "" if satisfied is None else f", {satisfied:.0%} of answers satisfied"
        self.report(
            f"run {run['number']}: {run['metrics']['n_answers']} answers, {run['seconds']:.2f} s, "
            f"ARI {self.indices[-1]:.3f}{share}"
        )

    def wait_for(self, answers: int) -> None:
        """Wait until a run has used this many answers."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            latest = self.client.get(f"{BASE}/runs/latest")
            self.look()  # after asking, so that the run that ends the wait has been reported
            if latest.status_code == 200 and latest.json()["answers_to"] >= answers:
                return
            time.sleep(0.2)
        raise RuntimeError(f"No run used {answers} answers within {PATIENCE_SECONDS:.0f} seconds.")

    def stored(self) -> list[str]:
        """Return the ids of all stored answers."""
        response = self.client.get(f"{BASE}/constraints", params={"format": "json"}).raise_for_status()
        return [row["id"] for row in response.json()]


def simulate(url: str, join: str, token: str, patterns: dict[str, int], answers: int, seed: int, report: Report) -> int:
    """Let the labelers answer, wait for the runs, report; return the number of answers lost or stored twice."""
    watcher = Watcher(url, token, patterns, report)
    watcher.wait_for(0)
    crowd = Crowd(url, join, patterns, answers, np.random.default_rng(seed))
    faults: list[BaseException] = []
    threads = [threading.Thread(target=_guarded, args=(crowd, f"simulated {i + 1}", faults)) for i in range(LABELERS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        (crowd.computing.set if watcher.look() else crowd.computing.clear)()
        time.sleep(0.2)
    if faults:
        raise faults[0]
    watcher.wait_for(answers)
    first, last = watcher.indices[0], watcher.indices[-1]
    report(f"ARI {first:.3f} before the answers, {last:.3f} after {answers}: {last - first:+.3f}")
    stored = watcher.stored()
    wrong = len(set(crowd.acknowledged) ^ set(stored)) + len(stored) - len(set(stored))
    report(f"{len(crowd.acknowledged)} answers acknowledged, {len(stored)} stored, {wrong} lost or doubled")
    return wrong


def _guarded(crowd: Crowd, participant: str, faults: list[BaseException]) -> None:
    try:
        label(crowd, participant)
    except (httpx.HTTPError, LookupError) as fault:
        faults.append(fault)
