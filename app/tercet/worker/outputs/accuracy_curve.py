"""How well answers were foreseen as they came: shares of equal numbers of answers, and what no clusters would reach."""

from typing import Any

import numpy as np
from scipy.stats import binomtest

from tercet.runs.results import Array
from tercet.worker.inputs import JobInputs, answer_columns
from tercet.worker.outputs.prequential import hits

# A share of fewer answers is too rough to draw, and more points than this show nothing more.
FEWEST, MOST_POINTS = 25, 12


def measure(inputs: JobInputs, foreseen: Array) -> dict[str, Any]:
    """Return the curve over answers to random questions where there are enough of them, else over all.

    Each point has the number of answers by then, the share foreseen and its 95 % interval. The chance level is the
    share of the most frequent answer among them: who knows no clusters does best to expect it always. Empty where
    there is but one point.
    """
    is_foreseen: Array = np.asarray(np.isfinite(foreseen).all(axis=1))
    drawn = is_foreseen & (False if inputs.drawn is None else inputs.drawn)
    for kind, rows in (("random", np.flatnonzero(drawn)), ("all", np.flatnonzero(is_foreseen))):
        n_points = min(MOST_POINTS, len(rows) // FEWEST)
        if n_points < 2:
            continue
        right = hits(inputs, foreseen)
        points = [_point(right, part) for part in np.array_split(rows, n_points)]
        frequencies = np.bincount(answer_columns(inputs.answers[rows], inputs.kind))
        chance = round(float(frequencies.max() / len(rows)), 4)
        return {"accuracy_curve": {"questions": kind, "points": points, "chance": chance}}
    return {}


def _point(right: Array, part: Array) -> list[float]:
    share = right[part].mean()
    interval = binomtest(int(right[part].sum()), len(part)).proportion_ci(method="wilson")
    return [int(part[-1]) + 1, *(round(float(value), 4) for value in (share, *interval))]
