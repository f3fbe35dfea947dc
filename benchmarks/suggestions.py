"""How many answers suggested questions save against random ones: answers needed to reach a given ARI.

    python -m benchmarks.suggestions --data DIR --cache DIR [--runs 20] [--jobs 2] [--datasets wine,digits389]

DCRC is fitted from nothing after every batch of answers; what it suggests is asked next. Results go to
benchmarks/results/suggestions.txt and one picture per data set. Finished rows are kept in --cache: a run that was
stopped goes on where it was, and --runs 0 only writes the results again.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import datasets, plots, rounds
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.suggestions --data DIR --cache DIR"
# Answers to a batch, and batches; about as many answers as random questions need for most of what they reach.
PLANS = {
    "wine": (10, 10),
    "digits389": (15, 12),
    "vehicle": (40, 12),
    "letters_ijlt": (50, 14),
    "birdsong_hja": (150, 8),
}
# Suggestions by information ** power; 0 is random questions.
METHODS = {"random": 0.0, "suggested": 1.0, "the best alone": np.inf}
SETTINGS = {"right": 0.05, "people": 0.15}  # answers, and the epsilon they are fitted with
TITLES = {"right": "right answers", "people": "answers of people who err as Table IV says"}


def main() -> None:
    arguments = datasets.parser(__doc__).parse_args()
    names = datasets.available([n for n in arguments.datasets or PLANS if n in PLANS], arguments.data)
    cache = Cache(arguments.cache, "suggestions")
    work = partial(ask_and_refit, folder=arguments.data)
    rounds.run(tasks(names, arguments.runs), work, cache, arguments.jobs)
    ari_curves = ((name, setting, curves(cache, name, setting)) for setting in SETTINGS for name in PLANS)
    text = "\n".join(report(name, setting, rows) for name, setting, rows in ari_curves if rows)
    print(text)
    (RESULTS / "suggestions.txt").write_text(f"{COMMAND}\n\n{text}")
    for name in PLANS:
        draw(cache, name)


def tasks(names: list[str], runs: int) -> Iterator[Task]:
    for seed in range(runs):
        for setting in SETTINGS:
            for name in names:
                for method in METHODS:
                    yield Task("suggestions", name, setting, method, seed)


def ask_and_refit(task: Task, folder: Path | None) -> Row:
    """ARI before any answer and after every batch."""
    data = datasets.load(task.dataset, folder)
    batch, n_batches = PLANS[task.dataset]
    rng = np.random.default_rng(task.seed)
    triplets, answers = np.empty((0, 3), dtype=np.int64), np.empty(0, dtype=np.int64)
    model = DCRC(data.n_clusters, epsilon=SETTINGS[task.setting], random_state=task.seed).fit(data.X)
    scores = [adjusted_rand_score(data.y, model.labels_)]
    for _ in range(n_batches):
        if task.method == "random":
            asked = random_triplets(len(data.y), batch, rng)
        else:
            asked, _ = model.suggest(batch, exclude=triplets, power=METHODS[task.method], random_state=rng)
        triplets = np.concatenate([triplets, asked])
        answers = np.concatenate([answers, answered(data.y, asked, task.setting, rng)])
        model.fit(data.X, triplets=triplets, answers=answers)
        scores.append(adjusted_rand_score(data.y, model.labels_))
    return {"ari": scores}


def answered(y: np.ndarray, asked: np.ndarray, setting: str, rng: np.random.Generator) -> np.ndarray:
    return true_answers(y, asked) if setting == "right" else noisy_answers(y, asked, TABLE_IV, rng)


def curves(cache: Cache, name: str, setting: str) -> dict[str, np.ndarray]:
    """ARI by method, shape (runs, batches + 1), of the seeds that every method has."""
    ari_curves: dict[str, dict[int, list[float]]] = {method: {} for method in METHODS}
    for row in cache.rows.values():
        if (row["dataset"], row["setting"]) == (name, setting) and "ari" in row:
            ari_curves[row["method"]][row["seed"]] = row["ari"]
    seeds = sorted(set.intersection(*(set(rows) for rows in ari_curves.values())))
    return {method: np.array([rows[seed] for seed in seeds]) for method, rows in ari_curves.items() if seeds}


def needed(curve: np.ndarray, wanted: float, batch: int) -> float:
    """Answers until the curve first reaches the wanted ARI, on straight lines; its end where it never does."""
    reached = curve >= wanted
    if not reached.any():
        return float(batch * (len(curve) - 1))
    place = int(np.argmax(reached))
    if place == 0:
        return 0.0
    before, after = curve[place - 1], curve[place]
    return float(batch * (place - 1 + (wanted - before) / (after - before)))


def report(name: str, setting: str, ari_curves: dict[str, np.ndarray]) -> str:
    """Answers needed for three levels between no answers and what random questions reach in the end."""
    batch, n_batches = PLANS[name]
    first, last = ari_curves["random"].mean(axis=0)[[0, -1]]
    levels = [first + share * (last - first) for share in (0.5, 0.8, 1.0)]
    lines = [f"{name}, {TITLES[setting]}: answers needed to reach an ARI (runs that reached it), {batch} at a time"]
    lines.append(f"{'':16}" + "".join(f"{f'ARI {level:.3f}':>20}" for level in levels) + f"{'ARI in the end':>18}")
    for method, rows in ari_curves.items():
        cells = "".join(f"{cell(rows, level, batch):>20}" for level in levels)
        lines.append(f"{method:16}{cells}{interval(rows[:, -1], '.3f'):>18}")
    lines.append(gains(ari_curves, batch * n_batches))
    return "\n".join([*lines, f"{len(ari_curves['random'])} runs, mean ± half of its 95 % interval", ""])


def cell(rows: np.ndarray, level: float, batch: int) -> str:
    counts = [needed(row, level, batch) for row in rows]
    return f"{interval(counts, '.0f')} ({sum(row.max() >= level for row in rows)})"


def interval(values: np.ndarray | list[float], form: str) -> str:
    mean, half = mean_and_half_width(list(values))
    return f"{mean:{form}}" + (f" ±{half:{form.lstrip('+')}}" if np.isfinite(half) else "")


def gains(ari_curves: dict[str, np.ndarray], n_answers: int) -> str:
    """Mean ARI over all batches, against random questions in the same run."""
    means = {method: rows[:, 1:].mean(axis=1) for method, rows in ari_curves.items()}
    better = [
        f"{method} {interval(values - means['random'], '+.3f')}"
        for method, values in means.items()
        if method != "random"
    ]
    return f"mean ARI over the way to {n_answers} answers, minus random: " + ", ".join(better)


def draw(cache: Cache, name: str) -> None:
    """ARI against answers, one picture a data set, right answers."""
    ari_curves = curves(cache, name, "right")
    if not ari_curves:
        return
    batch, n_batches = PLANS[name]
    lines = []
    for method, rows in ari_curves.items():
        points = [mean_and_half_width(list(column)) for column in rows.T]
        places = [batch * number for number in range(n_batches + 1)]
        lines.append(plots.Line(method, places, [p[0] for p in points], [p[1] for p in points]))
    title = f"{name}: suggested and random questions, {len(ari_curves['random'])} runs"
    plots.write(RESULTS / f"suggestions_{name}.svg", title, "answers", "ARI", lines)


if __name__ == "__main__":
    main()
