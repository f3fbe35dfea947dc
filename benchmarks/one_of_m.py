"""Whether "which of these is it most like, or none?" needs fewer seconds to a goal than questions about three items.

    python -m benchmarks.one_of_m --data DIR --cache DIR [--runs 5] [--jobs 1] [--datasets songs,digits,letter_carroll]

A question shows an item and an exemplar of each of its m likeliest clusters; the answer is one of them, or none. It
costs 1 + 0.35 m where a question about three items costs 1. Both kinds are asked as the app asks, by turns what is
expected to tell most and what an item that was asked about least is, with a warm refit after each batch of the same
cost. People err in both kinds as Table IV says: with one exemplar of the item's class, they say "none" as often as
"don't know", and pick another one as often as they turn an answer round, for each of the others; with none, each
exemplar is picked as often as one of two. A first table has what one answer is expected to tell for its cost, at its
best: exemplars are certain, and of the likeliest clusters. Results go to benchmarks/results/one_of_m.txt. Finished rows
are kept in --cache: --runs 0 only writes the results again.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import datasets, rounds
from benchmarks.compiled import compiled
from benchmarks.datasets import Dataset
from benchmarks.questions import SONGS, answered, interval, needed, songs
from benchmarks.rounds import Cache, Row, Task
from tercet_algorithms import DCRC
from tercet_algorithms.answers.exemplars import exemplars, one_of
from tercet_algorithms.answers.simulated_labelers import TABLE_IV
from tercet_algorithms.dcrc import dcrc, search
from tercet_algorithms.dcrc.dcrc import DCRCSearch
from tercet_algorithms.dcrc.lower_bound import LowerBound
from tercet_algorithms.dcrc.mean_field import MeanField
from tercet_algorithms.dcrc.pattern_evidence import PatternEvidence

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.one_of_m --data DIR --cache DIR"
# Cost between two refits, cost in all, the goal, and after what cost ARI is shown.
PLANS: dict[str, tuple[int, int, float, tuple[int, ...]]] = {
    SONGS: (20, 300, 0.9, (100, 200, 300)),
    "digits": (50, 500, 0.75, (100, 300, 500)),
    "letter_carroll": (50, 500, 0.3, (100, 300, 500)),
}
# m of each method; 0 for questions about three items.
METHODS = {"three items": 0, "one of 2": 2, "one of 4": 4, "one of 6": 6}
SETTINGS = ("people", "right")
MOVES, MOVED_ITEMS = 20, 12_000  # as the app has them


def cost(m: int) -> float:
    """What a question costs."""
    return 1 + 0.35 * m if m else 1.0


def probabilities(m: int, setting: str) -> np.ndarray:
    """P(answer): rows are one exemplar fits, none fits; columns the one that fits, each other one, none."""
    if setting == "right":
        return np.array([[0.95, 0.025 / max(m - 1, 1), 0.025], [0.0, 0.05 / m, 0.95]])
    (_, turned, unsure), _, (yes, no, dnk) = TABLE_IV
    each = (yes + no) / 2
    assert dnk > m * each / 2
    return np.array([[1 - unsure - (m - 1) * turned, turned, unsure], [0.0, each, 1 - m * each]])


def log_table(m: int, setting: str) -> np.ndarray:
    """log P(answer | matches), (3, m + 1): of an exemplar that fits, one that does not, none, by how many others fit.

    Where several exemplars are of the item's cluster, each is as likely as the others to be picked. For "none" all
    exemplars are others.
    """
    hit, none = probabilities(m, setting)
    table = np.zeros((3, m + 1))
    for others in range(m + 1):
        fits = others + 1
        table[0, others] = max(1 - hit[2] - max(m - fits, 0) * hit[1], 1e-9) / fits
        table[1, others] = hit[1] if others else none[1]
        table[2, others] = hit[2] if others else none[2]
    return np.log(np.maximum(table, 1e-9))


class ChoiceField(MeanField):
    """Answers to one-of-m questions as one factor each, in the place of a `MeanField` of triplets.

    With the item in cluster k its exemplars fit independently of each other under q, so that the number of those that
    fit follows from m additions to a distribution. The expected log likelihood is linear in each posterior: the message
    to the item is its value for each k; that to an exemplar is q_k of the item times what it changes for it to fit.
    """

    def __init__(self, choices: np.ndarray, picked: np.ndarray, table: np.ndarray, dtype: type = np.float32):
        """`choices` (M, 1 + m) the item and its exemplars, `picked` (M,) the exemplar 0 to m - 1, or m for none."""
        self.items, rows = np.unique(choices, return_inverse=True)
        self.choices = rows.reshape(choices.shape).astype(np.int64)
        self.picked, self.table, self.dtype = picked.astype(np.int64), table, dtype
        m = choices.shape[1] - 1
        pairs = np.stack([self.choices[:, [0] * m], self.choices[:, 1:], self.choices[:, [0] * m]], axis=2)
        self.triplets = pairs.reshape(-1, 3)  # what starts are made from: each pair of item and exemplar
        places = np.argsort(self.choices.ravel(), kind="stable")
        self._of, self._role = np.divmod(places, m + 1)
        self._begin = np.searchsorted(self.choices.ravel()[places], np.arange(len(self.items) + 1))

    def with_log_likelihoods(self, log_likelihoods: np.ndarray) -> "ChoiceField":
        return self

    def settle(self, q: np.ndarray, log_p: np.ndarray, tol: float, max_sweeps: int, hard: bool = False) -> int:
        parts = (self.choices, self.picked, self.table, self._begin, self._of, self._role)
        return settle_choices(q, np.ascontiguousarray(log_p, np.float64), *parts, tol, max_sweeps)

    def expected_log_likelihood(self, q: np.ndarray) -> float:
        return expected_of_choices(q, self.choices, self.picked, self.table)


@compiled
def given_cluster(q, choices, picked, table, choice, k, skipped, forced, counts):  # type: ignore[no-untyped-def]
    """E log P(answer | item in k); with exemplar `skipped` (or -1) fitting (`forced` 1) or not (0)."""
    m, pick = choices.shape[1] - 1, picked[choice]
    base = forced if skipped >= 0 and skipped != pick else 0
    counts[:] = 0.0
    counts[base] = 1.0
    for j in range(m):
        if j in (pick, skipped):
            continue
        fits = q[choices[choice, j + 1], k]
        for n in range(m, 0, -1):
            counts[n] = counts[n] * (1 - fits) + counts[n - 1] * fits
        counts[0] *= 1 - fits
    total = 0.0
    if pick == m:
        for n in range(m + 1):
            total += counts[n] * table[2, n]
        return total
    fits = forced if skipped == pick else q[choices[choice, pick + 1], k]
    for n in range(m + 1):
        total += counts[n] * (fits * table[0, n] + (1 - fits) * table[1, n])
    return total


@compiled
def settle_choices(q, log_p, choices, picked, table, begin, of, role, tol, max_sweeps):  # type: ignore[no-untyped-def]
    """Update the posteriors (n, K) one after the other until none moves by `tol`; return the number of sweeps."""
    n_clusters, m = q.shape[1], choices.shape[1] - 1
    logits, counts = np.empty(n_clusters), np.empty(m + 1)
    for sweep in range(max_sweeps):
        change = 0.0
        for item in range(len(q)):
            for k in range(n_clusters):
                logits[k] = log_p[item, k]
                for place in range(begin[item], begin[item + 1]):
                    choice, j = of[place], role[place] - 1
                    if j < 0:
                        logits[k] += given_cluster(q, choices, picked, table, choice, k, -1, 0, counts)
                    else:
                        fits = given_cluster(q, choices, picked, table, choice, k, j, 1, counts)
                        differs = given_cluster(q, choices, picked, table, choice, k, j, 0, counts)
                        logits[k] += q[choices[choice, 0], k] * (fits - differs)
            largest, total = logits.max(), 0.0
            for k in range(n_clusters):
                logits[k] = np.exp(logits[k] - largest)
                total += logits[k]
            for k in range(n_clusters):
                change = max(change, abs(logits[k] / total - q[item, k]))
                q[item, k] = logits[k] / total
        if change < tol:
            return sweep + 1
    return max_sweeps


@compiled
def expected_of_choices(q, choices, picked, table):  # type: ignore[no-untyped-def]
    """E_q log P(answers)."""
    counts, total = np.empty(choices.shape[1]), 0.0
    for choice in range(len(choices)):
        for k in range(q.shape[1]):
            total += q[choices[choice, 0], k] * given_cluster(q, choices, picked, table, choice, k, -1, 0, counts)
    return total


class Pairs(PatternEvidence):
    """What choices say about pairs of item and exemplar, which starts are made from."""

    def pair_log_odds(self, epsilon: Any, n_clusters: int) -> np.ndarray:
        odds: np.ndarray = self.odds  # type: ignore[attr-defined]
        return np.column_stack([np.zeros((len(odds), 2)), odds])


class ChoiceDCRC(DCRC):
    """DCRC that learns from answers to one-of-m questions, `choices` (M, 1 + m) and `picked` (M,)."""

    def _search(self, features, space, evidence, bags, previous, init_labels):  # type: ignore[no-untyped-def]
        weight = 0.5 if self.epsilon == "people" else 1.0
        m = self.choices.shape[1] - 1  # type: ignore[attr-defined]
        table = log_table(m, "people" if self.epsilon == "people" else "right")
        field = ChoiceField(self.choices, self.picked, weight * table)  # type: ignore[attr-defined]
        others = np.setdiff1d(np.arange(len(features)), field.items)
        order = np.concatenate([field.items, others])
        design = space.design(features, order)
        self.lam_ = dcrc._penalty(design[:, :-1]) if self.lam == "auto" else float(self.lam)
        objective = LowerBound(
            design, field, tau=self.tau, lam=self.lam_, balance=self.balance, weight=3 / len(field.items)
        )
        observed = Pairs(evidence.constraints, evidence.must_link, evidence.cannot_link)
        object.__setattr__(observed, "odds", pair_odds(self.picked, table, self.n_clusters).ravel())  # type: ignore[attr-defined]
        warm, warm_labels = None, None
        if previous is not None:
            warm, warm_labels = previous.solution(space, objective, order, search.NO_TABLES, stage=0)
        limits = {"solver": self.solver, "max_iter": self.max_iter, "tol": self.tol}
        found = DCRCSearch(
            objective, self.n_clusters, (self.epsilon_,), observed, **limits, warm=warm, warm_labels=warm_labels
        )
        return found, order


def pair_odds(picked: np.ndarray, table: np.ndarray, n_clusters: int) -> np.ndarray:
    """Log odds (M, m) that the item is of each exemplar's cluster, all other exemplars being of other clusters."""
    m = table.shape[1] - 1
    is_picked = picked[:, None] == np.arange(m)
    alike = np.where(is_picked, table[0, 0], np.where(picked[:, None] == m, table[2, 1], table[1, 1]))
    # Else it is of another exemplar's cluster, or of none's.
    share = min((m - 1) / max(n_clusters - 1, 1), 1.0)
    missed = share * np.exp(table[1, 1]) + (1 - share) * np.exp(table[1, 0])
    other = np.where(picked[:, None] == m, share * np.exp(table[2, 1]) + (1 - share) * np.exp(table[2, 0]), missed)
    elsewhere = (np.exp(table[0, 0]) + (m - 2) * np.exp(table[1, 1])) / max(m - 1, 1)
    not_picked = share * elsewhere + (1 - share) * np.exp(table[1, 0])
    other = np.where(~is_picked & (picked[:, None] < m), not_picked, other)
    odds: np.ndarray = alike - np.log(other)
    return odds


def choices_to_ask(
    model: DCRC, n: int, m: int, setting: str, times: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Items by turns, the one that most is expected to be learned about and the one asked about least, one each."""
    posterior = model.posterior_
    examples = exemplars(posterior, times)
    likeliest = np.argsort(-posterior, axis=1, kind="stable")[:, :m]
    chosen = np.column_stack([one_of(examples, likeliest[:, rank], rng) for rank in range(m)])
    information = expected_information(np.take_along_axis(posterior, likeliest, axis=1), log_table(m, setting))
    itself = (chosen == np.arange(len(posterior))[:, None]).any(axis=1)
    informative = np.argsort(-np.where(itself, -1, information), kind="stable")
    seldom = np.lexsort((-information, times))
    seldom = seldom[~itself[seldom]]
    left = np.full(posterior.shape[1], -(-2 * n // posterior.shape[1]))
    taken: list[int] = []
    queues = [iter(informative.tolist()), iter(seldom.tolist())]
    while len(taken) < n:
        even = len(taken) % 2 == 0
        for item in queues[0 if even else 1]:
            cluster = likeliest[item, 0]
            if item in taken or (even and not left[cluster]):
                continue
            left[cluster] -= even
            taken.append(item)
            break
        else:
            left[:] = n
            queues[0] = iter(informative.tolist())
    rows = np.array(taken)
    return np.column_stack([rows, chosen[rows]])


def expected_information(weights: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Nats that an answer is expected to tell about the cluster; exemplars are certain, P (N, m) of their clusters."""
    m = weights.shape[1]
    hit, missed, none = np.exp(table[0, 0]), np.exp(table[1, 1]), np.exp(table[2, 1])
    likelihood = np.full((m + 1, m + 1), missed)  # rows: cluster of each exemplar, any other; columns: answers
    likelihood[np.arange(m), np.arange(m)] = hit
    likelihood[:m, m] = none
    likelihood[m] = np.append(np.full(m, np.exp(table[1, 0])), np.exp(table[2, 0]))
    prior = np.column_stack([weights, np.maximum(1 - weights.sum(axis=1), 0)])
    predicted = prior @ likelihood
    conditional = -(likelihood * np.log(likelihood)).sum(axis=1)
    information: np.ndarray = -(predicted * np.log(np.maximum(predicted, 1e-300))).sum(axis=1) - prior @ conditional
    return information


def picks(y: np.ndarray, choices: np.ndarray, setting: str, rng: np.random.Generator) -> np.ndarray:
    """What simulated labelers pick, 0 to m - 1, or m for none; right ones never err."""
    m = choices.shape[1] - 1
    fits = y[choices[:, 1:]] == y[choices[:, :1]]
    hit, none = probabilities(m, setting) if setting == "people" else np.array([[1.0, 0, 0], [0.0, 0, 1]])
    count = fits.sum(axis=1, keepdims=True)
    share = (1 - hit[2] - (m - count) * hit[1]) / np.maximum(count, 1)
    P = np.where(count > 0, np.where(fits, share, hit[1]), none[1])
    P = np.column_stack([P, np.where(count[:, 0] > 0, hit[2], none[2])])
    drawn: np.ndarray = (rng.random((len(P), 1)) > P.cumsum(axis=1)).sum(axis=1)
    return np.minimum(drawn, m)


def ask_and_refit(task: Task, folder: Path | None) -> Row:
    """ARI before any answer and after every batch of the same cost."""
    data = songs(task.seed) if task.dataset == SONGS else datasets.load(task.dataset, folder)
    batch, most, _, _ = PLANS[task.dataset]
    m, rng = METHODS[task.method], np.random.default_rng(task.seed)
    model = first_model(data, task)
    scores = [adjusted_rand_score(data.y, model.labels_)]
    asked, answers = np.empty((0, (m or 2) + 1), dtype=np.int64), np.empty(0, dtype=np.int64)
    for step in range(1, most // batch + 1):
        n = int(step * batch / cost(m)) - len(asked)
        if m:
            times = np.bincount(asked[:, 0], minlength=len(data.X)) if len(asked) else np.zeros(len(data.X), int)
            fresh = choices_to_ask(model, n, m, task.setting, times, rng)
            answers = np.concatenate([answers, picks(data.y, fresh, task.setting, rng)])
            asked = np.concatenate([asked, fresh])
            model.choices, model.picked = asked, answers
            arguments: dict[str, Any] = {}
        else:
            fresh = model.suggest(n, asked=asked, X=data.X, random_state=rng)[0]
            answers = np.concatenate([answers, answered(data.y, fresh, task.setting, rng)])
            asked = np.concatenate([asked, fresh])
            arguments = {"triplets": asked, "answers": answers}
        model.set_params(n_init=1, warm_start=True, random_state=int(rng.integers(2**31))).fit(data.X, **arguments)
        scores.append(adjusted_rand_score(data.y, model.labels_))
    return {"ari": scores}


def first_model(data: Dataset, task: Task) -> Any:
    """The fit without answers, the same for all methods; all believe answers as the setting has them."""
    parameters = {
        "n_moves": min(MOVES, MOVED_ITEMS // len(data.X)),
        "random_state": task.seed,
        "standardize": task.dataset != SONGS,
        "epsilon": "people" if task.setting == "people" else 0.05,
    }
    first = DCRC(data.n_clusters, **parameters).fit(data.X)
    if not METHODS[task.method]:
        return first
    model = ChoiceDCRC(data.n_clusters, **parameters)
    vars(model).update({name: value for name, value in vars(first).items() if name not in parameters})
    return model


def curves(kept: Cache, name: str, setting: str) -> dict[str, np.ndarray]:
    """ARI by method, (runs, batches + 1), of the seeds that every method has."""
    rows_of: dict[str, dict[int, list[float]]] = {method: {} for method in METHODS}
    for row in kept.rows.values():
        if (row["dataset"], row["setting"]) == (name, setting) and "ari" in row and row["method"] in rows_of:
            rows_of[row["method"]][row["seed"]] = row["ari"]
    seeds = sorted(set.intersection(*(set(rows) for rows in rows_of.values())))
    return {method: np.array([rows[seed] for seed in seeds]) for method, rows in rows_of.items() if seeds}


def report(name: str, setting: str, ari_of: dict[str, np.ndarray]) -> str:
    batch, _, goal, shown = PLANS[name]
    words = "right answers" if setting == "right" else "answers of people who err"
    lines = [f"{name}, {words}: {len(next(iter(ari_of.values())))} paired runs; ARI, mean ± half of its 95 % interval"]
    heads = ["before", *(f"cost {value}" for value in shown), f"cost to {goal}", f"minus 3 items at {shown[-1]}"]
    lines.append(f"{'':14}" + "".join(f"{head:>23}" for head in heads))
    for method, rows in ari_of.items():
        costs = [needed(row, goal, batch) for row in rows]
        difference = rows[:, -1] - ari_of["three items"][:, -1]
        cells = [interval(rows[:, value // batch]) for value in (0, *shown)]
        cells += [f"{np.median(costs):.0f} ({np.isfinite(costs).sum()} get there)", interval(difference, "+.3f")]
        lines.append(f"{method:14}" + "".join(f"{cell:>23}" for cell in cells))
    return "\n".join([*lines, ""])


def information() -> str:
    """Nats for one unit of cost, by how likely an item is in each cluster; a question about three items has m = 2."""
    shapes = {f"{count} clusters alike": np.full(count, 1 / count) for count in (2, 3, 4, 6, 8, 13, 26)}
    shapes |= {f"each {share} of the one before": _geometric(share) for share in (0.3, 0.5, 0.7)}
    lines = ["Nats that an answer is expected to tell for a cost of 1, by how likely the item is in which cluster"]
    lines.append(f"{'':28}" + "".join(f"{head:>13}" for head in ("three items", *(f"one of {m}" for m in range(2, 7)))))
    for setting in SETTINGS:
        lines.append("right answers" if setting == "right" else "people")
        for words, shape in shapes.items():
            told = [_told(shape, 2, setting)] + [_told(shape, m, setting) / cost(m) for m in range(2, 7)]
            lines.append(f"{words:28}" + "".join(f"{value:13.3f}" for value in told))
    return "\n".join([*lines, ""])


def _geometric(share: float) -> np.ndarray:
    weights = share ** np.arange(20.0)
    normalised: np.ndarray = weights / weights.sum()
    return normalised


def _told(shape: np.ndarray, m: int, setting: str) -> float:
    if m > len(shape):
        return float("nan")
    return float(expected_information(shape[None, :m], log_table(m, setting))[0])


def main() -> None:
    arguments = datasets.parser(__doc__).parse_args()
    names = [name for name in PLANS if name in (arguments.datasets or PLANS)]
    kept = Cache(arguments.cache, "one_of_m")
    tasks = [
        Task("one_of_m", name, setting, method, seed)
        for seed in range(arguments.runs)
        for name in names
        for setting in SETTINGS
        for method in METHODS
    ]
    rounds.run(iter(tasks), partial(ask_and_refit, folder=arguments.data), kept, arguments.jobs)
    ari_of = {(name, setting): curves(kept, name, setting) for name in PLANS for setting in SETTINGS}
    reports = [report(name, setting, rows) for (name, setting), rows in ari_of.items() if rows]
    text = "\n".join([information(), *reports])
    print(text)
    (RESULTS / "one_of_m.txt").write_text(f"{COMMAND}\n\n{text}")


if __name__ == "__main__":
    main()
