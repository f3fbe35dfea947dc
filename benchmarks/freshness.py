"""How fresh an open dashboard is: from the answer that makes a run due to its clusters on the page in a browser.

python -m benchmarks.freshness --data DIR     DIR has birdsong_hja.npz; median of 10, 10 new answers each
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
import uuid
from pathlib import Path

import httpx
import numpy as np
from playwright.sync_api import Page, sync_playwright

from benchmarks.projects import LoadProject, make_project
from tercet.demo.server import running_server
from tercet.settings import Settings
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers

NAMES = np.array(["dnk", "yes", "no"])
WARM_ANSWERS = 1500
PER_RUN = 10
SHOWN = "text => [...document.querySelectorAll('strong')].some(strong => strong.innerText === text)"


def answers(triplets: np.ndarray, values: list[str]) -> list[dict[str, object]]:
    """Write answers as a client sends them."""
    return [
        {"id": str(uuid.uuid4()), "triplet": [f"item-{i:05d}" for i in triplet], "answer": value}
        for triplet, value in zip(triplets.tolist(), values, strict=True)
    ]


def settle(client: httpx.Client, given: list[dict[str, object]]) -> int:
    """Send the first answers and wait until a run has used them all; give its number."""
    for start in range(0, len(given), 500):
        client.post("answers", json={"answers": given[start : start + 500]}).raise_for_status()
    while True:
        latest = client.get("runs/latest")
        if latest.status_code == 200 and latest.json()["answers_to"] >= len(given):
            return int(latest.json()["number"])
        time.sleep(0.1)


def measure(client: httpx.Client, page: Page, fresh: list[dict[str, object]], number: int) -> float:
    """Send the answers that make a run due; give the seconds from the last of them to the run on the page."""
    for answer in fresh[:-1]:
        client.post("answers", json=answer).raise_for_status()
    started = time.monotonic()
    client.post("answers", json=fresh[-1]).raise_for_status()
    # Looked at with every frame; a locator's own waiting soon looks twice a second only.
    page.wait_for_function(SHOWN, arg=f"run {number}", timeout=60_000)
    return time.monotonic() - started


def watch(url: str, project: LoadProject, given: list[dict[str, object]], rounds: int) -> None:
    """Open the dashboard, then time round after round."""
    headers = {"Authorization": f"Bearer {project.token}"}
    client = httpx.Client(base_url=f"{url}/api/v1/projects/{project.key}/", headers=headers, timeout=60)
    number = settle(client, given[:WARM_ANSWERS])
    delays, computed = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-quic"]
        )
        page = browser.new_page()
        page.goto(url + project.sign_in_path)
        page.click("main button")
        page.goto(f"{url}/projects/{project.key}")
        page.get_by_text("live", exact=True).first.wait_for()
        for step in range(rounds):
            fresh = given[WARM_ANSWERS + PER_RUN * step :][:PER_RUN]
            number += 1
            delays.append(measure(client, page, fresh, number))
            run = client.get(f"runs/{number}").json()
            computed.append(run["seconds"])
            print(f"run {number}: {delays[-1]:.2f} s, of which the run {computed[-1]:.2f} s")
        browser.close()
    print(f"median {statistics.median(delays):.2f} s, largest {max(delays):.2f} s")
    print(f"median run {statistics.median(computed):.2f} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with np.load(options.data / "birdsong_hja.npz") as stored:
        X, y = stored["X"], stored["y"]
    triplets = random_triplets(len(X), WARM_ANSWERS + PER_RUN * options.rounds, np.random.default_rng(0))
    sent = answers(triplets, NAMES[true_answers(y, triplets)].tolist())
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Settings(data=Path(folder)), X, 13)
        with running_server({"data": folder, "log_level": "warning"}) as server:
            watch(server.url, project, sent, options.rounds)


if __name__ == "__main__":
    main()
