"""Does an embedding of people's answers predict the answers that it has not seen, and as well as cblearn's?

    python -m benchmarks.embedding human_alien_eggs30.npz --cache DIR [--runs 20] [--answers 16000,1000,300]

Each run holds out a fifth of the answers; of the others all, or the first 1,000 or 300, are learned from. Every method
of cblearn is fitted in one, two and three dimensions by its scipy backend and is judged by the dimension that turns out
best on the answers held out, which ours is not: it chooses its dimension by answers it has learned from.
Accuracy is the share of answers that agree with the nearer point, the log score the mean log probability of the answer
given that it is yes or no, for the methods that have one. Differences are paired by run, with 95 % intervals of their
mean. cblearn asks for numpy below 2: install it and Tercet into an environment of their own. Results go to
benchmarks/results/embedding.txt.
"""

import os
import time
from functools import cache
from pathlib import Path

import cblearn
import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, TSTE

from benchmarks import rounds
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet_algorithms import AnswerEmbedding

RESULTS = Path(__file__).with_name("results") / "embedding.txt"
COMMAND = "python -m benchmarks.embedding human_alien_eggs30.npz --cache DIR"
MU = 0.1  # with CKL's default of 0 a point may lie on the anchor and make an answer impossible
OURS = "AnswerEmbedding"
METHODS = (OURS, *(f"{name}, {dimension}-D" for name in ("SOE", "t-STE", "CKL", "GNMDS") for dimension in (1, 2, 3)))
MEASURES = ("accuracy", "log_score", "seconds")


def main() -> None:
    parser = rounds.parser(__doc__, runs=20, jobs=1)
    parser.add_argument("data", type=Path)
    parser.add_argument("--answers", type=lambda text: [int(n) for n in text.split(",")], default=[16000, 1000, 300])
    options = parser.parse_args()
    os.environ["EMBEDDING_DATA"] = str(options.data)
    finished = Cache(options.cache, "embedding")
    tasks = [
        Task("embedding", options.data.stem, str(n), method, seed)
        for seed in range(options.runs)
        for n in options.answers
        for method in METHODS
    ]
    rounds.run(tasks, one_fit, finished, options.jobs)
    blocks = [report(n, of_setting(finished, str(n))) for n in (16000, 1000, 300)]
    text = "\n".join([f"{COMMAND}, cblearn {cblearn.__version__}", "", *filter(None, blocks)])
    print(text)
    RESULTS.write_text(text)


@cache
def human_answers() -> tuple[np.ndarray, np.ndarray]:
    """Triplets whose second item was called more similar to the first, and who said so."""
    with np.load(os.environ["EMBEDDING_DATA"]) as arrays:
        return arrays["triplets"].astype(np.int64), arrays["worker"]


def one_fit(task: Task) -> Row:
    """Fit one method on one split; the same split for all methods."""
    triplets, workers = human_answers()
    order = np.random.RandomState(task.seed).permutation(len(triplets))
    learned, judged = np.split(order, [len(order) - len(order) // 5])
    learned, held_out = learned[: int(task.setting)], triplets[judged]
    n_items = int(triplets.max()) + 1
    started = time.perf_counter()
    if task.method == OURS:
        ours = AnswerEmbedding(n_items=n_items, random_state=task.seed)
        ours.fit(triplets[learned], np.ones(len(learned), dtype=int), labelers=workers[learned])
        seconds = time.perf_counter() - started
        yes, no, _ = ours.predict_answers(held_out).T
        scores = float(np.mean(yes > no)), float(np.mean(np.log(yes / (yes + no))))
    else:
        name, dimension = task.method.split(", ")[0], int(task.method[-3])
        points = cblearn_model(name, dimension, task.seed).fit(triplets[learned], n_objects=n_items).embedding_
        seconds = time.perf_counter() - started
        near, far = (((points[held_out[:, 0]] - points[held_out[:, role]]) ** 2).sum(axis=1) for role in (1, 2))
        scores = float(np.mean(near < far)), log_score(name, dimension, near, far)
    return dict(zip(MEASURES, (*scores, seconds), strict=True))


def cblearn_model(name: str, dimension: int, seed: int) -> SOE | TSTE | CKL | GNMDS:
    if name == "SOE":
        return SOE(dimension, n_init=3, random_state=seed)
    if name == "CKL":
        return CKL(dimension, mu=MU, random_state=seed)
    return {"t-STE": TSTE, "GNMDS": GNMDS}[name](dimension, random_state=seed)


def log_score(name: str, dimension: int, near: np.ndarray, far: np.ndarray) -> float:
    """Mean log probability of the nearer point under cblearn's model of answers; nan where it has none."""
    if name == "CKL":
        return float(np.mean(np.log((MU + far) / (2 * MU + near + far))))
    if name == "t-STE":
        freedom = max(dimension - 1, 1)
        near_log, far_log = (-(freedom + 1) / 2 * np.log1p(squares / freedom) for squares in (near, far))
        return float(np.mean(near_log - np.logaddexp(near_log, far_log)))
    return float("nan")


def of_setting(finished: Cache, setting: str) -> dict[str, np.ndarray]:
    """Scores (runs, measures) of every method, of the runs that all have finished."""
    rows = {(row["method"], row["seed"]): row for row in finished.rows.values() if row["setting"] == setting}
    seeds = sorted({seed for _, seed in rows})
    complete = [seed for seed in seeds if all("accuracy" in rows.get((name, seed), {}) for name in METHODS)]
    return {name: np.array([[rows[name, s][m] for m in MEASURES] for s in complete]) for name in METHODS if complete}


def report(n_answers: int, values: dict[str, np.ndarray]) -> str:
    if not values:
        return ""
    lines = [f"{n_answers} answers, {len(values[OURS])} runs", ""]
    lines.append(f"{'':18}{'accuracy':>18}{'log score':>18}{'seconds':>9}")
    for name, scores in sorted(values.items(), key=lambda entry: -entry[1][:, 0].mean()):
        cells = "".join(f"{interval(scores[:, column]):>18}" for column in (0, 1))
        lines.append(f"{name:18}{cells}{scores[:, 2].mean():>9.2f}")
    lines.append("")
    for column, measure in ((0, "accuracy"), (1, "log score")):
        others = {name: scores[:, column] for name, scores in values.items() if name != OURS}
        best = max((name for name in others if np.isfinite(others[name]).all()), key=lambda name: others[name].mean())
        difference = interval(values[OURS][:, column] - others[best])
        lines.append(f"{measure}: ours minus the best of cblearn ({best}) {difference}")
    return "\n".join([*lines, "", ""])


def interval(values: np.ndarray) -> str:
    if not np.isfinite(values).all():
        return "-"
    mean, half = mean_and_half_width(list(values))
    return f"{mean:.4f} ±{half:.4f}"


if __name__ == "__main__":
    main()
