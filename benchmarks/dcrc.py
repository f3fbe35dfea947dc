"""How fast DCRC is against K-means and logistic regression in the same process, and how good its clusters are.

    python -m benchmarks.dcrc --data DIR [--quality]

DIR holds birdsong_hja.npz and, for --quality, balance_scale.npz, ionosphere.npz and letters_ijlt.npz. Times are
CPU times of one thread, medians of five runs; F is the pairwise F-measure, over five draws of the questions.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

from algorithms import DCRC
from algorithms.discriminative import fit_classifier
from algorithms.metrics import answers_satisfied, pairwise_f
from algorithms.simulate import random_triplets, true_answers

N_ANSWERS, N_NEW, N_RUNS = 1500, 10, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quality", action="store_true", help="also F and ARI on the other data sets")
    arguments = parser.parse_args()
    path = arguments.data / "birdsong_hja.npz"
    if not path.exists():
        print(f"skipped: {path} is not there")
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    speed(*load(path))
    if arguments.quality:
        quality(arguments.data)


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as data:
        return data["X"], data["y"]


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def speed(X: np.ndarray, y: np.ndarray) -> None:
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    n_clusters = int(y.max()) + 1
    rows: dict[str, list[float]] = {}
    for run in range(N_RUNS):
        triplets = random_triplets(len(y), N_ANSWERS + N_NEW, np.random.default_rng(run))
        given = {"triplets": triplets, "answers": true_answers(y, triplets)}
        before = {name: values[:N_ANSWERS] for name, values in given.items()}
        models = {
            "cold fit from given weights": from_weights(X, standard, n_clusters),
            "the same with K-means and logistic start": DCRC(n_clusters, n_init=1, n_moves=0, random_state=0),
            "cold fit, 10 starts": DCRC(n_clusters, n_init=10, n_moves=0, random_state=0),
            "cold fit, 1 start and 10 moves": DCRC(n_clusters, n_init=1, n_moves=10, random_state=0),
        }
        measured = {
            "KMeans(n_init=10)": seconds(lambda: KMeans(n_clusters, n_init=10, random_state=0).fit(standard)),
            "LogisticRegression": seconds(lambda: LogisticRegression(max_iter=1000).fit(standard, y)),
        }
        for name, model in models.items():
            measured[name] = seconds(lambda model=model, before=before: model.fit(X, **before))
        refitted = models["cold fit from given weights"]
        measured["refit after 10 more answers"] = seconds(lambda m=refitted, g=given: m.fit(X, **g))
        print(
            f"run {run}: lower bound {refitted.lower_bound_:.4f} refitted, "
            f"{DCRC(n_clusters, n_init=1, n_moves=0, random_state=0).fit(X, **given).lower_bound_:.4f} from nothing"
        )
        for name, value in measured.items():
            rows.setdefault(name, []).append(value)
    report({name: median(values) for name, values in rows.items()})


def from_weights(X: np.ndarray, standard: np.ndarray, n_clusters: int) -> DCRC:
    """A model that starts from the weights of a K-means clustering, their cost already paid."""
    labels = KMeans(n_clusters, n_init=10, random_state=0).fit(standard).labels_
    with_ones = np.column_stack([standard, np.ones(len(X))]).astype(np.float32)
    W = fit_classifier(with_ones, labels, n_clusters, lam=2**-8)
    state = {
        "coef_": W[:, :-1],
        "intercept_": W[:, -1],
        "mean_": X.mean(axis=0),
        "scale_": X.std(axis=0),
        "posterior_": np.zeros((len(X), n_clusters)),
        "constrained_": np.array([], dtype=int),
        "lower_bound_": np.array(0.0),
    }
    return DCRC(n_clusters, n_init=1, n_moves=0, warm_start=True, random_state=0).set_state_arrays(state)


def report(times: dict[str, float]) -> None:
    kmeans, logistic = times["KMeans(n_init=10)"], times["LogisticRegression"]
    cold = times["cold fit from given weights"]
    print(f"{'':42}{'ms':>8}{'x KMeans':>10}{'x LogReg':>10}{'x cold':>8}")
    for name, value in times.items():
        ratios = f"{value / kmeans:10.2f}{value / logistic:10.2f}{value / cold:8.2f}"
        print(f"{name:42}{1000 * value:8.1f}{ratios}")


def quality(folder: Path) -> None:
    print(f"\n{'':16}{'M':>6}{'F':>8}{'sd':>7}{'ARI':>8}{'satisfied':>11}{'s':>7}   balance; 10 starts, 10 moves")
    for name in ("balance_scale", "ionosphere", "letters_ijlt", "birdsong_hja"):
        path = folder / f"{name}.npz"
        if not path.exists():
            print(f"skipped: {path} is not there")
            continue
        X, y = load(path)
        for share in (0.05, 0.1, 0.3):
            for balance in (True, False):
                print(f"{name:16}{quality_row(X, y, int(share * len(y)), balance)}")


def quality_row(X: np.ndarray, y: np.ndarray, n_answers: int, balance: bool) -> str:
    found = [judged(X, y, n_answers, balance, run) for run in range(N_RUNS)]
    f, ari, satisfied, elapsed = np.mean(found, axis=0)
    spread = np.std([row[0] for row in found])
    switch = "on" if balance else "off"
    return f"{n_answers:6}{f:8.3f}{spread:7.3f}{ari:8.3f}{satisfied:11.3f}{elapsed:7.2f}   {switch}"


def judged(X: np.ndarray, y: np.ndarray, n_answers: int, balance: bool, run: int) -> tuple[float, ...]:
    triplets = random_triplets(len(y), n_answers, np.random.default_rng(run))
    answers = true_answers(y, triplets)
    model = DCRC(int(y.max()) + 1, balance=balance, random_state=run)
    elapsed = seconds(lambda: model.fit(X, triplets=triplets, answers=answers))
    labels = model.labels_
    satisfied = answers_satisfied(labels, triplets, answers)
    return pairwise_f(y, labels), adjusted_rand_score(y, labels), satisfied, elapsed


if __name__ == "__main__":
    main()
