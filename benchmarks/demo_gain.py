"""What the demo's clusters gain from 300 answers, for several values of the epsilon that they are fitted with.

    python -m benchmarks.demo_gain --cache DIR [--runs 32] [--jobs 2]

`tercet demo --simulate` shows one run of it over HTTP; here the same loop turns in one process, as often as a mean
needs: batches of questions, half random and half the best suggested, answers with the mistakes of Table IV, a warm
refit with the app's moves. Every seed sings other songs. Results go to benchmarks/results/demo_gain.txt. Finished
rows are kept in --cache: a run that was stopped goes on where it was.
"""

import os
from functools import cache
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import rounds
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.demo.birdsong import PATTERNS, make_syllables
from tercet.demo.project import N_ITEMS
from tercet.sounds.measures import measure_sound
from tercet.worker.fits.dcrc import MOST_BESIDE, MOVED_ITEMS
from tercet.worker.outputs.questions import CANDIDATES, MOST_PER_ITEM, REFILL
from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.demo_gain --cache DIR"
EPSILONS = ("auto", "people", "0.05", "0.15", "0.4")  # the first is the default
BATCH, N_BATCHES = 10, 30
GOAL = 0.15  # what 300 answers should gain at least
MOVES = MOVED_ITEMS // N_ITEMS


def main() -> None:
    parser = rounds.parser(__doc__, runs=32)
    arguments = parser.parse_args()
    kept = Cache(arguments.cache, "demo_gain")
    tasks = [Task("demo_gain", "songs", e, "DCRC", seed) for seed in range(arguments.runs) for e in EPSILONS]
    rounds.run(tasks, ask_and_refit, kept, arguments.jobs)
    text = report(kept)
    print(text)
    (RESULTS / "demo_gain.txt").write_text(f"{COMMAND}\n\n{text}\n")


@cache
def songs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (N, D) and patterns (N,), numbered from 0, of the demo's songs."""
    syllables = make_syllables(N_ITEMS, seed)
    X = np.array([measure_sound(s.samples, s.sample_rate) for s in syllables])
    return X, np.unique([s.pattern for s in syllables], return_inverse=True)[1]


def ask_and_refit(task: Task) -> Row:
    """ARI before any answer and after the last."""
    X, y = songs(task.seed)
    rng = np.random.default_rng(task.seed)
    epsilon = task.setting if task.setting in ("auto", "people") else float(task.setting)
    model = DCRC(len(PATTERNS), epsilon=epsilon, n_moves=MOVES, random_state=task.seed).fit(X)
    before = adjusted_rand_score(y, model.labels_)
    triplets, answers = np.empty((0, 3), dtype=np.int64), np.empty(0, dtype=np.int64)
    for _ in range(N_BATCHES):
        worth, _ = model.suggest(REFILL, CANDIDATES, exclude=triplets, most_per_item=MOST_PER_ITEM, random_state=rng)
        asked = np.concatenate([worth[: BATCH // 2], random_triplets(N_ITEMS, BATCH - BATCH // 2, rng)])
        triplets = np.concatenate([triplets, asked])
        answers = np.concatenate([answers, noisy_answers(y, asked, TABLE_IV, rng)])
        seed = int(rng.integers(2**31))  # another one for each refit, so that each tries other moves
        model.set_params(n_init=1 + MOST_BESIDE, warm_start=True, random_state=seed)
        model.fit(X, triplets=triplets, answers=answers)
    return {"before": before, "after": adjusted_rand_score(y, model.labels_)}


def report(kept: Cache) -> str:
    """A line for each epsilon over the seeds that all have."""
    found: dict[str, dict[int, Row]] = {epsilon: {} for epsilon in EPSILONS}
    for row in kept.rows.values():
        found[row["setting"]][row["seed"]] = row
    seeds = sorted(set.intersection(*(set(rows) for rows in found.values())))
    lines = [
        f"{N_ITEMS} songs of {len(PATTERNS)} patterns, {BATCH * N_BATCHES} answers, {len(seeds)} runs; "
        "ARI, mean ± half of its 95 % interval",
        f"{'epsilon':8}{'before':>15}{'after':>15}{'gain':>15}{'least gain':>12}{f'under {GOAL}':>12}",
    ]
    for epsilon, rows in found.items():
        before, after = (np.array([rows[seed][name] for seed in seeds]) for name in ("before", "after"))
        gain = after - before
        cells = "".join(f"{cell(values):>15}" for values in (before, after, gain))
        lines.append(f"{epsilon:8}{cells}{gain.min():12.3f}{(gain < GOAL).sum():12}")
    return "\n".join(lines)


def cell(values: np.ndarray) -> str:
    mean, half = mean_and_half_width(list(values))
    return f"{mean:.3f} ±{half:.3f}"


if __name__ == "__main__":
    main()
