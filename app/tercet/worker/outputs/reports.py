"""A run's report: how probable it finds every answer, which answers are suspect, and how far it agrees with labelers.

Computed in the job from the final posteriors, so that pages only read it. A suspect answer need not be wrong; it is
where an analyst looks first.
"""

import numpy as np

from tercet.runs.results import AnswerReport, Array, LabelerReport, Report
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs import prequential
from tercet_algorithms.answers.patterns import ANSWERS, Kind, answer_probabilities, answer_table
from tercet_algorithms.dcrc.pattern_evidence import HARD_EPSILON


def report(inputs: JobInputs, outcome: FitOutcome, posterior: Array, foreseen: Array) -> Report:
    """Return the report of all answers and labelers under posteriors (N, K), with what was foreseen of each (M, A)."""
    probabilities = answer_probabilities_of(inputs, outcome, posterior)
    of_answer = probabilities[np.arange(len(probabilities)), answer_columns(inputs.answers, inputs.kind)]
    best = probabilities.max(axis=1, initial=0)
    if outcome.suspects is None:
        suspicion = _by_probability(of_answer, best)
    else:
        suspicion = _ranks(outcome.suspects, len(of_answer))
    answers = AnswerReport(inputs.numbers, of_answer.astype(np.float32), suspicion, foreseen.astype(np.float16))
    return Report(answers, _labelers(inputs, outcome, foreseen))


def answer_probabilities_of(inputs: JobInputs, outcome: FitOutcome, posterior: Array) -> Array:
    """Return P(answer) of every question asked, (M, A), under its labeler's table where the fit learned one."""
    common = answer_table(inputs.kind, outcome.epsilon or HARD_EPSILON)
    probabilities = np.empty((len(inputs.answers), len(ANSWERS[inputs.kind])), dtype=np.float64)
    learned = np.isin(inputs.labelers, list(outcome.labelers))
    probabilities[~learned] = answer_probabilities(posterior, inputs.triplets[~learned], common)
    for labeler, fit in outcome.labelers.items():
        rows = inputs.labelers == labeler
        probabilities[rows] = answer_probabilities(posterior, inputs.triplets[rows], fit.table)
    return probabilities


def answer_columns(answers: Array, kind: Kind) -> Array:
    """Return the column of every answer in a table of its kind, (M,)."""
    columns = np.zeros(len(answers), dtype=np.int64)
    for column, name in enumerate(ANSWERS[kind]):
        columns[answers == name] = column
    return columns


def _by_probability(of_answer: Array, best: Array) -> Array:
    """Rank the answers that are not the most probable ones; 1 has the lowest probability relative to the best."""
    odds = of_answer / best
    suspects = np.flatnonzero(of_answer < best)
    return _ranks(suspects[np.argsort(odds[suspects], kind="stable")], len(of_answer))


def _ranks(suspects: Array, count: int) -> Array:
    ranks = np.zeros(count, dtype=np.int32)
    ranks[suspects] = np.arange(1, len(suspects) + 1)
    return ranks


def _labelers(inputs: JobInputs, outcome: FitOutcome, foreseen: Array) -> list[LabelerReport]:
    labelers, rows = np.unique(inputs.labelers, return_inverse=True)
    counts = np.bincount(rows, minlength=len(labelers))
    scored = np.bincount(rows[np.isfinite(foreseen).all(axis=1)], minlength=len(labelers))
    hits = np.bincount(rows, weights=prequential.hits(inputs, foreseen), minlength=len(labelers))
    fits = [outcome.labelers.get(int(labeler)) for labeler in labelers]
    return [
        LabelerReport(
            labeler=int(labeler),
            answers=int(count),
            foreseen=int(n_foreseen),
            expected=float(hit / n_foreseen) if n_foreseen else None,
            quality=None if fit is None else fit.quality,
            accuracy=None if fit is None else fit.accuracy,
        )
        for labeler, count, n_foreseen, hit, fit in zip(labelers, counts, scored, hits, fits, strict=True)
    ]
