"""Which features cluster best by themselves: recipes against what people have without them, on labelled sets.

    python -m benchmarks.recipes --cache DIR [--data FOLDER] [--runs 5] [--jobs 1]

Every set lies on the disk as files such as people have. For each recipe: NMI of K-means and of DCRC without an answer
(mean ± half of its 95 % interval over seeds of the clustering), the share of items whose nearest neighbour is of their
class, and the agreement of distances with people's answers where there are any. Results go to
benchmarks/results/recipes.txt.
"""

import argparse
import os
from functools import cache
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors

from benchmarks import recipes_data, rounds
from benchmarks.recipes_data import LabelledSet
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.features.computing import FeatureTable, compute
from tercet.features.decoding import read_picture
from tercet.features.recipes import default_recipe
from tercet_algorithms import DCRC

RESULTS = Path(__file__).with_name("results") / "recipes.txt"
COMMAND = "python -m benchmarks.recipes --cache DIR --data FOLDER"
LAM = 2**-6
# Tried with 300 answers a set and left out of the code.
WEIGHING = """\
Groups weighed by how well they predict 300 answers (Table IV's mistakes; half of people's own for the eggs) gained
+0.013 ±0.011 of held-out agreement over the sets, and +0.004 ±0.005 with people's answers: not worth its code."""


def main() -> None:
    parser = rounds.parser(__doc__, runs=5, jobs=1)
    parser.add_argument("--data", type=Path, help="folder with birdsong_clips, the eggs and free-spoken-digit-dataset")
    parser.add_argument("--only", nargs="*", help="names of sets")
    arguments = parser.parse_args()
    os.environ["RECIPES_CACHE"], os.environ["RECIPES_DATA"] = str(arguments.cache), str(arguments.data or "")
    finished = Cache(arguments.cache, "recipes")
    rounds.run(tasks(arguments), clustered, finished, arguments.jobs)
    text = report(finished)
    print(text)
    RESULTS.write_text(f"{COMMAND}\n\n{text}\n")


def tasks(arguments: argparse.Namespace) -> list[Task]:
    listed = []
    for name in arguments.only or recipes_data.sets(arguments.cache, arguments.data):
        labelled = labelled_set(name)
        if labelled is None:
            print(f"{name} is left out: its files or its program are not here")
            continue
        listed += [
            Task("recipe", name, "", recipe, seed) for recipe in recipes_of(labelled) for seed in range(arguments.runs)
        ]
    return listed


@cache
def labelled_set(name: str) -> LabelledSet | None:
    data = os.environ["RECIPES_DATA"]
    return recipes_data.sets(Path(os.environ["RECIPES_CACHE"]), Path(data) if data else None)[name]()


def recipes_of(made: LabelledSet) -> list[str]:
    """Names of what is compared on a set: the default recipe in two scales, its groups, and raw pixels."""
    kinds = list(dict.fromkeys(feature_table(made.name).groups))
    pixels = ["pixels"] if "picture_shapes" in kinds else []
    return ["default", "default, standardised", *(kinds if len(kinds) > 1 else []), *pixels]


@cache
def features(name: str, recipe: str) -> np.ndarray:
    labelled = labelled_set(name)
    assert labelled is not None
    if recipe == "pixels":
        return np.array([read_picture(item.path, 16).mean(axis=2).ravel() for item in labelled.inputs if item.path])
    table = feature_table(name)
    values = table.values.astype(np.float64)
    if recipe in table.groups:
        return values[:, np.array(table.groups) == recipe]
    return values / np.maximum(values.std(axis=0), 1e-9) if "standardised" in recipe else values


@cache
def feature_table(name: str) -> FeatureTable:
    labelled = labelled_set(name)
    assert labelled is not None
    n_clusters = len(np.unique(labelled.y))
    return compute(default_recipe(labelled.inputs), labelled.inputs, None, lambda share, words: None, n_clusters)


def clustered(task: Task) -> Row:
    """How well features cluster by themselves."""
    X, labelled = features(task.dataset, task.method), labelled_set(task.dataset)
    assert labelled is not None
    n_clusters = len(np.unique(labelled.y))
    k_means = KMeans(n_clusters, n_init=10, random_state=task.seed).fit_predict(X)
    row: Row = {"k_means": normalized_mutual_info_score(labelled.y, k_means), "neighbour": nearest_share(X, labelled.y)}
    if task.method.startswith("default"):
        model = DCRC(n_clusters, lam=LAM, n_init=3, standardize=False, random_state=task.seed).fit(unit_variance(X))
        row["dcrc"] = normalized_mutual_info_score(labelled.y, model.labels_)
    if labelled.triplets is not None:
        row["agreement"] = agreement(X, labelled.triplets)
    return row


def unit_variance(X: np.ndarray) -> np.ndarray:
    return X * np.sqrt(X.shape[1] / X.var(axis=0).sum())


def nearest_share(X: np.ndarray, y: np.ndarray) -> float:
    neighbours = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
    return float((y[neighbours] == y).mean())


def agreement(X: np.ndarray, triplets: np.ndarray) -> float:
    """Share of triplets whose second item lies closer to the first than the third does."""
    head, near, far = X[triplets.T]
    return float((((head - near) ** 2).sum(axis=1) < ((head - far) ** 2).sum(axis=1)).mean())


def report(finished: Cache) -> str:
    lines = [f"{'set':14}{'recipe':24}{'K-means NMI':>16}{'DCRC NMI':>16}{'neighbour':>11}{'answers':>9}"]
    for (name, recipe), rows in by_method(finished, "recipe").items():
        lines.append(f"{name:14}{recipe:24}" + cells(rows, ("k_means", "dcrc"), 16) + last(rows))
    return "\n".join([*lines, "", WEIGHING])


def by_method(finished: Cache, experiment: str) -> dict[tuple[str, str], list[Row]]:
    rows: dict[tuple[str, str], list[Row]] = {}
    order = list(recipes_data.sets(Path(), None))
    for row in sorted(finished.rows.values(), key=lambda row: order.index(row["dataset"])):
        if row["experiment"] == experiment and "failed" not in row:
            rows.setdefault((row["dataset"], row["method"]), []).append(row)
    return rows


def cells(rows: list[Row], names: tuple[str, ...], width: int) -> str:
    text = ""
    for name in names:
        mean, half = mean_and_half_width([row[name] for row in rows]) if name in rows[0] else (np.nan, np.nan)
        text += f"{f'{mean:.3f} ±{half:.3f}' if name in rows[0] else '':>{width}}"
    return text


def last(rows: list[Row]) -> str:
    people = f"{rows[0]['agreement']:.3f}" if "agreement" in rows[0] else ""
    return f"{rows[0]['neighbour']:11.3f}{people:>9}".rstrip()


if __name__ == "__main__":
    main()
