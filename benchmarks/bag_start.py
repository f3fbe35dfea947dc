"""What bag labels and answers are worth together: clusters of bag labels alone, of answers alone, and of both.

    python -m benchmarks.bag_start --data DIR --cache DIR [--runs 20] [--jobs 1] [--datasets birdsong_hja]

A project whose recordings are labelled can start from clusters of the labels (BagSpectralClustering) and let answers
improve them in DCRC, or give DCRC both in one objective. Answers are those of people who err as Table IV says, to
random questions or to suggested ones, and are fitted with epsilon 0.15. Results go to
benchmarks/results/bag_start.txt. Finished rows are kept in --cache; --runs 0 only writes the results again.
"""

import os
import time
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks import datasets, rounds, tables
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet_algorithms import DCRC, BagSpectralClustering
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.bag_start --data DIR --cache DIR"
NAMES = ("letter_carroll", "birdsong_hja")
BATCH = 50  # suggested questions are asked so many at a time, with a fit after each
SETTINGS = ("0", "100", "300", "300 suggested")
MANY: Row = {"n_init": 10, "n_moves": 10}
ONE: Row = {"n_init": 1, "n_moves": 0}
OFF: Row = {"balance": False}
# What a method takes besides answers: nothing, clusters of BagSpectralClustering to start from, or the bags.
METHODS: dict[str, tuple[str, Row]] = {
    "answers alone": ("", MANY),
    "answers alone, balance off": ("", MANY | OFF),
    "spectral, then answers": ("bag", ONE),
    "spectral, then answers, balance off": ("bag", ONE | OFF),
    "links, then answers": ("links", ONE),
    "links, then answers, balance off": ("links", ONE | OFF),
    "one objective": ("bags", ONE),
    "one objective, balance off": ("bags", ONE | OFF),
}
SUGGESTED = ("links, then answers", "one objective")
MEASURES = {
    "ari": "ADJUSTED RAND INDEX",
    "nmi": "NORMALISED MUTUAL INFORMATION",
    "seconds": "CPU SECONDS OF THE LAST FIT",
}


def main() -> None:
    arguments = datasets.parser(__doc__, jobs=1, needs_files=True).parse_args()
    names = [name for name in datasets.available(arguments.datasets or list(NAMES), arguments.data) if name in NAMES]
    cache = Cache(arguments.cache, "bag_start")
    rounds.run(tasks(names, arguments.runs), partial(work, folder=arguments.data), cache, arguments.jobs)
    text = f"{COMMAND}\n\n{report(cache)}"
    print(text)
    (RESULTS / "bag_start.txt").write_text(text)


def tasks(names: list[str], runs: int) -> Iterator[Task]:
    for seed in range(runs):
        for name in names:
            for method in METHODS:
                for setting in SETTINGS:
                    if setting != "300 suggested" or method in SUGGESTED:
                        yield Task("bag_start", name, setting, method, seed)


def work(task: Task, folder: Path) -> Row:
    """Clusters of one method after so many answers, and how good they are."""
    data, rng = datasets.load(task.dataset, folder), np.random.default_rng(task.seed)
    start, parameters = METHODS[task.method]
    inputs: Row = {}
    if start == "bags":
        inputs = bags_of(task.dataset, folder)
    elif start:
        inputs = {"init": spectral(task.dataset, folder, start, task.seed)}
        if task.setting == "0":
            return scores(data.y, inputs["init"], 0.0)
    model = DCRC(data.n_clusters, epsilon=0.15, random_state=task.seed, **parameters)
    if task.setting == "300 suggested":
        asked = suggested(model, data, inputs, rng)
    else:
        triplets = random_triplets(len(data.y), 300, rng)
        answers = noisy_answers(data.y, triplets, TABLE_IV, rng)
        n = int(task.setting)
        asked = {"triplets": triplets[:n], "answers": answers[:n]}
    before = time.process_time()
    model.fit(data.X, **asked, **inputs)
    return scores(data.y, model.labels_, time.process_time() - before)


def suggested(model: DCRC, data: datasets.Dataset, given: Row, rng: np.random.Generator) -> Row:
    """300 answers, each batch of them to questions that the fit with those before suggests."""
    triplets, answers = np.empty((0, 3), dtype=np.int64), np.empty(0, dtype=np.int64)
    while len(triplets) < 300:
        model.fit(data.X, triplets=triplets, answers=answers, **given)
        asked, _ = model.suggest(BATCH, asked=triplets, random_state=rng)
        triplets = np.concatenate([triplets, asked])
        answers = np.concatenate([answers, noisy_answers(data.y, asked, TABLE_IV, rng)])
    return {"triplets": triplets, "answers": answers}


def bags_of(name: str, folder: Path) -> Row:
    """The bag of every item, and of every bag the classes of its items as its labels."""
    with np.load(folder / f"{name}.npz") as arrays:
        key = "bag_labels_from_instances" if "bag_labels_from_instances" in arrays else "bag_labels"
        return {"bags": arrays["bag"], "bag_labels": arrays[key]}


def spectral(name: str, folder: Path, method: str, seed: int) -> np.ndarray:
    """Clusters of the bag labels alone; of BagSpectralClustering only its k-means differs from seed to seed."""
    embedding = embedded(name, folder, method)
    return KMeans(embedding.shape[1], n_init=10, random_state=seed).fit_predict(embedding)


@lru_cache(maxsize=4)
def embedded(name: str, folder: Path, method: str) -> np.ndarray:
    data = datasets.load(name, folder)
    model = BagSpectralClustering(data.n_clusters, method=method, n_neighbors=None, n_init=1, random_state=0)
    return model.fit(data.X, **bags_of(name, folder)).embedding_


def scores(y: np.ndarray, labels: np.ndarray, seconds: float) -> Row:
    ari, nmi = adjusted_rand_score(y, labels), normalized_mutual_info_score(y, labels)
    return {"ari": float(ari), "nmi": float(nmi), "seconds": seconds}


def report(cache: Cache) -> str:
    """All tables, and what answers and bag labels gain over either alone in the same runs."""
    parts = [
        "Cells: mean and half of the 95 % interval over runs. Columns: answers; random questions unless suggested.",
        "A bag's labels are those of its items. spectral and links are BagSpectralClustering with method 'bag' and",
        "'links'; without answers their rows are these clusters themselves, else DCRC from this one start. one",
        "objective: DCRC with bag labels, one start too. Answers alone: 10 starts and 10 moves.",
        "",
    ]
    for measure, title in MEASURES.items():
        cells = tables.cells(cache, measure)
        parts += [title, *(tables.table(cells, name, list(METHODS), SETTINGS, SETTINGS) for name in NAMES)]
        if measure != "seconds":
            parts += [line for name in NAMES for line in gains(cells, name)] + [""]
    return "\n".join(parts)


def gains(found: tables.Cells, name: str) -> Iterator[str]:
    """Differences of methods in the same runs."""
    both, alone = "one objective", "answers alone"
    pairs = [
        (("300", both), ("0", both), "300 answers and bag labels, minus bag labels alone"),
        (("300", both), ("300", alone), "300 answers and bag labels, minus 300 answers alone"),
        (("300", both), ("300", "links, then answers"), "one objective, minus clusters of bag labels as a start"),
        (("300 suggested", both), ("300", both), "suggested questions, minus random ones"),
    ]
    for minuend, subtrahend, comparison in pairs:
        first, second = found.get((name, *minuend), {}), found.get((name, *subtrahend), {})
        differences = [first[seed] - second[seed] for seed in sorted(set(first) & set(second))]
        if differences:
            mean, half = mean_and_half_width(differences)
            better = sum(difference > 0 for difference in differences)
            yield f"{name}: {comparison}: {mean:+.3f} ±{half:.3f}, better in {better} of {len(differences)} runs"


if __name__ == "__main__":
    main()
