"""The figures of the bag constraints paper (Fig. 1 to 4) with this code, and what a graph of neighbours adds.

Three sections: more and more bags labelled with as many clusters as classes (Fig. 2 and 3), the weight of the
constraints (Fig. 1), and more clusters than classes (Fig. 4). Each run draws its own labelled bags; the methods of
a run see the same.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import datasets, plots, tables
from benchmarks.rounds import Cache, Row, Task
from tercet_algorithms import BagSpectralClustering
from tercet_algorithms.answers.metrics import purity
from tercet_algorithms.bags.graph import dense_graph
from tercet_algorithms.bags.methods import METHODS as KINDS

NAMES = ("letter_carroll", "birdsong_hja")
NEIGHBORS: Row = {"n_neighbors": 20}
METHODS: dict[str, Row] = {kind: {"method": kind} for kind in KINDS} | {
    "bag, ones": {"method": "bag", "center": "ones"},
    **{f"{kind}, 20 neighbours": {"method": kind, **NEIGHBORS} for kind in ("spectral", "bag", "both")},
    **{f"{kind}, 10 neighbours": {"method": kind, "n_neighbors": 10} for kind in ("bag", "both")},
}
ALL = tuple(METHODS)
WITHOUT = ("spectral", "spectral, 20 neighbours")  # what is labelled is nothing to them

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
LABELLED = [f"labelled {share}" for share in SHARES]
ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 2.0, 5.0)
RELATIVE = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
WEIGHTED = {"bag": ALPHAS, "bag, 20 neighbours": RELATIVE, "both, 20 neighbours": RELATIVE}
STEPS = 7
MORE = (*WITHOUT, "bag", "bag-without-links", "links", "both", "bag, 20 neighbours", "both, 20 neighbours")
NOTES = """\
Cells: mean and half of the 95 % interval over runs. Each run labels its own share of the bags.
A bag's labels are those of its items. All pairs of items where no number of neighbours is named.
In the paper: bag = CSP, bag-without-links = CSP w.o.clml, spectral = SP, links-additive = SpLearn,
links = SpLearn normalised like CSP, regularized = SpReg. cannot-link and both are not in it.
"""
MEASURES = {"nmi": "NORMALISED MUTUAL INFORMATION", "purity": "CLASS PURITY"}

# Another implementation written from the paper: means of 5 (birdsong_hja) or 8 runs; its letters were drawn anew.
ELSEWHERE = {
    "birdsong_hja": {
        "spectral": (0.431,) * 5,
        "bag": (0.435, 0.467, 0.493, 0.544, 0.615),
        "bag, ones": (0.436, 0.463, 0.486, 0.554, 0.602),
        "bag-without-links": (0.429, 0.454, 0.478, 0.501, 0.538),
        "links": (0.433, 0.466, 0.524, 0.578, 0.699),
        "links-additive": (0.314, 0.344, 0.377, 0.489, 0.589),
    },
    "letter_carroll": {
        "spectral": (0.467,) * 5,
        "bag": (0.468, 0.472, 0.473, 0.470, 0.487),
        "links": (0.467, 0.471, 0.475, 0.499, 0.538),
        "links-additive": (0.311, 0.301, 0.313, 0.316, 0.358),
        "regularized": (0.467,) * 5,
    },
}


@dataclass(frozen=True)
class Bagged:
    """A data set with its bags: `labels` (bags, classes) of 0 and 1."""

    X: np.ndarray
    y: np.ndarray
    bags: np.ndarray
    labels: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y))


def names(available: list[str]) -> list[str]:
    """Those that come in bags."""
    return [name for name in available if name in NAMES]


def needs_metric(method: str) -> bool:
    return False


def tasks(names: Iterable[str], methods: Iterable[str], runs: int) -> Iterator[Task]:
    """Section by section; within a section seed by seed."""
    chosen = list(methods)
    for section in ("labelled", "alpha", "clusters"):
        cells = [(setting, method) for method in chosen for setting in settings(method) if setting.startswith(section)]
        for seed in range(runs):
            for name in names:
                yield from (Task("bags", name, setting, method, seed) for setting, method in cells)


def settings(method: str) -> list[str]:
    """The columns of all sections in which a method has a value."""
    columns = LABELLED[-1:] if method in WITHOUT else list(LABELLED)
    columns += [f"alpha {alpha}" for alpha in WEIGHTED.get(method, ())]
    return columns + [f"clusters {step}" for step in range(STEPS) if method in MORE]


def work(task: Task, folder: Path | None, python: str | None) -> Row:
    """One clustering and how good it is."""
    data = _bagged(task.dataset, folder)
    section, _, number = task.setting.partition(" ")
    parameters = dict(METHODS[task.method])
    labels, n_clusters = data.labels, data.n_classes
    if section == "labelled":
        labels = some(data.labels, float(number), task.seed)
    elif section == "alpha":
        parameters["alpha"] = float(number)
    else:
        n_clusters = n_clusters_of(data.n_classes, int(number))
    X, seconds, start = data.X, 0.0, time.process_time()
    if "n_neighbors" not in parameters:  # all pairs take longer to compare than to cluster, and are always the same
        X, seconds = graph(task.dataset, folder)
        parameters["affinity"] = "precomputed"
        start = time.process_time()
    model = BagSpectralClustering(n_clusters, random_state=task.seed, **parameters)
    predicted = model.fit(X, bags=data.bags, bag_labels=labels).labels_
    seconds += time.process_time() - start
    return {
        "seconds": seconds,
        "purity": purity(data.y, predicted),
        "nmi": normalized_mutual_info_score(data.y, predicted),
    }


def some(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The labels of a share of the bags; of one seed a larger share holds the smaller."""
    order = np.random.default_rng([seed, len(labels)]).permutation(len(labels))
    is_labelled = np.zeros_like(labels)
    is_labelled[order[: round(share * len(labels))]] = 1
    chosen: np.ndarray = labels * is_labelled
    return chosen


def n_clusters_of(n_classes: int, step: int) -> int:
    """From as many as classes to twice as many."""
    return round(n_classes * (1 + step / (STEPS - 1)))


@lru_cache(maxsize=2)
def _bagged(name: str, folder: Path | None) -> Bagged:
    data = datasets.load(name, folder)
    assert folder is not None, "sets with bags are files"
    with np.load(folder / f"{name}.npz") as arrays:
        key = "bag_labels_from_instances" if "bag_labels_from_instances" in arrays else "bag_labels"
        return Bagged(data.X, data.y, arrays["bag"], arrays[key])


@lru_cache(maxsize=2)
def graph(name: str, folder: Path | None) -> tuple[np.ndarray, float]:
    """The graph of all pairs, and the CPU seconds that it took."""
    start = time.process_time()
    W = dense_graph(_bagged(name, folder).X, 7)[0]
    return W, time.process_time() - start


def report(cache: Cache, names: list[str]) -> str:
    """All tables of one cache as text."""
    parts = [NOTES]
    for measure, title in MEASURES.items():
        cells = tables.cells(cache, measure)
        present = [name for name in names if any(key[0] == name for key in cells)]
        parts += [f"{title} (Fig. {'2' if measure == 'nmi' else '3'}): share of the bags that are labelled", ""]
        parts += [tables.table(_spread(cells), name, ALL, LABELLED, list(map(str, SHARES))) for name in present]
        if measure == "nmi":
            parts += [_elsewhere(name) for name in present]
    for name in present:
        parts += ["CLASS PURITY with all bags labelled, by alpha (Fig. 1)", ""]
        for scale, alphas in (("absolute", ALPHAS), ("relative", RELATIVE)):
            rows = [method for method, values in WEIGHTED.items() if values is alphas]
            columns = [f"alpha {alpha}" for alpha in alphas]
            parts.append(tables.table(cells, name, rows, columns, list(map(str, alphas)), f"{name}, {scale} scale"))
        numbers = [str(n_clusters_of({"letter_carroll": 24}.get(name, 13), step)) for step in range(STEPS)]
        parts += ["CLASS PURITY with all bags labelled, by the number of clusters (Fig. 4)", ""]
        parts.append(tables.table(cells, name, MORE, _steps(), numbers))
    seconds = tables.cells(cache, "seconds")
    parts += ["CPU SECONDS OF ONE FIT, one thread, on a machine shared with other work", ""]
    parts += [tables.table(_spread(seconds), name, ALL, LABELLED, list(map(str, SHARES))) for name in present]
    return "\n".join([*parts, tables.failures(cache)])


def _steps() -> list[str]:
    return [f"clusters {step}" for step in range(STEPS)]


def _spread(found: tables.Cells) -> tables.Cells:
    """What needs no labels stands in every column."""
    same = {
        (key[0], setting, key[2]): values
        for key, values in found.items()
        if key[2] in WITHOUT and key[1] == LABELLED[-1]
        for setting in LABELLED
    }
    return found | same


def _elsewhere(name: str) -> str:
    rows = ELSEWHERE.get(name, {})
    lines = [f"{method:26}" + "".join(f"{value:>14.3f}" for value in values) for method, values in rows.items()]
    drawn = ", on another draw of the letters" if name == "letter_carroll" else ""
    return "\n".join([f"{name}: another implementation's means of 5 to 8 runs{drawn}", *lines, ""])


def draw(cache: Cache, folder: Path) -> None:
    """One picture a figure and data set."""
    curves = [method for method in ALL if "10" not in method and method != "bag, ones"]
    for name in NAMES:
        for measure in MEASURES:
            cells = _spread(tables.cells(cache, measure))
            lines = [tables.curve(cells, name, method, LABELLED, SHARES) for method in curves]
            _write(folder / f"papers_bags_{name}_{measure}.svg", name, "share of bags labelled", measure, lines)
        cells = tables.cells(cache, "purity")
        columns = [f"alpha {alpha}" for alpha in ALPHAS if alpha <= 1]
        lines = [tables.curve(cells, name, "bag", columns, [alpha for alpha in ALPHAS if alpha <= 1])]
        _write(folder / f"papers_bags_{name}_alpha.svg", name, "alpha", "purity", lines)
        places = [1 + step / (STEPS - 1) for step in range(STEPS)]
        lines = [tables.curve(cells, name, method, _steps(), places) for method in MORE]
        _write(folder / f"papers_bags_{name}_clusters.svg", name, "clusters / classes", "purity", lines)


def _write(path: Path, title: str, x_label: str, y_label: str, lines: list[plots.Line]) -> None:
    lines = [replace(line, name=line.name.replace("neighbours", "near")) for line in lines]  # or it is cut off
    if any(np.isfinite(line.y).any() for line in lines):
        plots.write(path, title, x_label, y_label, lines)
