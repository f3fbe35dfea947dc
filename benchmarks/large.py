"""How long DCRC takes with very many items, and in how much memory, against K-means on the same items.

    python -m benchmarks.large [--items 1000000] [--answers 100000] [--repeats 3]

13 overlapping clusters of unequal sizes in 38 dimensions, single precision, read from a memory map. Each fit runs in
a process of its own with one thread, K-means and DCRC in turns; times are CPU times of the fit alone, memory is the
peak of the whole process, the interpreter and its libraries included. DCRC makes one start and no moves, as K-means
makes one start: its defaults (n_init=10, n_moves=10) take about twenty times as long, which so many items seldom
need.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers

N_FEATURES, N_CLUSTERS = 38, 13


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fit", choices=("kmeans", "dcrc"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        print(json.dumps(measured(arguments.fit, arguments.folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments.items, arguments.answers)
        compare(Path(folder), arguments.items, arguments.answers, arguments.repeats)


def write(folder: Path, n_items: int, n_answers: int) -> None:
    """Items, their classes and answers, in blocks so that this process needs little memory itself."""
    rng = np.random.default_rng(0)
    centres = 0.3 * rng.normal(size=(N_CLUSTERS, N_FEATURES))
    y = rng.choice(N_CLUSTERS, size=n_items, p=rng.dirichlet(np.full(N_CLUSTERS, 3.0)))
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n_items, N_FEATURES))
    for start in range(0, n_items, 50_000):
        block = y[start : start + 50_000]
        X[start : start + 50_000] = centres[block] + rng.normal(size=(len(block), N_FEATURES))
    X.flush()
    triplets = random_triplets(n_items, n_answers, rng)
    np.savez(folder / "given.npz", y=y, triplets=triplets, answers=true_answers(y, triplets))


def compare(folder: Path, n_items: int, n_answers: int, n_repeats: int) -> None:
    rows: dict[str, list[dict[str, float]]] = {"kmeans": [], "dcrc": []}
    for _ in range(n_repeats):
        for name, measured in rows.items():
            command = [sys.executable, "-m", "benchmarks.large", "--fit", name, "--folder", str(folder)]
            measured.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    print(f"{n_items} x {N_FEATURES} single precision, {n_answers} answers, K = {N_CLUSTERS}, {n_repeats} runs")
    names = {"kmeans": "KMeans(n_init=1)", "dcrc": "DCRC(n_init=1, n_moves=0)"}
    print(f"{'median of the runs':28}{'s':>8}{'wall s':>8}{'peak GB':>9}{'ARI':>7}")
    for name, measured in rows.items():
        values = [median(row[key] for row in measured) for key in ("seconds", "wall", "peak", "ari")]
        print("{:28}{:8.1f}{:8.1f}{:9.2f}{:7.3f}".format(names[name], *values))
    ratios = [ours["seconds"] / theirs["seconds"] for ours, theirs in zip(rows["dcrc"], rows["kmeans"], strict=True)]
    ratio, peak = median(ratios), max(row["peak"] for row in rows["dcrc"])
    print(f"DCRC / K-means: {ratio:.2f} of its time (target 1.50: {'met' if ratio <= 1.5 else 'missed'})")
    print(f"DCRC's peak: {peak:.2f} GB (target 4: {'met' if peak < 4 else 'missed'})")


def measured(name: str, folder: Path) -> dict[str, float]:
    """One fit in this process: CPU and wall seconds, peak memory in GB, adjusted Rand index."""
    X = np.load(folder / "X.npy", mmap_mode="r")
    with np.load(folder / "given.npz") as answered:
        y, triplets, answers = answered["y"], answered["triplets"], answered["answers"]
    cpu, wall = time.process_time(), time.perf_counter()
    if name == "kmeans":
        labels = KMeans(N_CLUSTERS, n_init=1, random_state=0).fit(X).labels_
    else:
        model = DCRC(N_CLUSTERS, n_init=1, n_moves=0, random_state=0)
        labels = model.fit(X, triplets=triplets, answers=answers).labels_
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": cpu, "wall": wall, "peak": peak, "ari": float(adjusted_rand_score(y, labels))}


if __name__ == "__main__":
    main()
