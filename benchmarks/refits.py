"""What a refit after ten answers costs in the loop of the app, in units of K-means with ten starts.

    python -m benchmarks.refits --data DIR [--runs 3]

Almost 5,000 items (birdsong_hja), people who err as Table IV says, 300 answers (`app_loop.py`), with the features alone
and with candidates, two of which may be alive (`candidates="auto"`). Times are processor times of one thread, those of
K-means measured beside each. A run also searches anew whenever answers have doubled, and chooses candidates anew; these
are counted apart. Results go to benchmarks/results/refits.txt.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Before numpy, which asks once: with several threads processor times are no longer those of the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans

from benchmarks import datasets
from benchmarks.app_loop import AppLoop, default
from benchmarks.questions import answered
from benchmarks.timing import seconds, target

RESULTS = Path(__file__).with_name("results")
COMMAND = "python -m benchmarks.refits --data DIR"
ANSWERS = 300
KINDS = ("answers doubled: a search", "candidates chosen anew", "one chain", "two chains")


class Refit(NamedTuple):
    """A run after ten answers."""

    kind: str
    cost: float  # in units of K-means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    data = datasets.load("birdsong_hja", arguments.data)
    parts = [f"{COMMAND}\n\n{len(data.X)} items, {data.n_clusters} clusters; times of a run in KMeans(n_init=10)\n"]
    for candidates in ("features", "auto"):
        refits = [refit for seed in range(arguments.runs) for refit in loop(data, candidates, seed)]
        parts.append(report(candidates, refits))
    text = "\n".join(parts)
    print(text)
    (RESULTS / "refits.txt").write_text(text)


def loop(data: datasets.Dataset, candidates: str, seed: int) -> Iterator[Refit]:
    """The runs of one simulated project."""
    rng = np.random.default_rng(seed)
    app = AppLoop(data.X, data.n_clusters, one_scale=False, seed=seed, candidates=candidates)
    due = default("rerun_answers")
    compared_at = 0  # answers when the candidates were chosen, from 30 on
    for n_answers in range(due, ANSWERS + 1, due):
        app.answer(due, lambda asked: answered(data.y, asked, "people", rng))
        before = figures(app)
        unit = seconds(lambda: KMeans(data.n_clusters, n_init=10, random_state=seed).fit(app.X))
        cost = seconds(app.run) / unit
        chosen = candidates == "auto" and n_answers >= 30 and n_answers >= 2 * compared_at
        compared_at = n_answers if chosen else compared_at
        if figures(app)["searched_answers"] == n_answers:
            yield Refit(KINDS[0], cost)
        elif chosen:
            yield Refit(KINDS[1], cost)
        else:
            yield Refit(KINDS[1 + len(before.get("candidate_weights", "1"))], cost)


def figures(app: AppLoop) -> dict[str, object]:
    assert app.previous is not None, "the loop begins with a run"
    return app.previous.run.metrics


def report(candidates: str, refits: list[Refit]) -> str:
    lines = [f'candidates="{candidates}"{"":24}runs    mean  median  largest']
    for kind in KINDS:
        costs = [refit.cost for refit in refits if refit.kind == kind]
        if costs:
            lines.append(f"{kind:44}{len(costs):5}{np.mean(costs):8.2f}{np.median(costs):8.2f}{np.max(costs):9.2f}")
    costs = [refit.cost for refit in refits if refit.kind in KINDS[2:]]
    lines.append(target("mean of refits after ten answers", float(np.mean(costs)), 4))
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
