"""Whether answers make the clusters that people see worse before they make them better, and what waiting costs.

    python -m benchmarks.dips --data DIR --cache DIR [--runs 20] [--jobs 2] [--datasets letters_ijlt,moons]

The loop of the app (`app_loop.py`), with people who err as Table IV says and a run after ten answers. The clusters of
the fit and those shown (`tercet/worker/outputs/first_clusters.py`) are of the same runs: questions go by the fit. A dip
is how far the adjusted Rand index falls below that before any answer. Results go to benchmarks/results/dips.txt.
"""

import os
from functools import partial
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks import datasets, rounds
from benchmarks.app_loop import AppLoop, default
from benchmarks.datasets import Dataset
from benchmarks.questions import answered, interval, songs
from benchmarks.rounds import Cache, Row, Task

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.dips --data DIR --cache DIR"
SONGS, MOONS = "songs", "moons"  # made anew for each seed
FROM_FILES = ("letters_ijlt", "ionosphere", "vehicle", "birdsong_hja", "wine", "iris", "digits")
NAMES = (SONGS, MOONS, *FROM_FILES)
ANSWERS = 300
DEEP = 0.03  # what counts as a dip


def main() -> None:
    arguments = datasets.parser(__doc__).parse_args()
    chosen = arguments.datasets or NAMES
    files = datasets.available([name for name in chosen if name in FROM_FILES], arguments.data)
    names = [name for name in (SONGS, MOONS) if name in chosen] + files
    tasks = [Task("dips", name, "people", "shown and fitted", seed) for seed in range(arguments.runs) for name in names]
    cache = Cache(arguments.cache, "dips")
    rounds.run(tasks, partial(ask, folder=arguments.data), cache, arguments.jobs)
    text = "\n".join([f"{COMMAND}\n", *table(cache)]) + "\n"
    print(text)
    (RESULTS / "dips.txt").write_text(text)


def ask(task: Task, folder: Path | None) -> Row:
    """ARI of the clusters shown and of the fit's, before any answer and after every run."""
    data = load(task, folder)
    rng = np.random.default_rng(task.seed)
    loop = AppLoop(data.X, data.n_clusters, one_scale=task.dataset == SONGS, seed=task.seed)
    due = default("rerun_answers")
    labels = [(loop.labels, loop.fitted)]
    for _ in range(ANSWERS // due):
        loop.answer(due, lambda asked: answered(data.y, asked, task.setting, rng))
        loop.run()
        labels.append((loop.labels, loop.fitted))
    scores = [[adjusted_rand_score(data.y, row) for row in rows] for rows in zip(*labels, strict=True)]
    return dict(zip(("shown", "fitted"), scores, strict=True))


def load(task: Task, folder: Path | None) -> Dataset:
    if task.dataset == SONGS:
        return songs(task.seed)
    if task.dataset == MOONS:
        X, y = make_moons(400, noise=0.1, random_state=task.seed)
        return Dataset(MOONS, (X - X.mean(axis=0)) / X.std(axis=0), y)
    return datasets.load(task.dataset, folder)


def table(cache: Cache) -> list[str]:
    """A line for each data set: how many runs dip in the fit's clusters and in those shown, and what waiting costs."""
    lines = [
        f"{ANSWERS} answers of people who err as Table IV says, a run after each "
        f"{default('rerun_answers')}; dips are those of more than {DEEP}, at any run",
        f"{'':14}{'runs':>6}{'dips: fit':>11}{'shown':>7}{'deepest: fit':>14}{'shown':>7}"
        f"{'mean ARI: fit':>15}{'waiting costs':>16}{'most at one run':>17}",
    ]
    for name in NAMES:
        rows = [row for row in cache.rows.values() if row["dataset"] == name]
        if rows:
            lines.append(line(name, *(np.array([row[which] for row in rows]) for which in ("fitted", "shown"))))
    return lines


def line(name: str, fitted: np.ndarray, shown: np.ndarray) -> str:
    dips = [curves[:, 0] - curves.min(axis=1) for curves in (fitted, shown)]
    counts, deepest = ([measure(dip) for dip in dips] for measure in (lambda dip: int((dip > DEEP).sum()), np.max))
    lost = fitted - shown
    return (
        f"{name:14}{len(fitted):6}{counts[0]:11}{counts[1]:7}{deepest[0]:14.3f}{deepest[1]:7.3f}"
        f"{fitted.mean():15.3f}{interval(lost.mean(axis=1)):>16}{lost.mean(axis=0).max():17.3f}"
    )


if __name__ == "__main__":
    main()
