"""The tables of the DCRC paper (Fig. 4, 6, 7 and Table V) with this code: quality against the number of answers.

Every method sees the same questions of a seed; more answers are more of the same list. Answers are right (the
paper's noise-free setting) or those of people who err as Table IV says, where epsilon is 0.15 as in the paper.
"""

import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import baselines, datasets, plots, tables
from benchmarks.rounds import Cache, Row, Task
from tercet_algorithms import DCRC
from tercet_algorithms.answers.metrics import pairwise_f
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers
from tercet_algorithms.dcrc.cross_validation import DCRCCV

LARGE = ("letter_carroll", "digits", "letters_ijlt", "birdsong_hja")  # of these fewer runs can be had
SHARES = (0.05, 0.1, 0.2, 0.3)
PEOPLE_SHARES = (0.1, 0.3)
RIGHT = [f"right {share}" for share in SHARES]
PEOPLE = [f"people {share}" for share in PEOPLE_SHARES]
NONE = "none"  # of methods that take no answers, and of DCRC without them

OURS: dict[str, Row] = {
    "DCRC": {},
    "DCRC, balance off": {"balance": False},
    "DCRC-YN": {"use_dnk": False},
    "DCRC em, 1 start": {"solver": "em", "n_init": 1, "n_moves": 0},
    "DCRC hard": {"epsilon": 0.0, "n_moves": 0},
}
CHOSEN = "DCRCCV"
WITHOUT = ("K-means", "kernel k-means")
THEIRS = {
    "ITML 0.1": "itml-0.1",
    "ITML 1": "itml-1",
    "LSML": "lsml",
    "LSML x 1000": "lsml-scaled",
    "MMC diagonal": "mmc",
    "sparseLP": "sparseLP",
    "SVaD-like": "SVaD-like",
}
METHODS = ALL = (*OURS, CHOSEN, *WITHOUT, *THEIRS)
HEADINGS = ["none", *(f"{share}N" for share in SHARES), *(f"people {share}N" for share in PEOPLE_SHARES)]
DRAWN = ("DCRC", CHOSEN, "DCRC-YN", "DCRC em, 1 start", "DCRC hard", "ITML 1", "LSML x 1000", "sparseLP", "K-means")


def names(available: list[str]) -> list[str]:
    """The data sets of these tables: all."""
    return available


def needs_metric(method: str) -> bool:
    return THEIRS.get(method) in baselines.METRIC_LEARN


def tasks(names: Iterable[str], methods: Iterable[str], runs: int) -> Iterator[Task]:
    """Seed by seed; within a seed all data sets and methods."""
    for seed in range(runs):
        for name in names:
            for method in methods:
                for setting in settings(method):
                    yield Task("dcrc", name, setting, method, seed)


def settings(method: str) -> list[str]:
    """The columns of the table in which a method has a value."""
    if method in WITHOUT:
        return [NONE]
    if method == "DCRC hard":
        return RIGHT
    if method == CHOSEN:  # fifty fits each
        return [RIGHT[0], RIGHT[1], RIGHT[3], PEOPLE[1]]
    return [NONE, *RIGHT, *PEOPLE] if method in ("DCRC", "DCRC, balance off") else RIGHT + PEOPLE


def work(task: Task, folder: Path | None, python: str | None) -> Row:
    """One clustering and how good it is."""
    data = _dataset(task.dataset, folder)
    triplets, answers = ask(data, task.setting, task.seed)
    epsilon = 0.15 if task.setting.startswith("people") else 0.05
    start = time.process_time()
    labels, predicted = fit(task, data, triplets, answers, epsilon, python)
    row: Row = {"seconds": time.process_time() - start, "answers": len(answers), **judge(data.y, labels)}
    if predicted is not None:
        row["f_predicted"] = pairwise_f(data.y, predicted)
    return row


def ask(data: datasets.Dataset, setting: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The first questions of the seed's list, with their answers."""
    kind, _, share = setting.partition(" ")
    rng = np.random.default_rng([seed, len(data.y)])
    triplets = random_triplets(len(data.y), int(max(SHARES) * len(data.y)), rng)
    triplets = triplets[: int(float(share) * len(data.y)) if share else 0]
    if kind == "people":
        return triplets, noisy_answers(data.y, triplets, TABLE_IV, np.random.default_rng([seed, 1]))
    return triplets, true_answers(data.y, triplets)


def fit(
    task: Task, data: datasets.Dataset, triplets: np.ndarray, answers: np.ndarray, epsilon: float, python: str | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels, and for DCRC also those of the classifier alone, without what was said about an item itself."""
    method, K = task.method, data.n_clusters
    if method == "K-means":
        return baselines.kmeans(data.X, K, task.seed), None
    if method == "kernel k-means":
        return baselines.kernel_kmeans(data.X, K, task.seed), None
    if method in THEIRS:
        answered = baselines.comparisons(triplets, answers)
        return baselines.cluster(THEIRS[method], data.X, K, answered, python, task.seed), None
    model: DCRC | DCRCCV
    if method == CHOSEN:
        model = DCRCCV(K, balance=(True, False), random_state=task.seed)
    else:
        parameters: Row = {"epsilon": epsilon, **OURS[method]}
        model = DCRC(K, random_state=task.seed, **parameters)
    model.fit(data.X, triplets=triplets, answers=answers)
    return model.labels_, model.predict(data.X)


def judge(y: np.ndarray, labels: np.ndarray) -> Row:
    return {"f": pairwise_f(y, labels), "ari": float(adjusted_rand_score(y, labels))}


@lru_cache(maxsize=4)
def _dataset(name: str, folder: Path | None) -> datasets.Dataset:
    return datasets.load(name, folder)


def report(cache: Cache, names: list[str]) -> str:
    """All tables of one cache as text."""
    columns = [NONE, *RIGHT, *PEOPLE]
    parts = [
        "Columns: answers as a share of the items; right answers, then answers of people who err (Table IV).",
        "Cells: mean and half of the 95 % interval over runs. Each run draws its own questions.",
        f"Small data sets are all but {', '.join(LARGE)}; means are over the runs that all their members have.",
        "DCRC: 10 starts and 10 moves, tau 1, lambda 2^-8, epsilon 0.05 (0.15 for people), balance on.",
        "DCRCCV chooses tau, lambda, epsilon and balance by the log score of held-out answers.",
        "",
    ]
    for measure, title in (("f", "PAIRWISE F"), ("ari", "ADJUSTED RAND INDEX"), ("f_predicted", "F OF predict(X)")):
        cells = tables.cells(cache, measure)
        names = [name for name in names if any(key[0] == name for key in cells)]
        means = _means(names)
        for mean, members in means.items():
            cells = tables.add_mean(cells, members, mean)
        parts += [title, ""]
        parts += [tables.table(cells, name, METHODS, columns, HEADINGS) for name in (*means, *names)]
        if measure == "f":
            for ours in [method for method in ("DCRC", CHOSEN) if any(key[2] == method for key in cells)]:
                parts.append(tables.advantage(cells, names, columns[1:], ours, tuple(THEIRS), HEADINGS[1:]))
    cells = tables.cells(cache, "seconds")
    parts += ["CPU SECONDS OF ONE FIT, one thread, on a machine shared with other work", ""]
    parts += [tables.table(cells, name, (*OURS, CHOSEN, *WITHOUT), columns, HEADINGS) for name in names]
    return "\n".join([*parts, tables.failures(cache)])


def draw(cache: Cache, folder: Path) -> None:
    """One picture a data set, and one of their mean."""
    cells = tables.cells(cache, "f")
    present = [name for name in datasets.NAMES if any(key[0] == name for key in cells)]
    files = {name: name for name in present}
    for number, (mean, members) in enumerate(_means(present).items()):
        cells = tables.add_mean(cells, members, mean)
        files[mean] = ("mean_small", "mean_all")[number]
    for name, file in files.items():
        lines = [tables.curve(cells, name, method, RIGHT, SHARES) for method in DRAWN if method not in WITHOUT]
        lines.append(tables.curve(cells, name, "K-means", [NONE] * len(SHARES), SHARES))
        if any(np.isfinite(line.y).any() for line in lines):
            plots.write(folder / f"papers_dcrc_{file}.svg", name, "answers / items", "pairwise F", lines)


def _means(names: list[str]) -> dict[str, list[str]]:
    """Means over data sets worth a table, by their titles."""
    small = [name for name in names if name not in LARGE]
    means = {f"MEAN of the {len(small)} small data sets": small, "MEAN of all data sets": names}
    return {title: members for title, members in means.items() if members}
