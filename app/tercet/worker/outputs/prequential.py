"""Prequential evaluation: how probable answers were before any run had used them.

A run fits the answers that it uses, so that it finds even random answers likely. The run before has not seen them.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from tercet.models import Run
from tercet.runs.results import Array
from tercet.worker.fits.outcome import labeler_table
from tercet.worker.inputs import JobInputs
from tercet_algorithms.answers.patterns import ANSWERS, Errors, pattern_probabilities, right_answers
from tercet_algorithms.answers.temperature import tempered

# The newest answers to questions drawn at random that figures rest on: older runs knew less.
MOST_DRAWN = 200


class Foreseen(NamedTuple):
    """What the last run that had not used each answer says of it; NaN without one."""

    answers: Array  # (M, A) P of each possible answer
    rights: Array  # (M, A) P that each is the right one


def foresee(run: Run, inputs: JobInputs, epsilon: Errors) -> Foreseen:
    """Return what was foreseen of each answer.

    Answers that earlier runs used keep what was foreseen then; those that came since are foreseen by the run before.
    """
    foreseen = Foreseen(_before(inputs, "foreseen"), _before(inputs, "rights"))
    if inputs.previous is None:
        return foreseen
    new = new_answers(run, inputs)
    posterior = tempered(inputs.previous.fitted, inputs.previous.temperature)
    patterns = pattern_probabilities(posterior, inputs.triplets[new])
    foreseen.rights[new] = patterns @ np.eye(foreseen.rights.shape[1])[right_answers(inputs.kind)]
    foreseen.answers[new] = expected(inputs, epsilon, patterns, new)
    return foreseen


def new_answers(run: Run, inputs: JobInputs) -> Array:
    """Return the rows (m,) of the answers that came after the run before, and are about items that it had."""
    assert inputs.previous is not None, "without a run before there are no answers after it"
    return np.flatnonzero(_is_new(run, inputs) & (inputs.triplets < len(inputs.previous.fitted)).all(axis=1))


def expected(inputs: JobInputs, epsilon: Errors, patterns: Array, rows: Array) -> Array:
    """Return P of each possible answer in `rows` (m,), (m, A): by P(pattern) (m, 5) and how their labelers answer."""
    assert inputs.previous is not None, "the run before has learned how labelers answer"
    answers = np.empty((len(rows), len(ANSWERS[inputs.kind])))
    for labeler in np.unique(inputs.labelers[rows]).tolist():
        theirs = inputs.labelers[rows] == labeler
        answers[theirs] = patterns[theirs] @ labeler_table(inputs.previous.state, inputs.kind, epsilon, labeler)
    return answers


def measure_new(run: Run, inputs: JobInputs, foreseen: Array) -> dict[str, Any]:
    """Return how well the previous run predicted the answers that came after it, before any run used them."""
    if inputs.previous is None:
        return {}
    new = _is_new(run, inputs) & np.isfinite(foreseen).all(axis=1)
    count = int(np.count_nonzero(new))
    if not count:
        return {"prequential_answers": 0}
    return {"prequential_answers": count, "prequential_accuracy": float(np.mean(hits(inputs, foreseen)[new]))}


def measure_drawn(inputs: JobInputs, foreseen: Array) -> dict[str, Any]:
    """Return how well runs predicted the newest answers to questions drawn at random, and how well they expected to.

    Chosen questions are the hard ones: of them no share says how good the clusters are. The share has its 95 % interval
    (Wilson, 1927), because these answers are few.
    """
    if inputs.drawn is None:
        return {}
    rows = np.flatnonzero(inputs.drawn & np.isfinite(foreseen).all(axis=1))[-MOST_DRAWN:]
    if not len(rows):
        return {"random_answers": 0}
    right = hits(inputs, foreseen)[rows]
    low, high = binomtest(int(right.sum()), len(rows)).proportion_ci(method="wilson")
    return {
        "random_answers": len(rows),
        "random_accuracy": float(right.mean()),
        "random_accuracy_interval": [float(low), float(high)],
        "random_expected": float(foreseen[rows].max(axis=1).mean()),
    }


def hits(inputs: JobInputs, foreseen: Array) -> Array:
    """Return whether each answer is the one that was foreseen as most probable, (M,); False where none was foreseen."""
    best = np.array(ANSWERS[inputs.kind])[np.nan_to_num(foreseen, nan=-1.0).argmax(axis=1)]
    equal: Array = (best == inputs.answers) & np.isfinite(foreseen).all(axis=1)
    return equal


def _is_new(run: Run, inputs: JobInputs) -> Array:
    return inputs.numbers > run.answers_from


def _before(inputs: JobInputs, name: str) -> Array:
    """Return what the previous run's report holds of answers that this one uses too."""
    rows = np.full((len(inputs.answers), len(ANSWERS[inputs.kind])), np.nan)
    report = None if inputs.previous is None else inputs.previous.report
    reported = None if report is None else getattr(report, name)
    if report is None or reported is None:
        return rows
    _, here, before = np.intersect1d(inputs.numbers, report.numbers, assume_unique=True, return_indices=True)
    rows[here] = reported[before]
    return rows
