"""What answers make of clusters: starts made from them and how they are believed, against an older version.

    git worktree add BEFORE COMMIT
    python -m benchmarks.answers --before BEFORE --data DIR --cache DIR [--runs 20] [--jobs 2]

Both versions see the same random questions with the same answers; the older one is told how far to believe them, 0.15
for people and 0.05 for right answers, this one is not. It is fitted as it comes ("DCRC"), to the features alone, and
to these with few answers counting less, as projects do ("features, shrunk"). K-means and spectral clustering, which
read no answers, say where answers have made clusters worse. Results go to
benchmarks/results/answers.txt. Finished rows are kept in --cache: a run that was stopped goes on where it was, and
--runs 0 only writes the table again.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from benchmarks import datasets, rounds, tables
from benchmarks.papers_dcrc import ask
from benchmarks.rounds import Cache, Row, Task
from tercet_algorithms import DCRC

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.answers --before DIR --data DIR --cache DIR"
NAMES = ("iris", "wine", "balance_scale", "ionosphere", "vehicle", "letters_ijlt", "digits")
SETTINGS = ("people 0.1", "people 0.3", "right 0.1", "right 0.3")
BEFORE, NOW, ALONE, SHRUNK = "DCRC before", "DCRC", "features alone", "features, shrunk"
PARAMETERS: dict[str, Row] = {
    NOW: {},
    ALONE: {"candidates": "features"},
    SHRUNK: {"candidates": "features", "weight": "shrunk"},
}
WITHOUT = ("K-means", "spectral")
METHODS = (BEFORE, *PARAMETERS, *WITHOUT)
NONE = "none"  # the setting of methods that read no answers
# The older version in a process of its own: X, triplets and answers in, labels out.
_FIT_BEFORE = """
import json, sys
import numpy as np
from {package} import DCRC
with np.load(sys.argv[1]) as file:
    X, asked = file["X"], {{name: file[name] for name in ("triplets", "answers")}}
print(json.dumps(DCRC(**json.loads(sys.argv[2])).fit(X, **asked).labels_.tolist()))
"""


def main() -> None:
    parser = datasets.parser(__doc__)
    parser.add_argument("--before", type=Path, required=True, help="folder of the older version")
    arguments = parser.parse_args()
    names = datasets.available([name for name in arguments.datasets or NAMES if name in NAMES], arguments.data)
    cache = Cache(arguments.cache, "answers")
    work = partial(cluster, folder=arguments.data, before=arguments.before)
    rounds.run(tasks(names, arguments.runs), work, cache, arguments.jobs)
    text = report(cache)
    print(text)
    (RESULTS / "answers.txt").write_text(f"{COMMAND}\n\n{text}")


def tasks(names: list[str], runs: int) -> Iterator[Task]:
    """Seed by seed; within a seed all data sets, settings and methods."""
    for seed in range(runs):
        for name in names:
            for method in METHODS:
                for setting in (NONE,) if method in WITHOUT else SETTINGS:
                    yield Task("answers", name, setting, method, seed)


def cluster(task: Task, folder: Path | None, before: Path) -> Row:
    """One clustering, and how good it is."""
    data = datasets.load(task.dataset, folder)
    triplets, answers = ask(data, task.setting, task.seed)
    if task.method == "K-means":
        labels = KMeans(data.n_clusters, n_init=10, random_state=task.seed).fit(data.X).labels_
    elif task.method == "spectral":
        model = SpectralClustering(data.n_clusters, affinity="nearest_neighbors", random_state=task.seed)
        labels = model.fit(data.X).labels_
    elif task.method in PARAMETERS:
        model = DCRC(data.n_clusters, random_state=task.seed, **PARAMETERS[task.method])
        labels = model.fit(data.X, triplets=triplets, answers=answers).labels_
    else:
        epsilon = 0.15 if task.setting.startswith("people") else 0.05
        parameters = {"n_clusters": data.n_clusters, "random_state": task.seed, "epsilon": epsilon}
        labels = _fit_before(data.X, triplets, answers, parameters, before)
    return {"ari": float(adjusted_rand_score(data.y, labels))}


def _fit_before(X: np.ndarray, triplets: np.ndarray, answers: np.ndarray, parameters: Row, before: Path) -> np.ndarray:
    """Labels by the older version, which another process imports by the name that it had."""
    package = "tercet_algorithms" if (before / "algorithms" / "tercet_algorithms").exists() else "algorithms"
    script, path = _FIT_BEFORE.format(package=package), os.pathsep.join([str(before), str(before / "algorithms")])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "asked.npz"
        np.savez(file, X=X, triplets=triplets, answers=answers)
        command = [sys.executable, "-P", "-W", "ignore", "-c", script, str(file), json.dumps(parameters)]
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return np.array(json.loads(done.stdout))


def report(cache: Cache) -> str:
    """ARI of all data sets and their mean, and what this version gains, seed by seed."""
    names = [name for name in NAMES if any(row["dataset"] == name for row in cache.rows.values())]
    columns = [NONE, *SETTINGS]
    headings = [NONE, *(f"{setting}N" for setting in SETTINGS)]
    means = ["MEAN of all", *names]
    cells = tables.add_mean(tables.cells(cache, "ari"), names, means[0])
    parts = [
        "STARTS AND BELIEFS: adjusted Rand index, mean and half of the 95 % interval over runs.",
        "Columns: answers as a share of the items, of people who err (Table IV) or right ones.",
        "",
        *(tables.table(cells, name, METHODS, columns, headings) for name in means),
        tables.advantage(cells, means, SETTINGS, NOW, (BEFORE,), headings[1:]),
        *(tables.advantage(cells, means, SETTINGS, method, (ALONE,), headings[1:]) for method in (NOW, SHRUNK)),
        tables.failures(cache),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
