"""How SKLR's time grows with answers and items, against Newton's method alone and all eigenvectors.

    python -m benchmarks.sklr_answers [--answers 1000,3000,10000,30000,100000] [--newton 3000]

Blobs of 10 classes in 16 dimensions, right answers to random questions. "before" is Newton's method however many
answers there are, and all eigenvectors up to 2,000 items; it is left out above --newton answers, where it takes
minutes and gigabytes. Both in one process, CPU seconds of one thread for the whole fit. Results go to
benchmarks/results/sklr_answers.txt.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import SKLR
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.sklr import search

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.sklr_answers"
N_ITEMS, AROUND = 5000, ((500, 900), (501, 900), (2000, 900), (2001, 900))
EIGEN_BEFORE = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", default="1000,3000,10000,30000,100000")
    parser.add_argument("--newton", type=int, default=3000)
    arguments = parser.parse_args()
    fitted(600, 9000, before=False)  # loops are compiled
    fitted(600, 300, before=True)
    lines = [
        f"{COMMAND}   (2 cores shared with other work; CPU seconds of one thread)",
        "",
        __doc__.split("\n\n")[2],
        "",
    ]
    lines.append(
        f"{'items':>8}{'answers':>9}{'before s':>10}{'ARI':>7}{'now s':>9}{'ARI':>7}{'rank':>6}{'s / 1000':>10}"
    )
    many = [(N_ITEMS, int(count)) for count in arguments.answers.split(",")]
    for n_items, n_answers in (*AROUND, *many):
        now = fitted(n_items, n_answers, before=False)
        cells = f"{'-':>10}{'-':>7}"
        if n_answers <= arguments.newton:
            seconds, ari, _ = fitted(n_items, n_answers, before=True)
            cells = f"{seconds:10.2f}{ari:7.3f}"
        per_1000 = 1000 * now[0] / n_answers
        lines.append(f"{n_items:8}{n_answers:9}{cells}{now[0]:9.2f}{now[1]:7.3f}{now[2]:6}{per_1000:10.2f}")
        sys.stderr.write(lines[-1] + "\n")
        (RESULTS / "sklr_answers.txt").write_text("\n".join(lines) + "\n")


def fitted(n_items: int, n_answers: int, *, before: bool) -> tuple[float, float, int]:
    """CPU seconds of a fit, its adjusted Rand index, and its rank."""
    X, y = make_blobs(n_items, 16, centers=10, cluster_std=4.0, random_state=0)
    triplets = random_triplets(n_items, n_answers, np.random.default_rng(0))
    answers = true_answers(y, triplets)
    low_rank = "eigen" if before and n_items <= EIGEN_BEFORE else "auto"
    model = SKLR(10, low_rank=low_rank, random_state=0)
    most = np.inf if before else search._MOST_IN_STEP
    with patch.object(search, "_MOST_IN_STEP", most):
        start = time.process_time()
        model.fit(X, triplets=triplets, answers=answers)
    return time.process_time() - start, float(adjusted_rand_score(y, model.labels_)), model.rank_


if __name__ == "__main__":
    main()
