"""How well answers were foreseen as they came: the share of those that name an item which clusters pointed to.

"Don't know" is left out: how many of the answers it is depends on which questions are chosen and how many clusters
there are, so that with it a share says little, and to expect it always is often hard to beat. Among the others chance
is the same for every question.
"""

from typing import Any

import numpy as np
from scipy.stats import binomtest

from tercet.runs.outlook import FEWEST_QUESTIONS
from tercet.runs.results import Array
from tercet.worker.inputs import JobInputs, answer_columns
from tercet_algorithms.answers.metrics import agreement_ceiling
from tercet_algorithms.answers.patterns import ANSWERS

# A share of fewer answers is too rough to draw, and more points than this show nothing more.
FEWEST, MOST_POINTS = 25, 12
DONT_KNOW = "dnk"


def measure(inputs: JobInputs, foreseen: Array) -> dict[str, Any]:
    """Return the curve over all answers that name an item and that some run foresaw; empty where it is one point.

    Each point has the number of answers by then, the share of those since the point before that were foreseen, and its
    95 % interval. The ceiling is by how far labelers agree which item it is; None where too few questions say it.
    """
    named = np.array([name != DONT_KNOW for name in ANSWERS[inputs.kind]])
    columns = answer_columns(inputs.answers, inputs.kind)
    names_item: Array = named[columns]
    rows = np.flatnonzero(names_item & np.isfinite(foreseen).all(axis=1))
    n_points = min(MOST_POINTS, len(rows) // FEWEST)
    if n_points < 2:
        return {}
    right = np.where(named, foreseen, -1.0).argmax(axis=1) == columns
    curve = {
        "points": [_point(right, part) for part in np.array_split(rows, n_points)],
        "chance": round(1 / np.count_nonzero(named), 4),
        "ceiling": _ceiling(inputs, np.flatnonzero(names_item)),
    }
    return {"accuracy_curve": curve}


def _point(right: Array, part: Array) -> list[float]:
    share = right[part].mean()
    interval = binomtest(int(right[part].sum()), len(part)).proportion_ci(method="wilson")
    return [int(part[-1]) + 1, *(round(float(value), 4) for value in (share, *interval))]


def _ceiling(inputs: JobInputs, rows: Array) -> float | None:
    agreement = agreement_ceiling(
        inputs.triplets[rows], inputs.answers[rows], inputs.labelers[rows].tolist(), inputs.kind
    )
    return round(agreement.ceiling, 4) if agreement.questions >= FEWEST_QUESTIONS else None
