"""DCRC's speed: against K-means, logistic regression and its own matrix products, and as data grows."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from benchmarks import datasets
from benchmarks.timing import Times, medians, profile, seconds, target, times_table
from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_table, expected_information
from tercet_algorithms.answers.reading import read_constraints
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.lower_bound import LowerBound, climb, fit_classifier
from tercet_algorithms.dcrc.mean_field import MeanField

N_ANSWERS, N_NEW, N_CANDIDATES = 1500, 10, 100_000
KMEANS, LOGISTIC, GIVEN = "KMeans(n_init=10)", "LogisticRegression(X, y)", "cold fit from given weights"
WHOLE, WARM, TEN = (
    "cold fit, K-means and logistic start included",
    "refit after 10 more answers",
    "cold fit, 10 starts",
)
DEFAULT, EM, ASKED = "the default: 10 starts, 10 moves", "EM as the paper, 1 start", "100,000 questions scored"
PAPER_SECONDS = 120.0
PARTS = {
    "K-means starts": "_kmeans.py:fit",
    "logistic starts": "lower_bound.py:fit_classifier",
    "E-step sweeps": "mean_field.py:settle",
    "softmax of an evaluation": "lower_bound.py:softmax",
    "bound and gradient": "lower_bound.py:_bound_and_gradient",
}


def report(folder: Path, runs: int, largest: int) -> str:
    """Targets, times, scaling and profile as text."""
    data = datasets.load("birdsong_hja", folder)
    times = medians(partial(measure, data), runs)
    parts = [
        f"DCRC on {len(data.y)} songs, {data.X.shape[1]} features, {data.n_clusters} clusters, {N_ANSWERS} answers",
        times_table(times, KMEANS, GIVEN),
        *targets(times),
        "",
        scaling(runs, largest),
        "Where a cold fit of one start spends its time",
        profile(
            lambda: DCRC(data.n_clusters, n_init=1, n_moves=0, random_state=0).fit(data.X, **asked(data, 0)), PARTS
        ),
        "Where the default fit (10 starts, 10 moves) spends its time",
        profile(lambda: DCRC(data.n_clusters, random_state=0).fit(data.X, **asked(data, 0)), PARTS),
    ]
    return "\n".join(parts)


def asked(data: datasets.Dataset, run: int, n: int = N_ANSWERS) -> dict[str, Any]:
    """The first n of a run's questions with their right answers."""
    triplets = random_triplets(len(data.y), N_ANSWERS + N_NEW, np.random.default_rng(run))[:n]
    return {"triplets": triplets, "answers": true_answers(data.y, triplets)}


def measure(data: datasets.Dataset, run: int) -> Times:
    """One CPU time of everything."""
    X, y, K = data.X, data.y, data.n_clusters
    before, after = asked(data, run), asked(data, run, N_ANSWERS + N_NEW)
    from_known_weights = from_weights(data)
    models = {
        WHOLE: DCRC(K, n_init=1, n_moves=0, random_state=0),
        TEN: DCRC(K, n_init=10, n_moves=0, random_state=0),
        DEFAULT: DCRC(K, random_state=0),
        EM: DCRC(K, n_init=1, n_moves=0, solver="em", random_state=0),
    }
    times = {
        KMEANS: seconds(lambda: KMeans(K, n_init=10, random_state=0).fit(X)),
        LOGISTIC: seconds(lambda: LogisticRegression(max_iter=1000).fit(X, y)),
        GIVEN: seconds(lambda: from_known_weights.fit(X, **before)),
        WARM: seconds(lambda: from_known_weights.fit(X, **after)),
    }
    for name, model in models.items():
        times[name] = seconds(partial(model.fit, X, **before))
    rng = np.random.default_rng(run)
    candidates = random_triplets(len(y), N_CANDIDATES, rng)
    table = answer_table("relative", 0.05)
    return times | {ASKED: seconds(lambda: expected_information(from_known_weights.posterior_, candidates, table))}


def from_weights(data: datasets.Dataset) -> DCRC:
    """A model that starts from the weights of a K-means clustering, their cost already paid."""
    labels = KMeans(data.n_clusters, n_init=10, random_state=0).fit(data.X).labels_
    with_ones = np.column_stack([data.X, np.ones(len(data.X))]).astype(np.float32)
    W = fit_classifier(with_ones, labels, data.n_clusters, lam=2**-8)
    state = DCRC(data.n_clusters, n_init=1, n_moves=0, max_iter=1, random_state=0).fit(data.X).state_arrays()
    state |= {"coef_": W[:, :-1], "intercept_": W[:, -1]}
    return DCRC(data.n_clusters, n_init=1, n_moves=0, warm_start=True, random_state=0).set_state_arrays(state)


def targets(times: Times) -> list[str]:
    """The note's targets, seen."""
    larger = max(times[KMEANS], times[LOGISTIC])
    return [
        target(
            "cold fit from given weights / the larger of KMeans(10) and LogisticRegression", times[GIVEN] / larger, 3
        ),
        target("cold fit with its K-means and logistic start / the same", times[WHOLE] / larger, 6),
        target("that cold fit, seconds", times[WHOLE], 1),
        target("refit after 10 more answers / cold fit from given weights", times[WARM] / times[GIVEN], 0.3),
        target("refit after 10 more answers / KMeans(10)", times[WARM] / times[KMEANS], 1),
        target("10 starts / 1 start", times[TEN] / times[WHOLE], 10),
        target("100,000 questions scored, seconds", times[ASKED], 1),
        target("the paper's 120 s (Matlab, another machine) / cold fit", PAPER_SECONDS / times[WHOLE], 300, least=True),
    ]


def scaling(runs: int, largest: int) -> str:
    """Milliseconds of one evaluation of the bound and its gradient, and as a multiple of its two matrix products."""
    base = {"N": 5000, "D": 38, "K": 13, "M": 1500}
    grids = {
        "N": [n for n in (5000, 20_000, 100_000, 300_000, 1_000_000) if n <= largest],
        "K": [2, 13, 30, 100],
        "D": [10, 38, 200],
        "M": [1500, 10_000, 100_000],
    }
    lines = [f"One evaluation (median over {runs} climbs of 20 steps), others as in {base}"]
    lines.append(f"{'':12}{'ms':>10}{'ms of its two products':>26}{'ratio':>8}")
    ratios = {}
    for name, values in grids.items():
        for value in values:
            size = base | {name: value}
            times = medians(partial(evaluation, **size), runs if size["N"] < 50_000 else min(runs, 3))
            ratios[name, value] = times["evaluation"] / times["products"]
            row = f"{1000 * times['evaluation']:10.2f}{1000 * times['products']:26.2f}{ratios[name, value]:8.2f}"
            lines.append(f"{name} = {value:<8}{row}")
    large = [
        target(f"evaluation / its products at N = {n}", r, 2) for (k, n), r in ratios.items() if k == "N" and n >= 1e5
    ]
    return "\n".join([*lines, *large, ""])


def evaluation(run: int, *, N: int, D: int, K: int, M: int) -> Times:
    """Mean time of an evaluation during a climb, and of the two products of that size."""
    rng = np.random.default_rng(run)
    y = rng.integers(K, size=N)
    X = np.empty((N, D + 1), np.float32)
    X[:] = rng.standard_normal((N, D + 1), dtype=np.float32)
    X[:, :D] += rng.standard_normal((K, D), dtype=np.float32)[y]
    X[:, D] = 1
    triplets = random_triplets(N, M, rng)
    constraints = read_constraints(triplets, true_answers(y, triplets), n_items=N)
    field = MeanField(constraints.triplets, np.log(constraints.likelihoods(0.05)), np.float32)
    objective = LowerBound(X, field, tau=1, lam=2**-8, balance=True, weight=3 / len(field.items))
    W = 0.1 * rng.standard_normal((K, D + 1))
    evidence = objective.evidence()
    q, count = objective.first_posteriors(W, evidence), 0

    def counted(weights: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal count
        count += 1
        return objective.profile(weights, q, evidence)

    elapsed = seconds(lambda: climb(counted, W, 20, 1e-5))
    small, wide = W.astype(np.float32), np.ones((K, N), np.float32)
    products = [seconds(lambda: (small @ X.T, wide @ X)) for _ in range(3)]
    return {"evaluation": elapsed / count, "products": min(products)}
