"""Whether what further answers are expected to buy holds the truth in eight of ten simulated projects.

    python -m benchmarks.expected_gain --data DIR --cache DIR [--runs 3] [--jobs 2]

Ten sets, real and synthetic, with random questions and with those of the policy, answers with people's errors, a
refit after every fifty. At each stage but the first, what the next 50 and 200 answers are expected to do is
compared with what they did: items that moved, and the share of answers to 3,000 random questions that clusters
predict. Results go to benchmarks/results/expected_gain.txt. Projects are kept in --cache; --runs 0 only computes
the forecasts again.
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import datasets, rounds
from benchmarks.gain_projects import BATCH, RANDOM_SHARE, SETS, SETTINGS, Trajectory, path_of, read, simulate
from benchmarks.rounds import Cache, Task, mean_and_half_width
from tercet_algorithms.answers.forecast import ExpectedGain, Stretch, forecast_gain, question_sensitivity
from tercet_algorithms.answers.gains import direct_gain
from tercet_algorithms.answers.patterns import answer_probabilities, answer_table, patterns_of, right_answers
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, random_triplets
from tercet_algorithms.common.matching import match_clusters

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.expected_gain --data DIR --cache DIR"
AHEAD = (50, 200)
N_QUESTIONS = 3_000
TABLE = answer_table("relative", "people")


class Outcome(NamedTuple):
    """One forecast and what came."""

    gain: ExpectedGain
    moved: int
    predicted: float
    stage: int  # answers before

    def moved_lies_within(self) -> bool:
        return round(self.gain.moved.low) <= self.moved <= round(self.gain.moved.high)

    def predicted_lies_within(self) -> bool:
        return self.gain.predicted.low - 5e-4 <= self.predicted <= self.gain.predicted.high + 5e-4


def main() -> None:
    arguments = datasets.parser(__doc__).parse_args()
    cache = Cache(arguments.cache, "gain_projects")
    seeds = range(arguments.runs)
    tasks = [Task("gains", name, setting, "DCRC", seed) for seed in seeds for name in SETS for setting in SETTINGS]
    work = partial(simulate, folder=arguments.cache, data_folder=arguments.data)
    rounds.run(tasks, work, cache, arguments.jobs)
    finished = [Task(*(row[name] for name in Task.__annotations__)) for row in cache.rows.values() if "ari" in row]
    outcomes = {task: outcomes_of(read(path_of(arguments.cache, task)), task.setting) for task in finished}
    text = report(outcomes)
    print(text)
    (RESULTS / "expected_gain.txt").write_text(f"{COMMAND}\n\n{text}\n")


def outcomes_of(project: Trajectory, setting: str) -> list[Outcome]:
    """Every forecast of one project beside what came."""
    posteriors = numbered(project.posteriors.astype(np.float64))
    labels = posteriors.argmax(axis=2)
    n_batches, n_items = len(labels) - 1, labels.shape[1]
    questions = random_triplets(n_items, N_QUESTIONS, np.random.default_rng(0))
    right = right_answers("relative")[patterns_of(project.y, questions)]
    predicted = [TABLE_IV[right, answer_probabilities(P, questions, TABLE).argmax(axis=1)].mean() for P in posteriors]
    moved_in = np.count_nonzero(labels[1:] != labels[:-1], axis=1)
    share = 1.0 if setting == "random" else RANDOM_SHARE
    expected_in = [direct_gain(P, TABLE, BATCH, share).moved for P in posteriors]
    outcomes = []
    for stage in range(1, n_batches + 1):
        past = [Stretch(BATCH, int(moved_in[j]), expected_in[j]) for j in range(stage)]
        for n_answers in AHEAD:
            end = stage + n_answers // BATCH
            if end <= n_batches:
                P = posteriors[stage]
                gain = forecast_gain(
                    n_answers,
                    direct_gain(P, TABLE, n_answers, share).moved,
                    past,
                    n_items=n_items,
                    sensitivity=question_sensitivity(P, TABLE, "relative"),
                    random_share=share,
                )
                moved = int(np.count_nonzero(labels[stage] != labels[end]))
                outcomes.append(Outcome(gain, moved, predicted[end] - predicted[stage], stage * BATCH))
    return outcomes


def numbered(posteriors: np.ndarray) -> np.ndarray:
    """Posteriors whose clusters keep their numbers, and whose rows sum to 1 in double precision."""
    kept = [posteriors[0]]
    for P in posteriors[1:]:
        renumbered = np.empty_like(P)
        renumbered[:, match_clusters(kept[-1].argmax(axis=1), P.argmax(axis=1), P.shape[1])] = P
        kept.append(renumbered)
    together = np.array(kept)
    scaled: np.ndarray = together / together.sum(axis=2, keepdims=True)
    return scaled


def report(outcomes: dict[Task, list[Outcome]]) -> str:
    """Share of intervals of 80 % that held the truth, by questions, answers, set and stage."""
    lines = [f"{len(outcomes)} projects of {len({task.dataset for task in outcomes})} sets; share of intervals of 80 %"]
    lines += ["that held the truth, and the median of what came and of what was expected", ""]
    for setting in SETTINGS:
        for n_answers in AHEAD:
            of = [o for t, all_of in outcomes.items() if t.setting == setting for o in all_of]
            lines.append(
                line(f"{setting} questions, {n_answers} answers", [o for o in of if o.gain.answers == n_answers])
            )
    every = [outcome for all_of in outcomes.values() for outcome in all_of]
    lines += ["", line("all", every), over_projects(list(outcomes.values())), ""]
    for name in SETS:
        lines.append(line(name, [o for task, all_of in outcomes.items() if task.dataset == name for o in all_of]))
    lines.append("")
    for stage in sorted({outcome.stage for outcome in every}):
        lines.append(line(f"after {stage} answers", [outcome for outcome in every if outcome.stage == stage]))
    return "\n".join(lines)


def over_projects(projects: list[list[Outcome]]) -> str:
    """The shares of the line for all again, as means over projects, whose intervals count forecasts of one as one."""
    held = [[(o.moved_lies_within(), o.predicted_lies_within()) for o in all_of] for all_of in projects]
    shares = np.array([np.mean(of_project, axis=0) for of_project in held])
    (moved, moved_half), (predicted, predicted_half) = (mean_and_half_width(list(column)) for column in shares.T)
    return (
        f"means over projects: moved {moved:.3f} +-{moved_half:.3f}, predicted {predicted:.3f} +-{predicted_half:.3f}"
    )


def line(title: str, outcomes: list[Outcome]) -> str:
    if not outcomes:
        return f"{title:32} -"
    moved = np.mean([outcome.moved_lies_within() for outcome in outcomes])
    predicted = np.mean([outcome.predicted_lies_within() for outcome in outcomes])
    came = np.median([[o.moved, 100 * o.predicted] for o in outcomes], axis=0)
    expected = np.median([[o.gain.moved.median, 100 * o.gain.predicted.median] for o in outcomes], axis=0)
    return (
        f"{title:32} {len(outcomes):4} forecasts  moved {moved:.2f} ({came[0]:.0f}, expected {expected[0]:.0f})  "
        f"predicted {predicted:.2f} ({came[1]:+.1f} of 100, expected {expected[1]:+.1f})"
    )


if __name__ == "__main__":
    main()
