"""A run's report: how probable it finds every answer, which answers are suspect, and how far it agrees with labelers.

Computed in the job from the final posteriors, so that pages only read it. A suspect answer need not be wrong; it is
where an analyst looks first.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from tercet.runs.results import AnswerReport, Array, LabelerReport, Report
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import JobInputs, answer_columns
from tercet.worker.outputs import known_answers, prequential
from tercet.worker.outputs.prequential import Foreseen
from tercet_algorithms.answers.error_rates import LearnedRates
from tercet_algorithms.answers.independence import Independence, independence, left_out, more_doubtful
from tercet_algorithms.answers.patterns import ANSWERS, Kind, answer_table, pattern_probabilities
from tercet_algorithms.dcrc.pattern_evidence import HARD_EPSILON

# Answers that say who does not look: the newest; more would change no finding and take seconds.
MOST_JUDGED = 20_000


@dataclass(frozen=True)
class Beliefs:
    """What a fit believes of the questions asked."""

    columns: Array  # (M,) of the answers given
    probabilities: Array  # (M, A), with it
    probabilities_of_others: Array  # (M, A), without as much of it as counted
    probabilities_left_out: Array  # (M, A), without all of it, as if it had counted in full


def beliefs(inputs: JobInputs, outcome: FitOutcome, posterior: Array) -> Beliefs:
    """Return what posteriors (N, K) say of the questions, under their labelers' tables where the fit learned them."""
    columns = answer_columns(inputs.answers, inputs.kind)
    patterns = pattern_probabilities(np.asarray(posterior, dtype=np.float64), inputs.triplets)
    probabilities, of_others, without = np.empty((3, len(columns), len(ANSWERS[inputs.kind])))
    common = answer_table(inputs.kind, outcome.epsilon or HARD_EPSILON)
    tables = outcome.labelers
    weights = np.ones(len(columns)) if inputs.weights is None else inputs.weights
    of_table = np.where(np.isin(inputs.labelers, list(tables)), inputs.labelers, -1)
    for labeler in np.unique(of_table).tolist():
        rows, table = of_table == labeler, tables.get(labeler, common)
        asked = patterns[rows], columns[rows], table
        probabilities[rows] = patterns[rows] @ table
        of_others[rows] = left_out(*asked, outcome.answer_weight * weights[rows]) @ table
        without[rows] = left_out(*asked, weights[rows]) @ table
    return Beliefs(columns, probabilities, of_others, without)


def tables_of(labelers: Array, kind: Kind, outcome: FitOutcome) -> Array:
    """Return P(answer | pattern) of the labelers of m answers, (m, 5, A): as the fit learned it, or the common one."""
    common = answer_table(kind, outcome.epsilon or HARD_EPSILON)
    people, rows = np.unique(labelers, return_inverse=True)
    return np.stack([*(outcome.labelers.get(person, common) for person in people.tolist()), common])[rows]


def report(
    inputs: JobInputs, outcome: FitOutcome, posterior: Array, foreseen: Foreseen, rates: LearnedRates | None
) -> Report:
    """Return the report of all answers and labelers under posteriors (N, K), with what was foreseen of each answer."""
    believed = beliefs(inputs, outcome, posterior)
    probabilities = believed.probabilities_of_others
    of_answer = probabilities[np.arange(len(probabilities)), believed.columns]
    best = probabilities.max(axis=1, initial=0)
    if outcome.suspects is None:
        suspicion = _by_probability(of_answer, best)
    else:
        suspicion = _ranks(outcome.suspects, len(of_answer))
    before = (array.astype(np.float16) for array in foreseen)
    answers = AnswerReport(inputs.numbers, of_answer.astype(np.float32), suspicion, *before)
    doubts = _doubts(inputs.labelers, believed, foreseen.answers)
    return Report(answers, _labelers(inputs, foreseen.answers, doubts, rates))


def _doubts(labelers: Array, believed: Beliefs, foreseen: Array) -> dict[Hashable, Independence]:
    """Return how probable it is that each labeler's answers have nothing to do with the items.

    They are compared with what earlier runs foresaw, and with what all other answers predict now. The earlier runs had
    not used the judged answers, but knew few others. The present fit knows more, but has also learned from the judged
    answers. Of the two findings the more doubtful one counts.
    """
    newest = np.arange(len(labelers))[-MOST_JUDGED:]
    judged = newest[np.isfinite(foreseen[newest]).all(axis=1)]
    columns = believed.columns
    before = independence(labelers[judged], foreseen[judged].astype(np.float64), columns[judged])
    others = independence(labelers[newest], believed.probabilities_left_out[newest], columns[newest])
    return more_doubtful(before, others)


def answer_probabilities_of(inputs: JobInputs, outcome: FitOutcome, posterior: Array) -> Array:
    """Return P(answer) of every question asked, (M, A), under its labeler's table where the fit learned one."""
    return beliefs(inputs, outcome, posterior).probabilities


def _by_probability(of_answer: Array, best: Array) -> Array:
    """Rank the answers that are not the most probable ones; 1 has the lowest probability relative to the best."""
    odds = of_answer / best
    suspects = np.flatnonzero(of_answer < best)
    return _ranks(suspects[np.argsort(odds[suspects], kind="stable")], len(of_answer))


def _ranks(suspects: Array, count: int) -> Array:
    ranks = np.zeros(count, dtype=np.int32)
    ranks[suspects] = np.arange(1, len(suspects) + 1)
    return ranks


def _labelers(
    inputs: JobInputs, foreseen: Array, doubts: dict[Hashable, Independence], rates: LearnedRates | None
) -> list[LabelerReport]:
    labelers, rows = np.unique(inputs.labelers, return_inverse=True)
    known = known_answers.results(inputs)
    counts = np.bincount(rows, minlength=len(labelers))
    scored = np.bincount(rows[np.isfinite(foreseen).all(axis=1)], minlength=len(labelers))
    hits = np.bincount(rows, weights=prequential.hits(inputs, foreseen), minlength=len(labelers))
    return [
        LabelerReport(
            labeler=int(labeler),
            answers=int(count),
            foreseen=int(n_foreseen),
            expected=float(hit / n_foreseen) if n_foreseen else None,
            doubt=doubts[int(labeler)].probability if int(labeler) in doubts else None,
            known=known[int(labeler)][0],
            known_right=known[int(labeler)][1],
            **_habits(rates, int(labeler)),
        )
        for labeler, count, n_foreseen, hit in zip(labelers, counts, scored, hits, strict=True)
    ]


def _habits(rates: LearnedRates | None, labeler: int) -> dict[str, float | None]:
    """Return how a labeler answers, as learned from what was foreseen; None where nothing was."""
    if rates is None or labeler not in rates.labelers:
        return dict.fromkeys(("quality", "accuracy", "unsure", "mixed_up", "invented"))
    own = rates.labelers[labeler]
    shares = {"unsure": own.unsure, "mixed_up": own.mixed_up, "invented": own.invented}
    return {"quality": rates.quality(labeler), "accuracy": rates.accuracy(labeler), **shares}
