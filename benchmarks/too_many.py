"""Whether runs say that answers support fewer clusters than were chosen, and only then.

    python -m benchmarks.too_many --cache DIR [--runs 8] [--jobs 2]

The loop of the app (`app_loop.py`) on clouds of points, with people who err as Table IV says: as many clusters as there
are clouds, or more. Of each project the metric `clusters_supported` after every fifty answers. Results go to
benchmarks/results/too_many.txt.
"""

import os
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks import rounds
from benchmarks.app_loop import AppLoop, default
from benchmarks.questions import answered
from benchmarks.rounds import Cache, Row, Task

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.too_many --cache DIR"
ITEMS, COLUMNS, SPREAD = 240, 6, 2.2  # clouds have variance 1, their centres SPREAD squared
CASES = ((4, 4), (4, 5), (4, 7), (8, 8), (8, 10))  # clouds, and clusters of the project
ANSWERS, EVERY = 300, 50


def main() -> None:
    arguments = rounds.parser(__doc__, runs=8).parse_args()
    tasks = [
        Task("too_many", str(clouds), "people", str(clusters), seed)
        for seed in range(arguments.runs)
        for clouds, clusters in CASES
    ]
    cache = Cache(arguments.cache, "too_many")
    rounds.run(tasks, ask, cache, arguments.jobs)
    text = "\n".join([f"{COMMAND}\n", *table(cache)]) + "\n"
    print(text)
    (RESULTS / "too_many.txt").write_text(text)


def ask(task: Task) -> Row:
    """The number of clusters that answers support, after every fifty."""
    clouds, n_clusters = int(task.dataset), int(task.method)
    rng = np.random.default_rng(task.seed)
    y = np.arange(ITEMS) % clouds
    X = SPREAD * rng.standard_normal((clouds, COLUMNS))[y] + rng.standard_normal((ITEMS, COLUMNS))
    loop = AppLoop(X, n_clusters, one_scale=False, seed=task.seed)
    due = default("rerun_answers")
    supported = []
    for n in range(due, ANSWERS + 1, due):
        loop.answer(due, lambda asked: answered(y, asked, task.setting, rng))
        loop.run()
        assert loop.previous is not None, "it has just run"
        if n % EVERY == 0:
            supported.append(loop.previous.run.metrics["clusters_supported"]["n_clusters"])
    return {"supported": supported}


def table(cache: Cache) -> list[str]:
    """A line for each case: how many projects say fewer than chosen, and how many fewer than there are clouds."""
    counts = range(EVERY, ANSWERS + 1, EVERY)
    lines = [
        f"{ITEMS} items, people's errors; projects where answers support fewer clusters than chosen (than clouds)",
        f"{'clouds':>6}{'chosen':>8}{'runs':>6}" + "".join(f"{f'{count} answers':>14}" for count in counts),
    ]
    for clouds, n_clusters in CASES:
        rows = [row for row in cache.rows.values() if (row["dataset"], row["method"]) == (str(clouds), str(n_clusters))]
        if rows:
            supported = np.array([row["supported"] for row in rows])
            fewer, too_few = ((supported < bound).sum(axis=0) for bound in (n_clusters, clouds))
            cells = "".join(f"{f'{one} ({other})':>14}" for one, other in zip(fewer, too_few, strict=True))
            lines.append(f"{clouds:6}{n_clusters:8}{len(rows):6}{cells}")
    return lines


if __name__ == "__main__":
    main()
