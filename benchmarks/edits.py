"""Whether items that an analyst moves stay where they were put, and what else moves: one candidate against two.

    python -m benchmarks.edits --data DIR --cache DIR [--runs 8] [--jobs 2] [--datasets songs,vehicle]

The loop of the app (`app_loop.py`), with people who err as Table IV says and a run after ten answers. After 20 and
after 100 answers up to ten items are moved, and the next run is computed: first items of one class, from the cluster
where most of those lie that are not in the cluster of their class, into that cluster; then, against the features and
the answers, the surest items of the largest cluster into the one that is next for them. Every move is made from the
same state. A run begins from the one before and its moves of clusters differ, so others move without an edit as well.
Results are printed; those of benchmarks/results/questions.txt were printed so.
"""

import os
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks import datasets, rounds
from benchmarks.app_loop import AppLoop, default
from benchmarks.questions import SONGS, answered, interval, songs
from benchmarks.rounds import Cache, Row, Task
from tercet.edits import pairs
from tercet.runs.results import Array
from tercet.worker.hand_edits import Edits

NAMES = (SONGS, "vehicle", "letters_ijlt", "wine")
CANDIDATES = ("features", "auto")
ANSWERS = (20, 100)
MOVED = 10
ONE_CLASS, SUREST = KINDS = ("one class", "surest")


def main() -> None:
    arguments = datasets.parser(__doc__).parse_args()
    chosen = arguments.datasets or NAMES
    names = [SONGS] * (SONGS in chosen)
    names += datasets.available([name for name in chosen if name != SONGS], arguments.data)
    seeds = range(arguments.runs)
    tasks = [Task("edits", name, "people", method, seed) for seed in seeds for name in names for method in CANDIDATES]
    cache = Cache(arguments.cache, "edits")
    rounds.run(tasks, partial(edit, folder=arguments.data), cache, arguments.jobs)
    print("\n".join(table(cache)))


def edit(task: Task, folder: Path | None) -> Row:
    """The shares of the moved items that stay, of those like them that follow, and of all others that move."""
    data = songs(task.seed) if task.dataset == SONGS else datasets.load(task.dataset, folder)
    rng = np.random.default_rng(task.seed)
    loop = AppLoop(data.X, data.n_clusters, one_scale=task.dataset == SONGS, seed=task.seed, candidates=task.method)
    due, figures = default("rerun_answers"), {}
    for count in range(due, ANSWERS[-1] + 1, due):
        loop.answer(due, lambda asked: answered(data.y, asked, task.setting, rng))
        loop.run()
        if count not in ANSWERS:
            continue
        alike, home = misplaced(data.y, loop.labels)
        moved = np.sort(rng.permutation(alike)[: min(MOVED, 2 * len(alike) // 3)])
        if len(moved):
            figures[f"{count} {ONE_CLASS}"] = _after(loop, moved, home, alike)
        moved, home = surest(loop)
        figures[f"{count} {SUREST}"] = _after(loop, moved, home, moved)
    return figures


def misplaced(y: Array, labels: Array) -> tuple[Array, int]:
    """The most items of one class that lie together in a cluster other than the class's own, and that cluster."""
    best, home = np.empty(0, dtype=np.int64), 0
    for label in range(y.max() + 1):
        counts = np.bincount(labels[y == label])
        for cluster in np.flatnonzero(counts):
            items = np.flatnonzero((y == label) & (labels == cluster))
            if cluster != counts.argmax() and len(items) > len(best):
                best, home = items, int(counts.argmax())
    return best, home


def surest(loop: AppLoop) -> tuple[Array, int]:
    """The surest items of the largest cluster, and the cluster that is next for them."""
    assert loop.previous is not None, "a loop begins with a run"
    result = loop.previous.result
    largest = int(np.bincount(result.labels).argmax())
    members = np.flatnonzero(result.labels == largest)
    items = np.sort(members[np.argsort(-result.confidence[members], kind="stable")][:MOVED])
    chances = result.posterior[items].mean(axis=0)
    chances[largest - 1] = -1
    return items, int(chances.argmax()) + 1


def edited_run(loop: AppLoop, moved: Array, home: int) -> None:
    """Compute the next run with the links of a move, and the clusters as moved."""
    assert loop.previous is not None, "a loop begins with a run"
    result = loop.previous.result
    nobody, no_links = np.empty(0, np.int64), np.zeros(len(result.labels), np.int64)
    linked = pairs.move(pairs.EditedClusters(result, moved, moved, nobody, no_links), moved, home)
    alike, apart = (np.array([pair[:2] for pair in linked if pair[2] == together]) for together in (True, False))
    labels = result.labels.astype(np.int64)
    labels[moved] = home
    are_stand_ins = np.ones(len(alike), bool), np.ones(len(apart), bool)
    edits = Edits(alike, apart, np.ones(len(alike)), np.ones(len(apart)), labels, (), *are_stand_ins)
    inputs = loop._inputs()
    loop._inputs = lambda: replace(inputs, edits=edits)  # type: ignore[method-assign]
    loop.run()


def _after(loop: AppLoop, moved: Array, home: int, alike: Array) -> dict[str, float | None]:
    """What the next run does with a move of some of the items that are alike."""
    before, after, unedited = loop.labels, deepcopy(loop), deepcopy(loop)
    edited_run(after, moved, home)
    unedited.run()
    unrelated = np.setdiff1d(np.arange(len(before)), np.union1d(moved, alike))
    following = np.setdiff1d(alike, moved)
    return {
        "stay": float(np.mean(after.labels[moved] == home)),
        "follow": float(np.mean(after.labels[following] == home)) if len(following) else None,
        "move": float(np.mean(after.labels[unrelated] != before[unrelated])),
        "move unedited": float(np.mean(unedited.labels[unrelated] != before[unrelated])),
    }


def table(cache: Cache) -> list[str]:
    lines = [f"{'':14}{'answers  moved':22}{'candidates':12}runs" + "".join(f"{name:>20}" for name in _FIGURES)]
    for name in NAMES:
        for setting in (f"{count} {kind}" for count in ANSWERS for kind in KINDS):
            for method in CANDIDATES:
                rows = [row[setting] for row in cache.rows.values() if _is_of(row, name, method) and setting in row]
                if rows:
                    columns = [[row[figure] for row in rows if row[figure] is not None] for figure in _FIGURES]
                    shown = "".join(f"{interval(np.array(values)) if values else '':>20}" for values in columns)
                    lines.append(f"{name:14}{setting:22}{method:12}{len(rows):4}{shown}")
    return lines


_FIGURES = ("stay", "follow", "move", "move unedited")


def _is_of(row: Row, name: str, method: str) -> bool:
    return bool(row["dataset"] == name and row["method"] == method)


if __name__ == "__main__":
    main()
