"""What a labeler who answers by chance costs the clusters, with and without the hold that follows.

    python -m benchmarks.spammers --cache DIR [--runs 7] [--jobs 2]

Five people label the demo's songs and two synthetic sets, four with the mistakes of Table IV, the fifth by chance at
the same speed, so that only what the answers tell gives them away. Each run uses all answers; with the hold those of
doubtful people count less in the next run, and those of who is found out not at all, as the app does it. Beside it the
four alone. Results go to benchmarks/results/spammers.txt. Finished rows are kept in --cache: a run that was stopped
goes on where it was, and --runs 0 only writes the results again.
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import rounds
from benchmarks.gain_projects import load
from benchmarks.questions import SONGS
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.labeling.holds import HELD_FROM
from tercet_algorithms import DCRC
from tercet_algorithms.answers.independence import (
    Independence,
    independence,
    left_out,
    more_doubtful,
)
from tercet_algorithms.answers.patterns import answer_probabilities, answer_table, pattern_probabilities
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.spammers --cache DIR"
SETTINGS = ("four", "five", "held")
SETS = (SONGS, "blobs_12", "blobs_6")
MOVES = 5  # a quarter of the app's, so that three times twenty projects take minutes
BATCH, N_BATCHES, N_LABELERS = 25, 20, 5
SPAMMER = N_LABELERS - 1
# Values of yes, no and don't know as numbers, by their column in tables of answers.
COLUMN_OF = {1: 0, -1: 1, 0: 2}
TABLE = answer_table("relative", "people")


def main() -> None:
    arguments = rounds.parser(__doc__, runs=7).parse_args()
    cache = Cache(arguments.cache, "spammers")
    projects = [(name, seed) for seed in range(arguments.runs) for name in SETS]
    tasks = [Task("spammers", name, setting, "DCRC", seed) for name, seed in projects for setting in SETTINGS]
    rounds.run(tasks, label, cache, arguments.jobs)
    text = report(cache)
    print(text)
    (RESULTS / "spammers.txt").write_text(f"{COMMAND}\n\n{text}\n")


def label(task: Task) -> Row:
    """ARI after the last answer, how many answers the spammer gave before the hold, and how many were held wrongly."""
    data = load(task.dataset, task.seed, None)
    X, y = data.X, data.y
    rng = np.random.default_rng(task.seed)
    people = np.arange(BATCH) % N_LABELERS
    people = people[people != SPAMMER] if task.setting == "four" else people
    model = DCRC(data.n_clusters, standardize=task.dataset != SONGS, random_state=task.seed).fit(X)
    model.set_params(n_init=1, n_moves=MOVES, warm_start=True)
    triplets, answers, labelers = np.empty((0, 3), int), np.empty(0, int), np.empty(0, int)
    foreseen, counted, before_hold = np.empty((0, 3)), np.ones(N_LABELERS), -1
    for _ in range(N_BATCHES):
        asked = rng.permutation(model.suggest(len(people), asked=triplets, X=X, random_state=rng)[0])
        replies = noisy_answers(y, asked, TABLE_IV, rng)
        replies = np.where(people == SPAMMER, rng.choice([1, 0, -1], len(people)), replies)
        foreseen = np.concatenate([foreseen, answer_probabilities(model.posterior_, asked, TABLE)])
        triplets, answers = np.concatenate([triplets, asked]), np.concatenate([answers, replies])
        labelers = np.concatenate([labelers, people])
        model.set_params(random_state=int(rng.integers(2**31)))
        weights = counted[labelers]
        model.fit(X, triplets=triplets, answers=answers, labelers=labelers, weights=weights)
        if task.setting == "held":
            use = weights > 0
            doubted = doubts(model, triplets[use], answers[use], labelers[use], foreseen[use], weights[use])
            for labeler, independent in doubted.items():
                is_held = independent.probability >= HELD_FROM
                counted[labeler] = 0 if is_held else 1 - independent.probability
            if counted[SPAMMER] == 0 and before_hold < 0:
                before_hold = int(np.count_nonzero(labelers == SPAMMER))
    ari = adjusted_rand_score(y, model.labels_)
    return {"ari": ari, "before_hold": before_hold, "wrongly": int(np.count_nonzero(counted[:SPAMMER] == 0))}


def doubts(
    model: DCRC,
    triplets: np.ndarray,
    answers: np.ndarray,
    labelers: np.ndarray,
    foreseen: np.ndarray,
    weights: np.ndarray,
) -> dict[Any, Independence]:
    """What the answers say about their labelers, as `worker/outputs/reports.py` has it."""
    columns = np.array([COLUMN_OF[answer] for answer in answers.tolist()])
    patterns = pattern_probabilities(model.posterior_, triplets)
    without = left_out(patterns, columns, TABLE, weights) @ TABLE
    return more_doubtful(independence(labelers, foreseen, columns), independence(labelers, without, columns))


def report(cache: Cache) -> str:
    """Means over projects, and the cost beside the four alone, paired; of all sets and of each."""
    rows: dict[str, dict[tuple[str, int], Row]] = {setting: {} for setting in SETTINGS}
    for row in cache.rows.values():
        if "ari" in row:
            rows[row["setting"]][row["dataset"], row["seed"]] = row
    projects = sorted(set.intersection(*(set(of_setting) for of_setting in rows.values())))
    parts = {"all": projects} | {name: [project for project in projects if project[0] == name] for name in SETS}
    lines = [f"{len(projects)} projects, {N_BATCHES} rounds of 5 answers each; ARI, mean +- 95 %"]
    for title, chosen in parts.items():
        if chosen:
            lines += ["", f"{title}, {len(chosen)} projects", *_lines(rows, chosen)]
    return "\n".join(lines)


def _lines(rows: dict[str, dict[tuple[str, int], Row]], projects: list[tuple[str, int]]) -> list[str]:
    lines = []
    for setting, words in zip(SETTINGS, ("four people", "and a spammer", "who is held"), strict=True):
        scores = [rows[setting][project]["ari"] for project in projects]
        costs = [rows["four"][project]["ari"] - rows[setting][project]["ari"] for project in projects]
        lines.append("{:14} {:.3f} +- {:.3f}".format(words, *mean_and_half_width(scores)))
        lines[-1] += "   cost {:+.3f} +- {:.3f}".format(*mean_and_half_width(costs)) if setting != "four" else ""
    held = [rows["held"][project] for project in projects]
    after = [row["before_hold"] for row in held if row["before_hold"] >= 0]
    caught = f"held in {len(after)} of {len(held)} projects"
    lines.append(f"{caught}, after {np.median(after):.0f} answers (median)" if after else caught)
    lines.append(f"held wrongly: {sum(row['wrongly'] for row in held)} of {len(held) * SPAMMER} people")
    return lines


if __name__ == "__main__":
    main()
