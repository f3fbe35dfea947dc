"""How many answers clusters need, by which questions are asked: by the policy, or half at random as before it.

    python -m benchmarks.questions --data DIR --cache DIR [--runs 8] [--jobs 2] [--datasets songs,vehicle]

The policy is asked in the loop of the app (`app_loop.py`): its fits, its queue with what is random and what is asked
again, questions as old as the run before on three screens, a run after ten answers. "Never again" is the same without
questions that are asked again. Half at random, a batch is asked and a warm refit made as it was before there was a
policy. Answers are right, or those of people who err as Table IV says. `songs` are the demo's; every seed sings others.
Results go to benchmarks/results/questions.txt. Finished rows are kept in --cache: a run that was stopped goes on where
it was, and --runs 0 only writes the results again.
"""

import os
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import datasets, rounds
from benchmarks.app_loop import AppLoop, default
from benchmarks.datasets import Dataset
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.demo.birdsong import true_patterns
from tercet.demo.files import N_SONGS, write_songs
from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import default_recipe
from tercet.intake.pictures import settings_for
from tercet.intake.reading.plan import MediaSource, SourceFile
from tercet.worker.fits.dcrc import MOVED_ITEMS
from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import expected_information
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.questions --data DIR --cache DIR"
SONGS = "songs"
# Answers between two refits, answers in all, the goal, and after how many answers ARI is shown.
PLANS: dict[str, tuple[int, int, float, tuple[int, ...]]] = {
    SONGS: (20, 300, 0.9, (100, 200, 300)),
    "vehicle": (50, 500, 0.5, (100, 300, 500)),
    "letters_ijlt": (50, 500, 0.8, (100, 300, 500)),
    "birdsong_hja": (50, 500, 0.45, (100, 300, 500)),
    "digits": (50, 500, 0.8, (100, 300, 500)),
    "letter_carroll": (50, 500, 0.4, (100, 300, 500)),
}
SETTINGS = ("people", "right")
TITLES = {"right": "right answers", "people": "answers of people who err as Table IV says"}
# Questions on a screen when the queue is filled anew: they are asked all the same.
ON_SCREENS = 6
CANDIDATES = 25_000
MOVES = 20  # the app's default
HALF_RANDOM, POLICY, NEVER_AGAIN = METHODS = ("half random", "policy", "never again")


def main() -> None:
    arguments = datasets.parser(__doc__).parse_args()
    chosen = [name for name in PLANS if name in (arguments.datasets or PLANS)]
    loaded = [name for name in chosen if name != SONGS]
    names = chosen[: len(chosen) - len(loaded)] + datasets.available(loaded, arguments.data)
    cache = Cache(arguments.cache, "questions")
    rounds.run(tasks(names, arguments.runs), partial(ask_and_refit, folder=arguments.data), cache, arguments.jobs)
    curves_of = {(name, setting): curves(cache, name, setting) for name in PLANS for setting in SETTINGS}
    text = "\n".join(report(name, setting, rows) for (name, setting), rows in curves_of.items() if rows)
    print(text)
    (RESULTS / "questions.txt").write_text(f"{COMMAND}\n\n{text}")


def tasks(names: list[str], runs: int) -> Iterator[Task]:
    for setting in SETTINGS:
        for seed in range(runs):
            for name in names:
                for method in METHODS:
                    yield Task("questions", name, setting, method, seed)


@cache
def songs(seed: int) -> Dataset:
    """The demo's songs: features as an import makes them, in the range of its pictures, and patterns, from 0."""
    patterns = true_patterns(N_SONGS, seed)
    with TemporaryDirectory() as folder:
        write_songs(Path(folder), seed=seed)
        files = [FeatureInput(key, media_type="audio/wav", path=Path(folder, f"{key}.wav")) for key in patterns]
        fitted = settings_for([MediaSource(SourceFile(PurePosixPath(file.path.name), file.path)) for file in files])
        assert fitted is not None, "songs are sounds"
        sound_range = fitted[0].low_hz, fitted[0].high_hz
        classes, y = np.unique(list(patterns.values()), return_inverse=True)
        X = compute(default_recipe(files), files, sound_range, lambda share, words: None, len(classes)).values
    return Dataset(SONGS, X.astype(np.float64), y)


def ask_and_refit(task: Task, folder: Path | None) -> Row:
    """ARI before any answer and after every batch."""
    data = songs(task.seed) if task.dataset == SONGS else datasets.load(task.dataset, folder)
    return half_random(data, task) if task.method == HALF_RANDOM else in_the_app(data, task)


def in_the_app(data: Dataset, task: Task) -> Row:
    """ARI in the loop of the app, a run after as many answers as make one due there."""
    batch, n_answers, _, _ = PLANS[task.dataset]
    rng = np.random.default_rng(task.seed)
    loop = AppLoop(
        data.X,
        data.n_clusters,
        one_scale=task.dataset == SONGS,
        seed=task.seed,
        repeats=0 if task.method == NEVER_AGAIN else None,
    )
    scores = [adjusted_rand_score(data.y, loop.labels)]
    due = default("rerun_answers")
    for n in range(due, n_answers + 1, due):
        loop.answer(due, lambda asked: answered(data.y, asked, task.setting, rng))
        loop.run()
        if n % batch == 0:
            scores.append(adjusted_rand_score(data.y, loop.labels))
    return {"ari": scores}


def half_random(data: Dataset, task: Task) -> Row:
    """ARI as it was before there was a policy."""
    batch, n_answers, _, _ = PLANS[task.dataset]
    rng = np.random.default_rng(task.seed)
    model = first_model(data, task)
    triplets, answers = np.empty((0, 3), dtype=np.int64), np.empty(0, dtype=np.int64)
    on_screens = triplets
    scores = [adjusted_rand_score(data.y, model.labels_)]
    for _ in range(n_answers // batch):
        missing = batch + ON_SCREENS - len(on_screens)
        queue = best_and_random(model, data.X, missing, rng)
        queue = np.concatenate([on_screens, queue])
        asked, on_screens = queue[:batch], queue[batch:]
        triplets = np.concatenate([triplets, asked])
        answers = np.concatenate([answers, answered(data.y, asked, task.setting, rng)])
        seed = int(rng.integers(2**31))  # another one for each refit, so that each tries other moves
        model.set_params(n_init=1, warm_start=True, random_state=seed).fit(data.X, triplets=triplets, answers=answers)
        scores.append(adjusted_rand_score(data.y, model.labels_))
    return {"ari": scores}


def first_model(data: Dataset, task: Task) -> DCRC:
    """The fit without answers."""
    moves = min(MOVES, MOVED_ITEMS // len(data.X))
    scaling = {"standardize": task.dataset != SONGS}  # what a recipe makes is in one scale
    return DCRC(data.n_clusters, n_moves=moves, random_state=task.seed, **scaling).fit(data.X)


def best_and_random(model: DCRC, X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """What was asked before there was a policy: by turns the best of triplets drawn by information, and random ones."""
    pool = random_triplets(len(X), CANDIDATES, rng)
    information = expected_information(model.posterior_, pool, model.tables_of_asked())
    keys = np.log(np.maximum(information, 1e-300)) + rng.gumbel(size=len(pool))
    drawn = np.argsort(-keys)[:150]
    best = pool[drawn[np.argsort(-information[drawn])]]
    return np.stack([best[:n], random_triplets(len(X), n, rng)], axis=1).reshape(-1, 3)[:n]


def answered(y: np.ndarray, asked: np.ndarray, setting: str, rng: np.random.Generator) -> np.ndarray:
    return true_answers(y, asked) if setting == "right" else noisy_answers(y, asked, TABLE_IV, rng)


def curves(kept: Cache, name: str, setting: str) -> dict[str, np.ndarray]:
    """ARI by method, shape (runs, batches + 1), of the seeds that all methods have of which there is a row."""
    rows_of: dict[str, dict[int, list[float]]] = {}
    for row in kept.rows.values():
        if (row["dataset"], row["setting"]) == (name, setting) and "ari" in row:
            rows_of.setdefault(row["method"], {})[row["seed"]] = row["ari"]
    seeds = sorted(set.intersection(*(set(rows) for rows in rows_of.values()))) if rows_of else []
    return {method: np.array([rows[seed] for seed in seeds]) for method, rows in rows_of.items() if seeds}


def needed(curve: np.ndarray, goal: float, batch: int) -> float:
    """Answers until the curve first reaches the goal, on straight lines; infinity where it never does."""
    reached = curve >= goal
    if not reached.any():
        return np.inf
    place = int(np.argmax(reached))
    if place == 0:
        return 0.0
    before, after = curve[place - 1], curve[place]
    return float(batch * (place - 1 + (goal - before) / (after - before)))


def report(name: str, setting: str, ari_curves: dict[str, np.ndarray]) -> str:
    """A line for each method: ARI on the way, the median answers to the goal, the least gain."""
    batch, _, goal, shown = PLANS[name]
    runs = len(ari_curves["policy"])
    lines = [
        f"{name}, {TITLES[setting]}: {runs} runs, a refit each {batch} answers; ARI, mean ± half of its 95 % interval"
    ]
    heads = ["before", *(f"{count} answers" for count in shown), f"answers to {goal}", "least gain"]
    lines.append(f"{'':14}" + "".join(f"{head:>16}" for head in heads))
    for method, rows in ari_curves.items():
        cells = [interval(rows[:, count // batch]) for count in (0, *shown)]
        counts = [needed(row, goal, batch) for row in rows]
        reached = f"{np.median(counts):.0f} ({np.isfinite(counts).sum()})"
        cells += [reached, f"{(rows[:, -1] - rows[:, 0]).min():+.3f}"]
        lines.append(f"{method:14}" + "".join(f"{cell:>16}" for cell in cells))
    for other in ari_curves.keys() - {POLICY}:
        gains = (ari_curves[POLICY] - ari_curves[other])[:, [count // batch for count in shown]]
        cells = "".join(f"{interval(column, '+.3f'):>16}" for column in gains.T)
        lines.append(f"{'less ' + other:30}{cells}")
    return "\n".join([*lines, ""])


def interval(values: np.ndarray, form: str = ".3f") -> str:
    mean, half = mean_and_half_width(list(values))
    return f"{mean:{form}}" + (f" ±{half:.3f}" if np.isfinite(half) else "")


if __name__ == "__main__":
    main()
