"""The tables of the SKLR paper (Fig. 1 and 4) with this code, and what wrong answers and other questions do to it.

Four sections: outlier questions drawn as in the paper (two of one class, the outlier of another; s = 5 to 19 gives
m = 2 k C(s, 2) of them), equality answers on top, wrong answers of a labeling session over 60 items, and what one
can make of yes, no and don't know. "Hard" is the minimiser of the paper's problem, "Algorithm 1" what it describes.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import comb
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.random import Generator
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from benchmarks import baselines, datasets, plots, tables
from benchmarks.rounds import Cache, Row, Task
from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import Kind
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.sklr.sklr import SKLR

# The two-class partition of the paper's binary experiment: the van against the rest, odd digits against even.
BINARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {"vehicle": lambda y: y == 3, "digits": lambda y: y % 2}
SIZES = {"vehicle": (5, 9, 13, 19)}
OTHER_SIZES = (5, 9, 13)  # 19 of ten classes would be 3,420 questions
PER_CLASS = 100  # digits are drawn anew for each seed
LARGEST = 1000  # more items than this would make a table of one run a day's work

Cluster = Callable[[int], np.ndarray]  # labels at a resolution

HARD: Row = {"C": np.inf}
PAPER: Row = {"C": np.inf, "solver": "paper"}
OURS: dict[str, Row] = {
    "SKLR": {},
    "SKLR hard": HARD,
    "Algorithm 1": PAPER,
    "first inequality only": {"mapping": "strict"},
    "ICD, Frobenius .99": {**PAPER, "low_rank": "cholesky", "criterion": "frobenius"},
}
THEIRS = {"ITML, 100 iterations": "itml-1-short", "LSML": "lsml", "LSML x 1000": "lsml-scaled"}
WITHOUT = "kernel k-means"
METHODS = (*OURS, "DCRC", *THEIRS, WITHOUT)

FLIPS = (0.0, 0.1, 0.2)
SESSION = (60, 360)  # items that were looked at, questions about them
NOISE: dict[str, Row] = {
    "hard": HARD,
    # One iteration of the estimator is ten sweeps.
    **{f"Algorithm 1, {10 * rounds} sweeps": {**PAPER, "max_iter": rounds} for rounds in (1, 5, 30)},
    **{f"soft, C = {C}": {"C": C} for C in (0.1, 0.3, 1.0, 3.0)},
}

QUESTIONS = {"vehicle": 720, "digits": 1800}
MAPPINGS = {
    "yes/no, one inequality": ("strict", False),
    "yes/no, both inequalities": ("class", False),
    "one inequality, dnk as one equality": ("strict", True),
    "both inequalities, dnk as one equality": ("class", True),
    "the outlier question itself": ("outlier", True),
}
ALL = tuple(dict.fromkeys((*METHODS, *NOISE, *MAPPINGS)))

EQUALITIES = (0, 50, 100, 200)

# What is looked at: the section that was asked, the measure that holds it, and that of kernel k-means.
VIEWS = {
    "classes": ("multi", "ari", "ari"),
    "two groups": ("binary", "ari", "ari_binary"),
    "classes of mixed": ("mixed", "ari", "ari"),
    "two groups of mixed": ("mixed", "ari_binary", "ari_binary"),
}
NOISE_MEASURES = {
    "ari": "ARI of all items",
    "ari_labelled": "ARI of the 60",
    "infeasible": "share of runs found infeasible",
    "auc": "wrong answers ranked by suspicion, AUC",
}


def names(available: list[str]) -> list[str]:
    """Those small enough for a full kernel; letters and songs are in the DCRC tables."""
    left_out = {"letters_ijlt", "birdsong_hja", "letter_carroll", "digits389"}
    return [name for name in available if name not in left_out]


def needs_metric(method: str) -> bool:
    return method in THEIRS


def tasks(names: Iterable[str], methods: Iterable[str], runs: int) -> Iterator[Task]:
    """Seed by seed; within a seed all sections."""
    for seed in range(runs):
        for name in names:
            for setting in settings(name):
                yield from (Task("sklr", name, setting, m, seed) for m in of_section(setting) if m in methods)
            yield Task("sklr", name, "none", WITHOUT, seed)


def settings(name: str) -> list[str]:
    """The columns of all sections for one data set."""
    sizes = SIZES.get(name, OTHER_SIZES)
    columns = [f"multi {size}" for size in sizes]
    if name in BINARY:
        columns += [f"binary {size}" for size in sizes] + [f"mixed {size}" for size in sizes[1:]]
        columns += [f"mapping {QUESTIONS[name]}"] + [f"equalities {extra}" for extra in EQUALITIES]
    if name == "vehicle":
        columns += [f"flips {share}" for share in FLIPS]
    return columns


def of_section(setting: str) -> tuple[str, ...]:
    """The methods that a setting is for."""
    sections = {"flips": tuple(NOISE), "mapping": tuple(MAPPINGS), "equalities": ("SKLR hard", "SKLR")}
    return sections.get(setting.split()[0], tuple(m for m in METHODS if m != WITHOUT))


def work(task: Task, folder: Path | None, python: str | None) -> Row:
    """One fit and how good its clusterings are."""
    X, y = items(task.dataset, folder, task.seed)
    section, _, number = task.setting.partition(" ")
    rng = np.random.default_rng([task.seed, crc32(task.setting.encode())])
    start = time.process_time()
    if section == "none":
        model = SKLR(int(y.max()) + 1, random_state=task.seed).fit(X)
        row = judge(task.dataset, y, model.cluster, mixed=task.dataset in BINARY)
    elif section == "flips":
        row = noise(X, y, float(number), NOISE[task.method], task.seed, rng)
    elif section == "mapping":
        row = mapping(X, y, int(number), MAPPINGS[task.method], task.seed, rng)
    elif section == "equalities":
        row = equalities(X, y, int(number), OURS[task.method], task.seed)
    else:
        row = outliers(task, X, y, section, int(number), python, rng)
    return row | {"seconds": time.process_time() - start}


def judge(name: str, y: np.ndarray, cluster: Cluster, *, mixed: bool) -> Row:
    """ARI with the classes, and where asked also with their two-class partition, each at its own resolution."""
    row: Row = {"ari": float(adjusted_rand_score(y, cluster(int(y.max()) + 1)))}
    if mixed:
        row["ari_binary"] = float(adjusted_rand_score(BINARY[name](y), cluster(2)))
    return row


def outliers(
    task: Task, X: np.ndarray, y: np.ndarray, section: str, size: int, python: str | None, rng: Generator
) -> Row:
    """Outlier questions about classes, about the two-class partition, or about both."""
    concepts = [y] if section != "binary" else []
    if section != "multi":
        concepts.append(BINARY[task.dataset](y).astype(int))
    triplets = np.concatenate([drawn(c, 2 * (int(c.max()) + 1) * comb(size, 2), rng) for c in concepts])
    truth = concepts[0]
    cluster = clusterer(task, X, triplets, int(truth.max()) + 1, python)
    return judge(task.dataset, truth, cluster, mixed=section == "mixed") | {"answers": len(triplets)}


def clusterer(task: Task, X: np.ndarray, triplets: np.ndarray, K: int, python: str | None) -> Cluster:
    """A function from a number of clusters to labels, after one fit where the method allows that."""
    method, seed = task.method, task.seed
    if method in THEIRS:
        both = np.concatenate([triplets, triplets[:, [1, 0, 2]]])
        mapped = X @ baselines.metric_learn(python, THEIRS[method], X, both).T
        return lambda k: baselines.kmeans(mapped, k, seed)
    strict = OURS.get(method, {}).get("mapping") == "strict"
    # "yes" under the strict reading is the first of an outlier's two inequalities.
    answers, kinds = (np.ones(len(triplets), int), None) if strict else (np.full(len(triplets), 3), "outlier")
    if method == "DCRC":
        inputs: Row = {"triplets": triplets, "answers": answers, "kinds": kinds}
        return lambda k: DCRC(k, random_state=seed).fit(X, **inputs).labels_
    model = SKLR(K, random_state=seed, **OURS[method])
    resolution: Cluster = model.fit(X, triplets=triplets, answers=answers, kinds=kinds).cluster
    return resolution


def noise(X: np.ndarray, y: np.ndarray, share: float, parameters: Row, seed: int, rng: Generator) -> Row:
    """Questions about a few items, a share of the answers naming another item than the outlier."""
    n_items, n_questions = SESSION
    labelled = rng.choice(len(y), n_items, replace=False)
    triplets = labelled[drawn(y[labelled], n_questions, rng)]
    flipped = rng.random(n_questions) < share
    answers = np.where(flipped, rng.integers(1, 3, n_questions), 3)
    model = SKLR(4, random_state=seed, **parameters).fit(X, triplets=triplets, answers=answers, kinds="outlier")
    labels = model.labels_
    row: Row = {
        "ari": float(adjusted_rand_score(y, labels)),
        "ari_labelled": float(adjusted_rand_score(y[labelled], labels[labelled])),
        "infeasible": float(not model.feasible_),
    }
    if flipped.any():
        row["auc"] = float(roc_auc_score(flipped, suspicion(model, n_questions)))
    return row


def suspicion(model: SKLR, n_answers: int) -> np.ndarray:
    """A score from the order of `suspect_answers_`; answers that are not suspected share the lowest."""
    score = np.zeros(n_answers)
    score[model.suspect_answers_] = np.arange(len(model.suspect_answers_), 0, -1)
    return score


def mapping(X: np.ndarray, y: np.ndarray, n: int, reading: tuple[str, bool], seed: int, rng: Generator) -> Row:
    """Random questions, their answers read in one way."""
    how, with_dnk = reading
    triplets = random_triplets(len(y), n, rng)
    kind: Kind = "outlier" if how == "outlier" else "relative"
    answers = true_answers(y, triplets, kind)
    is_used = np.ones(n, bool) if with_dnk else answers != 0
    parameters: Row = {} if how == "outlier" else {"mapping": how}
    model = SKLR(int(y.max()) + 1, random_state=seed, **parameters)
    model.fit(X, triplets=triplets[is_used], answers=answers[is_used], kinds=kind)
    return {"ari": float(adjusted_rand_score(y, model.labels_))}


def equalities(X: np.ndarray, y: np.ndarray, extra: int, parameters: Row, seed: int) -> Row:
    """90 outlier questions a class, and don't knows of three items of one class or of three classes."""
    K = int(y.max()) + 1
    rng = np.random.default_rng([seed, 4])
    triplets = drawn(y, 90 * K, rng)
    random = random_triplets(len(y), 40 * max(EQUALITIES), rng)
    alike = random[true_answers(y, random, "outlier") == 0][:extra]
    answers = np.repeat([3, 0], [len(triplets), len(alike)])
    model = SKLR(K, random_state=seed, **parameters)
    model.fit(X, triplets=np.concatenate([triplets, alike]), answers=answers, kinds="outlier")
    return {"ari": float(adjusted_rand_score(y, model.labels_))}


def drawn(y: np.ndarray, n: int, rng: Generator) -> np.ndarray:
    """n triplets (n, 3): two items of one class, then one of another; classes as likely as their items."""
    outliers = np.empty((0, 3), dtype=np.int64)
    while len(outliers) < n:
        a, b, c = triplets = rng.integers(len(y), size=(3, 8 * n))
        outliers = np.concatenate([outliers, triplets[:, (y[a] == y[b]) & (y[a] != y[c]) & (a != b)].T])
    return outliers[:n]


@lru_cache(maxsize=4)
def items(name: str, folder: Path | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The items of one run; those of large sets are drawn, so many of each class."""
    data = datasets.load(name, folder)
    if len(data.y) <= LARGEST:
        return data.X, data.y
    rng = np.random.default_rng([seed, 3])
    chosen = np.concatenate([rng.permutation(np.flatnonzero(data.y == k))[:PER_CLASS] for k in np.unique(data.y)])
    X = data.X[chosen]
    X = X[:, np.ptp(X, axis=0) > 0]  # a standard deviation of equal numbers need not be zero
    return (X - X.mean(axis=0)) / X.std(axis=0), data.y[chosen]


def report(cache: Cache, names: list[str]) -> str:
    """All tables of one cache as text."""
    names = [name for name in names if any(row["dataset"] == name for row in cache.rows.values())]
    parts = ["Cells: mean adjusted Rand index and half of its 95 % interval over runs. SKLR is soft, C = 1.", ""]
    parts += [_outlier_table(cache, name, view) for name in names for view in VIEWS if _views(name, view)]
    cells = tables.cells(cache, "ari")
    for name in (name for name in names if name in BINARY):
        columns = [f"equalities {extra}" for extra in EQUALITIES]
        headings = [f"+{extra} dnk" for extra in EQUALITIES]
        title = f"{name}: don't knows of three alike or three different, on top of 90 outlier answers a class"
        parts.append(tables.table(cells, name, ("SKLR", "SKLR hard"), columns, headings, title))
        questions = [f"mapping {QUESTIONS[name]}"]
        title = f"{name}: readings of random questions' yes, no and don't know"
        parts.append(tables.table(cells, name, tuple(MAPPINGS), questions, [f"{QUESTIONS[name]} asked"], title))
    if "vehicle" in names:
        parts += ["WRONG ANSWERS among 360 about 60 vehicles (share of them in the columns)", ""]
        for measure, title in NOISE_MEASURES.items():
            columns = [f"flips {share}" for share in FLIPS]
            headings = [f"{share:.0%}" for share in FLIPS]
            cells = tables.cells(cache, measure)
            parts.append(tables.table(cells, "vehicle", tuple(NOISE), columns, headings, title))
    return "\n".join([*parts, tables.failures(cache)])


def draw(cache: Cache, folder: Path) -> None:
    """One picture for each data set and way of asking."""
    for name in {row["dataset"] for row in cache.rows.values()}:
        for view, (section, measure, _) in VIEWS.items():
            columns = _views(name, view)
            cells = tables.cells(cache, measure)
            places = [_asked(cache, name, column) for column in columns]
            curves = [tables.curve(cells, name, m, columns, places) for m in METHODS if m != WITHOUT]
            if any(np.isfinite(line.y).any() for line in curves):
                file = folder / f"papers_sklr_{name}_{view.replace(' ', '_')}.svg"
                plots.write(file, f"{name}, {section}: {view}", "outlier answers", "adjusted Rand index", curves)


def _views(name: str, view: str) -> list[str]:
    """The columns of a view that a data set has."""
    return [setting for setting in settings(name) if setting.split()[0] == VIEWS[view][0]]


def _asked(cache: Cache, name: str, setting: str) -> float:
    """How many questions a column stands for; NaN while none of its rows is finished."""
    counts = (
        row["answers"]
        for row in cache.rows.values()
        if (row["dataset"], row["setting"]) == (name, setting) and "answers" in row
    )
    return next(counts, np.nan)


def _outlier_table(cache: Cache, name: str, view: str) -> str:
    section, measure, without = VIEWS[view]
    columns = _views(name, view)
    cells = tables.cells(cache, measure)
    cells[name, "none", WITHOUT] = tables.cells(cache, without).get((name, "none", WITHOUT), {})
    headings = ["none", *(f"m {_asked(cache, name, column):.0f}" for column in columns)]
    title = f"{name}, questions: {section}, compared: {view}"
    return tables.table(cells, name, METHODS, ["none", *columns], headings, title)
