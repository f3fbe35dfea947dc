"""How long clustering by bag labels takes as items get more, and in how much memory: all pairs and neighbours.

    python -m benchmarks.bags_large [--items 2000,5000,10000,20000,50000] [--methods bag,both]

Items of 12 classes in 38 dimensions in bags of ten, one to three classes a bag, every bag labelled. Each fit runs in
a process of its own with one thread. Seconds are CPU seconds: first those of the graph, which for neighbours is the
search for them, then those of the fit on it. Memory is the peak of the whole process, the interpreter and its
libraries included.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from tercet_algorithms import BagSpectralClustering

N_FEATURES, N_CLASSES, BAG_SIZE, SPREAD = 38, 12, 10, 0.35
MOST_DENSE = 10_000
SECONDS, GIGABYTES = 20.0, 1.0  # the targets for 50,000 items and neighbours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", default="2000,5000,10000,20000,50000")
    parser.add_argument("--methods", default="spectral,bag,both,links,regularized")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        print(json.dumps(measured(*json.loads(arguments.fit))))
        return
    print(f"{'items':>7} {'graph':12}{'method':14}{'graph s':>9}{'fit s':>8}{'peak GB':>9}{'NMI':>7}")
    for n_items in map(int, arguments.items.split(",")):
        for graph in ("all pairs", "neighbours"):
            if graph == "neighbours" or n_items <= MOST_DENSE:
                compare(n_items, graph, arguments.methods.split(","))


def compare(n_items: int, graph: str, methods: list[str]) -> None:
    command = [sys.executable, "-m", "benchmarks.bags_large", "--fit", json.dumps([n_items, graph, methods])]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for row in rows:
        print("{:7d} {:12}{:14}{:9.1f}{:8.1f}{:9.2f}{:7.3f}".format(n_items, graph, *row), flush=True)
    if n_items == 50_000:
        seconds, peak = max(row[2] for row in rows), max(row[3] for row in rows)
        met = "met" if seconds < SECONDS and peak < GIGABYTES else "missed"
        print(f"at most {seconds:.1f} s and {peak:.2f} GB (target {SECONDS:.0f} s and {GIGABYTES:.0f} GB: {met})")


def measured(n_items: int, graph: str, methods: list[str]) -> list[tuple[str, float, float, float, float]]:
    """Method, CPU seconds of graph and fit, peak memory in GB so far, and NMI, in this process."""
    X, y, bags, labels = bagged(n_items)
    start = time.process_time()
    dense = graph == "all pairs"
    W = graph.dense_graph(X, 7)[0] if dense else graph.neighbor_graph(X, graph.AUTO_NEIGHBORS, 7)[0]
    searched = time.process_time() - start
    rows = []
    for method in methods:
        start = time.process_time()
        model = BagSpectralClustering(N_CLASSES, method=method, affinity="precomputed", random_state=0)
        predicted = model.fit(W, bags=bags, bag_labels=labels).labels_
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append((method, searched, seconds, peak, float(normalized_mutual_info_score(y, predicted))))
    return rows


def bagged(n_items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features, classes, bags, and the table of the bags' labels: those of their items."""
    rng = np.random.default_rng(0)
    centres = SPREAD * rng.normal(size=(N_CLASSES, N_FEATURES))
    n_bags = n_items // BAG_SIZE
    few = [rng.choice(N_CLASSES, rng.integers(1, 4), replace=False) for _ in range(n_bags)]
    y = np.concatenate([rng.choice(classes, BAG_SIZE) for classes in few])
    bags = np.repeat(np.arange(n_bags), BAG_SIZE)
    labels = np.zeros((n_bags, N_CLASSES), dtype=np.int64)
    labels[bags, y] = 1
    return centres[y] + rng.normal(size=(n_items, N_FEATURES)), y, bags, labels


if __name__ == "__main__":
    main()
