"""Whether a posterior of .9 is right nine times in ten: DCRC's beside exact enumeration, on problems that are tiny.

    python -m benchmarks.calibration --cache DIR [--runs 100] [--jobs 2]

Seven items of three clusters, whose features are Gaussian and overlap, and questions about them answered as Table IV
says. Exact: the model of the features that a fit without answers has, at full weight, and every one of 3^7 labelings
with its answers' likelihood under the same table. DCRC: from the same fit, with weight 1 and 1/2.
A posterior is about an item's own cluster where clusters are named by the fit without answers, made of 300 further
items of known classes, so that names are hardly ever in doubt. Results go to benchmarks/results/calibration.txt.
"""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import rounds
from benchmarks.rounds import Cache, Row, Task
from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_table, patterns_of
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.calibration --cache DIR"
K, N_ASKED, N_OTHERS = 3, 7, 300
SETTINGS = {"8 answers": 8, "24 answers": 24}
METHODS = ("exact", "weight 1", "weight 1/2")
EDGES = np.array([0.0, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-9])
COLUMN_OF = {1: 0, -1: 1, 0: 2}
TABLE = answer_table("relative", "people")


def main() -> None:
    arguments = rounds.parser(__doc__, runs=100).parse_args()
    cache = Cache(arguments.cache, "calibration")
    tasks = [
        Task("calibration", "gaussians", setting, "all", seed) for seed in range(arguments.runs) for setting in SETTINGS
    ]
    rounds.run(tasks, believe, cache, arguments.jobs)
    text = "\n".join(report(cache, setting) for setting in SETTINGS)
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
    shared = np.array([[np.count_nonzero((model.labels_ == k) & (y == c)) for c in range(K)] for k in range(K)])
    class_of = linear_sum_assignment(-shared)[1]
    posteriors = {"exact": enumerate_labelings(prior, triplets, answers)}
    for name, weight in (("weight 1", 1.0), ("weight 1/2", 0.5)):
        model.set_params(warm_start=True, n_init=1, n_moves=0, epsilon="people", answer_weight=weight, max_iter=200)
        fitted = DCRC(**model.get_params())
        fitted.set_state_arrays(model.state_arrays())
        posteriors[name] = fitted.fit(X, triplets=triplets, answers=answers).posterior_[:N_ASKED]
    rows = {}
    for name, posterior in posteriors.items():
        best = posterior.argmax(axis=1)
        rows[name] = [posterior.max(axis=1).tolist(), (class_of[best] == y[:N_ASKED]).tolist()]
    return rows


def enumerate_labelings(prior: np.ndarray, triplets: np.ndarray, answers: np.ndarray) -> np.ndarray:
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


def report(cache: Cache, setting: str) -> str:
    rows = [row for row in cache.rows.values() if row["setting"] == setting and "exact" in row]
    heads = "".join(f"{low:.2f} to {min(high, 1):.2f}".rjust(22) for low, high in pairwise(EDGES))
    lines = [f"{setting}, {len(rows)} problems: mean posterior, share that is right (items)", f"{'':12}{heads}"]
    for method in METHODS:
        beliefs = np.concatenate([row[method][0] for row in rows])
        right = np.concatenate([row[method][1] for row in rows])
        cells = []
        for low, high in pairwise(EDGES):
            chosen = (beliefs >= low) & (beliefs < high)
            cell = f"{beliefs[chosen].mean():.2f}, {right[chosen].mean():.2f} ({chosen.sum()})" if chosen.any() else "-"
            cells.append(f"{cell:>22}")
        logs = np.log(np.clip(np.where(right, beliefs, 1 - beliefs), 1e-6, 1)).mean()
        overall = f"   all {beliefs.mean():.3f}, {right.mean():.3f}; log score {logs:.3f}"
        lines.append(f"{method:12}{''.join(cells)}{overall}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
