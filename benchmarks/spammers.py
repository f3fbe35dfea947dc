"""What a labeler who answers by chance costs the clusters, with and without the hold that follows.

    python -m benchmarks.spammers --cache DIR [--runs 20] [--jobs 2]

Five people label the demo's songs, four with the mistakes of Table IV, the fifth by chance at the same speed, so that
only what the answers tell gives them away. Each run uses all answers; those of who is found out are left out from then
on, as `labeling/holds.py` does it. Beside it the four alone, with the same answers. Results go to
benchmarks/results/spammers.txt. Finished rows are kept in --cache: a run that was stopped goes on where it was.
"""

from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import rounds
from benchmarks.questions import MOVES, songs
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.labeling import holds
from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_probabilities, answer_table
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.spammers --cache DIR"
SETTINGS = ("four", "five", "held")
BATCH, N_BATCHES, N_LABELERS = 25, 20, 5
SPAMMER = N_LABELERS - 1
# Values of yes, no and don't know as numbers, by their column in tables of answers.
COLUMN_OF = {1: 0, -1: 1, 0: 2}


def main() -> None:
    arguments = rounds.parser(__doc__, runs=20).parse_args()
    cache = Cache(arguments.cache, "spammers")
    tasks = [Task("spammers", "songs", s, "DCRC", seed) for seed in range(arguments.runs) for s in SETTINGS]
    rounds.run(tasks, label, cache, arguments.jobs)
    text = report(cache)
    print(text)
    (RESULTS / "spammers.txt").write_text(f"{COMMAND}\n\n{text}\n")


def label(task: Task) -> Row:
    """ARI after the last answer, how many answers the spammer gave before the hold, and how many were held wrongly."""
    songs_of_seed = songs(task.seed)
    X, y = songs_of_seed.X, songs_of_seed.y
    rng = np.random.default_rng(task.seed)
    people = np.arange(BATCH) % N_LABELERS
    people = people[people != SPAMMER] if task.setting == "four" else people
    model = DCRC(songs_of_seed.n_clusters, random_state=task.seed).fit(X)
    model.set_params(n_init=1, n_moves=MOVES, warm_start=True)
    table = answer_table("relative", "people")
    triplets, answers, labelers = np.empty((0, 3), int), np.empty(0, int), np.empty(0, int)
    foreseen, on_hold, before_hold = np.empty((0, 3)), set[int](), -1
    for _ in range(N_BATCHES):
        asked = rng.permutation(model.suggest(len(people), asked=triplets, X=X, random_state=rng)[0])
        replies = noisy_answers(y, asked, TABLE_IV, rng)
        replies = np.where(people == SPAMMER, rng.choice([1, 0, -1], len(people)), replies)
        foreseen = np.concatenate([foreseen, answer_probabilities(model.posterior_, asked, table)])
        triplets, answers = np.concatenate([triplets, asked]), np.concatenate([answers, replies])
        labelers = np.concatenate([labelers, people])
        use = ~np.isin(labelers, list(on_hold))
        model.set_params(random_state=int(rng.integers(2**31)))
        model.fit(X, triplets=triplets[use], answers=answers[use], labelers=labelers[use])
        if task.setting == "held":
            columns = np.array([COLUMN_OF[answer] for answer in answers[use].tolist()])
            newly = set(holds.uninformed(labelers[use], foreseen[use], columns))
            before_hold = int(np.count_nonzero(labelers == SPAMMER)) if SPAMMER in newly else before_hold
            on_hold |= newly
    ari = adjusted_rand_score(y, model.labels_)
    return {"ari": ari, "before_hold": before_hold, "wrongly": len(on_hold - {SPAMMER})}


def report(cache: Cache) -> str:
    """Means over projects, and the cost beside the four alone, paired."""
    rows: dict[str, dict[int, Row]] = {setting: {} for setting in SETTINGS}
    for row in cache.rows.values():
        rows[row["setting"]][row["seed"]] = row
    seeds = sorted(set.intersection(*(set(of_setting) for of_setting in rows.values())))
    lines = [f"{len(seeds)} projects, {N_BATCHES} rounds of 5 answers each; ARI, mean +- 95 %"]
    for setting, words in zip(SETTINGS, ("four people", "and a spammer", "who is held"), strict=True):
        scores = [rows[setting][seed]["ari"] for seed in seeds]
        costs = [rows["four"][seed]["ari"] - rows[setting][seed]["ari"] for seed in seeds]
        lines.append("{:14} {:.3f} +- {:.3f}".format(words, *mean_and_half_width(scores)))
        lines[-1] += "   cost {:+.3f} +- {:.3f}".format(*mean_and_half_width(costs)) if setting != "four" else ""
    held = [rows["held"][seed] for seed in seeds]
    after = [row["before_hold"] for row in held if row["before_hold"] >= 0]
    lines.append(f"held in {len(after)} of {len(held)} projects, after {np.median(after):.0f} answers (median);")
    lines.append(f"held wrongly: {sum(row['wrongly'] for row in held)} of {len(held) * SPAMMER} people")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
