"""Whether a posterior of .9 is right nine times in ten: on problems that are tiny, and in the loop of the app.

    python -m benchmarks.calibration --data DIR --cache DIR [--runs 60] [--projects 4] [--jobs 2]

Tiny: seven items of three clusters, whose features are Gaussian and overlap, and questions about them answered as Table
IV says. Exact: the model of the features that a fit without answers has, at full weight, and every one of 3^7 labelings
with its answers' likelihood under the same table. DCRC: from the same fit, with weight 1 and 1/2; "shrunk" as in the
app, where the seven items do not change the model of the others as much. Tempered: a fit after every four answers, each
as sure as those before foresaw the answers (`tercet/worker/outputs/calibration.py`).
A posterior is about an item's own cluster where clusters are named by the fit without answers, made of 300 further
items of known classes, so that names are hardly ever in doubt.

Projects: the app's loop (`app_loop.py`), people who err, a run after ten answers; posteriors of all items of the fits
and of the results that the app stores, after 50 to 300 answers. Each cluster stands for a class so that most items are
right. Results go to benchmarks/results/calibration.txt.
"""

import os
from collections.abc import Iterable
from functools import partial
from itertools import pairwise, product
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import datasets, rounds
from benchmarks.app_loop import AppLoop, default
from benchmarks.datasets import Dataset
from benchmarks.dips import MOONS, SONGS, load
from benchmarks.questions import answered
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.worker.outputs.calibration import HALF_LIFE
from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import Array, answer_table, patterns_of
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets
from tercet_algorithms.answers.temperature import TEMPERATURES, log_likelihoods, temperature_of, tempered

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.calibration --data DIR --cache DIR"
K, N_ASKED, N_OTHERS = 3, 7, 300
SETTINGS = {"8 answers": 8, "24 answers": 24}
METHODS = ("exact", "weight 1", "weight 1/2", "shrunk", "tempered")
EDGES = np.array([0.0, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-9])
COLUMN_OF = {1: 0, -1: 1, 0: 2}
TABLE = answer_table("relative", "people")
CLOUDS = "clouds"  # of points, made anew for each seed
FROM_FILES = ("wine", "iris", "vehicle", "letters_ijlt", "ionosphere", "balance_scale", "digits")
PROJECTS = (SONGS, MOONS, CLOUDS, *FROM_FILES)
AFTER = (50, 100, 200, 300)
EVERY = 4


def main() -> None:
    parser = datasets.parser(__doc__)
    parser.set_defaults(runs=60)
    parser.add_argument("--projects", type=int, default=4, help="seeds of each project")
    arguments = parser.parse_args()
    chosen = arguments.datasets or PROJECTS
    files = datasets.available([name for name in chosen if name in FROM_FILES], arguments.data)
    names = [name for name in (SONGS, MOONS, CLOUDS) if name in chosen] + files
    cache = Cache(arguments.cache, "calibration")
    tiny = [
        Task("calibration", "gaussians", setting, "tiny", seed)
        for seed in range(arguments.runs)
        for setting in SETTINGS
    ]
    loops = [Task("calibration", name, "people", "app", seed) for seed in range(arguments.projects) for name in names]
    rounds.run(tiny, believe, cache, arguments.jobs)
    rounds.run(loops, partial(ask, folder=arguments.data), cache, arguments.jobs)
    text = "\n".join([*(report(cache, setting) for setting in SETTINGS), *report_projects(cache)])
    print(text)
    (RESULTS / "calibration.txt").write_text(f"{COMMAND}\n\n{text}")


def believe(task: Task) -> Row:
    """By method: the posterior of each asked item's likeliest cluster, and whether that is its own."""
    rng = np.random.default_rng(task.seed)
    y = rng.integers(K, size=N_ASKED + N_OTHERS)
    X = 1.2 * np.array([[0, 1], [-0.87, -0.5], [0.87, -0.5]])[y] + rng.normal(size=(len(y), 2))
    triplets = random_triplets(N_ASKED, SETTINGS[task.setting], rng)
    answers = noisy_answers(y, triplets, TABLE_IV, rng)
    model = DCRC(K, n_moves=2, random_state=task.seed).fit(X)
    prior = model.predict_proba(X)[:N_ASKED]
    class_of = classes_of(model.labels_, y)
    shrunk = [refitted(model, X, triplets[:n], answers[:n], 0.5, "shrunk") for n in (*range(0, len(answers), EVERY),)]
    last = refitted(model, X, triplets, answers, 0.5, "shrunk")
    posteriors = {
        "exact": enumerate_labelings(prior, triplets, answers),
        "weight 1": refitted(model, X, triplets, answers, 1.0, "balanced"),
        "weight 1/2": refitted(model, X, triplets, answers, 0.5, "balanced"),
        "shrunk": last,
        "tempered": tempered(last, foreseen_by(shrunk, triplets, answers)),
    }
    rows = {}
    for name, posterior in posteriors.items():
        best = posterior.argmax(axis=1)
        rows[name] = [posterior.max(axis=1).tolist(), (class_of[best] == y[:N_ASKED]).tolist()]
    return rows


def refitted(model: DCRC, X: Array, triplets: Array, answers: Array, answer_weight: float, weight: str) -> Array:
    """The posterior of the asked items after a fit to answers that goes on from one without."""
    fitted = DCRC(**model.get_params()).set_params(warm_start=True, n_init=1, n_moves=0, max_iter=200)
    fitted.set_params(epsilon="people", answer_weight=answer_weight, weight=weight)
    fitted.set_state_arrays(model.state_arrays())
    posterior: Array = fitted.fit(X, triplets=triplets, answers=answers).posterior_[:N_ASKED]
    return posterior


def foreseen_by(posteriors: list[Array], triplets: Array, answers: Array) -> float:
    """The temperature by answers that came after each of these posteriors."""
    likelihoods = np.zeros(len(TEMPERATURES))
    for number, posterior in enumerate(posteriors):
        new = slice(number * EVERY, (number + 1) * EVERY)
        columns = np.array([COLUMN_OF[answer] for answer in answers[new].tolist()])
        likelihoods *= 0.5 ** (EVERY / HALF_LIFE)
        likelihoods += log_likelihoods(posterior, triplets[new], columns, TABLE)
    return temperature_of(likelihoods)


def classes_of(labels: Array, y: Array) -> Array:
    """The class that each cluster stands for, so that most items are right."""
    n_clusters = int(max(labels.max(), y.max())) + 1
    shared = np.zeros((n_clusters, n_clusters))
    np.add.at(shared, (labels, y), 1)
    classes: Array = linear_sum_assignment(-shared)[1]
    return classes


def enumerate_labelings(prior: Array, triplets: Array, answers: Array) -> Array:
    """P(cluster) of each item (n, K), given independent priors and the answers, summed over all labelings."""
    labelings = np.array(list(product(range(K), repeat=len(prior))))
    columns = np.array([COLUMN_OF[answer] for answer in answers.tolist()])
    logs = np.log(np.maximum(prior, 1e-12))[np.arange(len(prior)), labelings].sum(axis=1)
    for triplet, column in zip(triplets, columns, strict=True):
        labels = labelings[:, triplet].ravel()
        patterns = patterns_of(labels, np.arange(len(labels)).reshape(-1, 3))
        logs += np.log(TABLE[patterns, column])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return np.stack([weights @ (labelings == k) for k in range(K)], axis=1)


def ask(task: Task, folder: Path | None) -> Row:
    """For the fit and for what the app stores, after some answers: beliefs by how sure they are; see `counted`."""
    data = clouds(task.seed) if task.dataset == CLOUDS else load(task, folder)
    rng = np.random.default_rng(task.seed)
    loop = AppLoop(data.X, data.n_clusters, one_scale=task.dataset == SONGS, seed=task.seed)
    due = default("rerun_answers")
    rows: Row = {"fit": [], "app": []}
    for n in range(due, max(AFTER) + 1, due):
        loop.answer(due, lambda asked: answered(data.y, asked, task.setting, rng))
        loop.run()
        if n in AFTER:
            assert loop.previous is not None, "it has just run"
            rows["fit"].append(counted(loop.previous.fitted, data.y))
            rows["app"].append(counted(loop.previous.result.posterior, data.y))
    return rows


def clouds(seed: int, n_clouds: int = 8, n_items: int = 240) -> Dataset:
    """Clouds of points that overlap."""
    rng, y = np.random.default_rng(seed), np.arange(n_items) % n_clouds
    return Dataset(CLOUDS, 2.2 * rng.standard_normal((n_clouds, 6))[y] + rng.standard_normal((n_items, 6)), y)


def counted(posterior: Array, y: Array) -> list[list[float]]:
    """For each range of the largest posterior: the number of items, its sum, those that are right, their log score."""
    beliefs, labels = posterior.max(axis=1).astype(np.float64), posterior.argmax(axis=1)
    right = classes_of(labels, y)[labels] == y
    logs = np.log(np.clip(np.where(right, beliefs, 1 - beliefs), 1e-6, 1))
    place = np.digitize(beliefs, EDGES[1:-1])
    return [np.bincount(place, values, len(EDGES) - 1).tolist() for values in (np.ones(len(y)), beliefs, right, logs)]


def report(cache: Cache, setting: str) -> str:
    rows = [row for row in cache.rows.values() if row["setting"] == setting and "exact" in row]
    lines = [f"{setting}, {len(rows)} problems: mean posterior, share that is right (items)", heading()]
    for method in METHODS:
        beliefs = np.concatenate([row[method][0] for row in rows])
        right = np.concatenate([row[method][1] for row in rows])
        logs = np.log(np.clip(np.where(right, beliefs, 1 - beliefs), 1e-6, 1))
        place = np.digitize(beliefs, EDGES[1:-1])
        values = (np.ones(len(beliefs)), beliefs, right, logs)
        lines.append(line(method, np.array([np.bincount(place, each, len(EDGES) - 1) for each in values])))
    return "\n".join([*lines, ""])


def report_projects(cache: Cache) -> Iterable[str]:
    """Lines for all projects together after some answers, and one for each set, whose projects count alike."""
    rows = [row for row in cache.rows.values() if row["method"] == "app" and "fit" in row]
    if not rows:
        return
    yield f"{len(rows)} projects in the app's loop: mean posterior, share that is right (share of items)"
    for number, n in enumerate(AFTER):
        yield f"after {n} answers\n{heading()}"
        for which, title in (("fit", "the fit"), ("app", "the app")):
            each = [np.array(row[which][number]) for row in rows]
            yield line(title, np.mean([counts / counts[0].sum() for counts in each], axis=0), shares=True)
    yield "\nMean posterior less the share that is right: mean over answers and projects, and half of its 95 %"
    yield f"interval; how often it is more than .05 above and below\n{'':16}{'projects':>9}" + "".join(
        f"{title:>32}" for title in ("the fit", "the app")
    )
    for name in (*PROJECTS, None):
        chosen = [row for row in rows if name in (None, row["dataset"])]
        if chosen:
            yield f"{name or 'all':16}{len(chosen):9}" + "".join(
                f"{excess(chosen, which):>32}" for which in ("fit", "app")
            )
    yield ""


def excess(rows: list[Row], which: str) -> str:
    each = np.array([[(belief - right) for belief, right in map(mean_and_right, row[which])] for row in rows])
    mean, half = mean_and_half_width(each.mean(axis=1).tolist())
    return f"{mean:+.3f} ±{half:.3f}, {(each > 0.05).mean():.0%} and {(each < -0.05).mean():.0%}"


def mean_and_right(counts: list[list[float]]) -> tuple[float, float]:
    n_items, beliefs, right, _ = (sum(values) for values in counts)
    return beliefs / n_items, right / n_items


def heading() -> str:
    return f"{'':12}" + "".join(f"{low:.2f} to {min(high, 1):.2f}".rjust(22) for low, high in pairwise(EDGES))


def line(title: str, counts: Array, shares: bool = False) -> str:
    """Mean posterior and the share that is right in each range; `counts` as in `counted`."""
    cells = []
    for n_items, beliefs, right in counts[:3].T:
        number = f"{n_items:.0%}" if shares else f"{n_items:.0f}"
        cells.append(f"{f'{beliefs / n_items:.2f}, {right / n_items:.2f} ({number})' if n_items else '-':>22}")
    n_items, beliefs, right, logs = counts.sum(axis=1)
    overall = f"all {beliefs / n_items:.3f}, {right / n_items:.3f}; log score {logs / n_items:.3f}"
    return f"{title:12}{''.join(cells)}   {overall}"


if __name__ == "__main__":
    main()
