"""How SKLR's time grows with answers and items, and what its fewer dimensions cost.

    python -m benchmarks.sklr_answers [--answers 1000,3000,10000,30000,100000] [--newton 3000] [--runs 4] [--data DIR]

Times: blobs of 10 classes in 16 dimensions, right answers to random questions. "before" is Newton's method however
many answers there are, and all eigenvectors up to 2,000 items; it is left out above --newton answers, where it takes
minutes and gigabytes. Both in one process, CPU seconds of one thread for the whole fit.

Quality: answers of people to random questions, half as many as items; the share of 4,000 other, right answers that
clusters satisfy, and the normalised mutual information of clusters and classes. "500" is up to 500 columns of
incomplete Cholesky, "now" the widest 300 axes of as many; the same answers and seeds, so that differences are paired.
Results go to benchmarks/results/sklr_answers.txt.
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
from scipy import stats
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.datasets import Dataset, available, load
from tercet_algorithms import SKLR
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers
from tercet_algorithms.sklr import kernel, search

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.sklr_answers"
N_ITEMS, AROUND = 5000, ((500, 900), (501, 900), (2000, 900), (2001, 900))
EIGEN_BEFORE, COLUMNS_BEFORE = 2000, 500
SETS = ["breast_cancer", "vehicle", "digits", "letters_ijlt", "birdsong_hja"]
N_HELD_OUT = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", default="1000,3000,10000,30000,100000")
    parser.add_argument("--newton", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    fitted(600, 9000, before=False)  # loops are compiled
    fitted(600, 300, before=True)
    paragraphs = __doc__.split("\n\n")
    lines = [f"{COMMAND}   (2 cores shared with other work; CPU seconds of one thread)", "", paragraphs[2], ""]
    lines.append(
        f"{'items':>8}{'answers':>9}{'before s':>10}{'ARI':>7}{'now s':>9}{'ARI':>7}{'rank':>6}{'s / 1000':>10}"
    )
    many = [(N_ITEMS, int(count)) for count in arguments.answers.split(",")]
    for n_items, n_answers in (*AROUND, *many):
        keep(lines, line_of_times(n_items, n_answers, with_before=n_answers <= arguments.newton))
    keep(lines, "", paragraphs[3].split("\nResults")[0], "")
    keep(lines, f"{'':15}{'items':>6}{'satisfied':>11}{'now - 500':>18}{'NMI':>8}{'now - 500':>18}{'s':>8}{'now':>7}")
    for name in available(SETS, arguments.data):
        keep(lines, line_of_quality(load(name, arguments.data), arguments.runs))


def keep(lines: list[str], *new: str) -> None:
    lines += new
    sys.stderr.write("\n".join(new) + "\n")
    (RESULTS / "sklr_answers.txt").write_text("\n".join(lines) + "\n")


def line_of_times(n_items: int, n_answers: int, *, with_before: bool) -> str:
    """One row of the first table."""
    now = fitted(n_items, n_answers, before=False)
    cells = f"{'-':>10}{'-':>7}"
    if with_before:
        seconds, ari, _ = fitted(n_items, n_answers, before=True)
        cells = f"{seconds:10.2f}{ari:7.3f}"
    return f"{n_items:8}{n_answers:9}{cells}{now[0]:9.2f}{now[1]:7.3f}{now[2]:6}{1000 * now[0] / n_answers:10.2f}"


def fitted(n_items: int, n_answers: int, *, before: bool) -> tuple[float, float, int]:
    """CPU seconds of a fit, its adjusted Rand index, and its rank."""
    X, y = make_blobs(n_items, 16, centers=10, cluster_std=4.0, random_state=0)
    triplets = random_triplets(n_items, n_answers, np.random.default_rng(0))
    low_rank = "eigen" if before and n_items <= EIGEN_BEFORE else "auto"
    model = SKLR(10, low_rank=low_rank, random_state=0)
    most = np.inf if before else search._MOST_IN_STEP
    with patch.object(search, "_MOST_IN_STEP", most):
        seconds = seconds_of(model, X, triplets=triplets, answers=true_answers(y, triplets))
    return seconds, float(adjusted_rand_score(y, model.labels_)), model.rank_


def line_of_quality(data: Dataset, n_runs: int) -> str:
    """One row of the second table: means, and mean differences with their 95 % intervals."""
    figures = np.array([[quality(data, seed, before=before) for before in (True, False)] for seed in range(n_runs)])
    seconds, before, after = figures[:, :, 0].mean(axis=0), figures[:, 0, 1:], figures[:, 1, 1:]
    half = stats.t.ppf(0.975, n_runs - 1) * (after - before).std(axis=0, ddof=1) / np.sqrt(n_runs)
    cells = [
        f"{old:8.3f}{difference:+10.3f} +-{width:.3f}"
        for old, difference, width in zip(before.mean(axis=0), (after - before).mean(axis=0), half, strict=True)
    ]
    return f"{data.name:15}{len(data.X):6}   {''.join(cells)}{seconds[0]:8.2f}{seconds[1]:7.2f}"


def quality(data: Dataset, seed: int, *, before: bool) -> tuple[float, float, float]:
    """CPU seconds of a fit, the share of held-out answers satisfied, and the NMI."""
    rng = np.random.default_rng(seed)
    triplets, held_out = (random_triplets(len(data.X), n, rng) for n in (len(data.X) // 2, N_HELD_OUT))
    answers = noisy_answers(data.y, triplets, TABLE_IV, rng)
    model = SKLR(data.n_clusters, low_rank="cholesky", random_state=seed)
    model.set_params(max_rank=COLUMNS_BEFORE if before else None)
    columns = 1.0 if before else kernel._COLUMNS_PER_DIMENSION
    with patch.object(kernel, "_COLUMNS_PER_DIMENSION", columns):
        seconds = seconds_of(model, data.X, triplets=triplets, answers=answers)
    satisfied = model.score(data.X, triplets=held_out, answers=true_answers(data.y, held_out))
    return seconds, satisfied, float(normalized_mutual_info_score(data.y, model.labels_))


def seconds_of(model: SKLR, X: np.ndarray, **answered: np.ndarray) -> float:
    """CPU time of a fit."""
    start = time.process_time()
    model.fit(X, **answered)
    return time.process_time() - start


if __name__ == "__main__":
    main()
