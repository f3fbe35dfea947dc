"""Does an embedding of people's answers predict the answers that it has not seen, and as well as cblearn's?

    python -m benchmarks.embedding human_alien_eggs30.npz [--splits 20] [--answers 16000,1000,300] [--dimensions 1,2,3]

Each split holds out a fifth of the answers; of the others all, or the first 1,000 or 300, are learned from. Every
method of cblearn is fitted in these dimensions by its scipy backend and is judged by the dimension that turns out best
on the answers held out, which ours is not: it chooses its dimension by answers it has learned from.
Accuracy is the share of answers that agree with the nearer point, the log score the mean log probability of the answer
given that it is yes or no, for the methods that have one. Differences are paired by split, with 95 % intervals of
their mean. cblearn asks for numpy below 2: install it and Tercet into an environment of their own.
"""

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, TSTE

from benchmarks.rounds import mean_and_half_width
from tercet_algorithms import AnswerEmbedding

MU = 0.1  # with CKL's default of 0 a point may lie on the anchor and make an answer impossible
OURS = "AnswerEmbedding"
Scores = tuple[float, float, float]  # accuracy, log score, seconds


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--splits", type=int, default=20)
    arguments.add_argument("--answers", type=lambda text: [int(n) for n in text.split(",")], default=[16000, 1000, 300])
    arguments.add_argument("--dimensions", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 3])
    options = arguments.parse_args()
    warnings.simplefilter("ignore")
    with np.load(options.data) as arrays:
        triplets, workers = arrays["triplets"].astype(np.int64), arrays["worker"]
    for n_answers in options.answers:
        rows: dict[tuple[str, int], list[Scores]] = defaultdict(list)
        for split in range(options.splits):
            order = np.random.RandomState(split).permutation(len(triplets))
            learned, judged = np.split(order, [len(order) - len(order) // 5])
            parts = triplets, workers, learned[:n_answers], judged
            for name, scores in one_split(*parts, options.dimensions, split).items():
                rows[name].append(scores)
            print(f"{n_answers} answers, split {split + 1} of {options.splits}", file=sys.stderr, flush=True)
        print(report(n_answers, rows), flush=True)


def one_split(
    triplets: np.ndarray,
    workers: np.ndarray,
    learned: np.ndarray,
    judged: np.ndarray,
    dimensions: list[int],
    split: int,
) -> dict[tuple[str, int], Scores]:
    n_items, held_out = int(triplets.max()) + 1, triplets[judged]
    started = time.perf_counter()
    ours = AnswerEmbedding(n_items=n_items, random_state=split)
    ours.fit(triplets[learned], np.ones(len(learned), dtype=int), labelers=workers[learned])
    seconds = time.perf_counter() - started
    yes, no, _ = ours.predict_answers(held_out).T
    scores = {(OURS, 0): (float(np.mean(yes > no)), float(np.mean(np.log(yes / (yes + no)))), seconds)}
    for dimension in dimensions:
        for name, model in (
            ("SOE", SOE(dimension, n_init=3, random_state=split)),
            ("t-STE", TSTE(dimension, random_state=split)),
            ("CKL", CKL(dimension, mu=MU, random_state=split)),
            ("GNMDS", GNMDS(dimension, random_state=split)),
        ):
            started = time.perf_counter()
            points = model.fit(triplets[learned], n_objects=n_items).embedding_
            seconds = time.perf_counter() - started
            near, far = (((points[held_out[:, 0]] - points[held_out[:, role]]) ** 2).sum(axis=1) for role in (1, 2))
            scores[name, dimension] = float(np.mean(near < far)), log_score(name, dimension, near, far), seconds
    return scores


def log_score(name: str, dimension: int, near: np.ndarray, far: np.ndarray) -> float:
    """Mean log probability of the nearer point under cblearn's model of answers; nan where it has none."""
    if name == "CKL":
        return float(np.mean(np.log((MU + far) / (2 * MU + near + far))))
    if name == "t-STE":
        freedom = max(dimension - 1, 1)
        near_log, far_log = (-(freedom + 1) / 2 * np.log1p(squares / freedom) for squares in (near, far))
        return float(np.mean(near_log - np.logaddexp(near_log, far_log)))
    return float("nan")


def report(n_answers: int, rows: dict[tuple[str, int], list[Scores]]) -> str:
    values = {name: np.array(scores) for name, scores in rows.items()}
    lines = [f"{n_answers} answers, {len(values[OURS, 0])} splits", ""]
    lines.append(f"{'':18}{'accuracy':>18}{'log score':>18}{'seconds':>9}")
    for (name, dimension), scores in sorted(values.items(), key=lambda entry: -entry[1][:, 0].mean()):
        title = name if name == OURS else f"{name}, {dimension}-D"
        cells = "".join(f"{interval(scores[:, column]):>18}" for column in (0, 1))
        lines.append(f"{title:18}{cells}{scores[:, 2].mean():>9.2f}")
    lines.append("")
    for column, measure in ((0, "accuracy"), (1, "log score")):
        others = {name: scores[:, column] for name, scores in values.items() if name[0] != OURS}
        best = max((name for name in others if np.isfinite(others[name]).all()), key=lambda name: others[name].mean())
        difference = interval(values[OURS, 0][:, column] - others[best])
        lines.append(f"{measure}: ours minus the best of cblearn ({best[0]}, {best[1]}-D) {difference}")
    return "\n".join([*lines, ""])


def interval(values: np.ndarray) -> str:
    if not np.isfinite(values).all():
        return "-"
    mean, half = mean_and_half_width(list(values))
    return f"{mean:.4f} ±{half:.4f}"


if __name__ == "__main__":
    main()
