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
    """Return the curve over all answers that some run foresaw; empty where it would be one point.

    Each point has the number of answers by then, the share foreseen of those since the point before, and its 95 %
    interval. The chance level is the share of the most frequent answer: who knows no clusters does best to expect it
    always. Random questions alone would say less where there are many clusters: nearly all of their answers are "don't
    know", so that clusters add little to chance.
    """
    rows = np.flatnonzero(np.isfinite(foreseen).all(axis=1))
    n_points = min(MOST_POINTS, len(rows) // FEWEST)
    if n_points < 2:
        return {}
    right = hits(inputs, foreseen)
    points = [_point(right, part) for part in np.array_split(rows, n_points)]
    frequencies = np.bincount(answer_columns(inputs.answers[rows], inputs.kind))
    return {"accuracy_curve": {"points": points, "chance": round(float(frequencies.max() / len(rows)), 4)}}


def _point(right: Array, part: Array) -> list[float]:
    share = right[part].mean()
    interval = binomtest(int(right[part].sum()), len(part)).proportion_ci(method="wilson")
    return [int(part[-1]) + 1, *(round(float(value), 4) for value in (share, *interval))]
