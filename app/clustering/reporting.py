"""What a run says about the answers and the people that it learned from: which answers surprise it, whom it trusts.

Computed in the job from the final posteriors, so that pages only read. A surprising answer need not be wrong; it is
where an analyst looks first.
"""

import numpy as np

from algorithms.fitting import HARD_EPSILON
from algorithms.patterns import ANSWERS, Kind, answer_probabilities, answer_table
from app.clustering.fitted import Fit
from app.clustering.material import Material
from app.clustering.results import AnswerReport, Array, LabelerReport, Report


def report(material: Material, fitted: Fit, posterior: Array) -> Report:
    """Tell of every answer how probable it is under posteriors (N, K), and of every labeler how they answer."""
    kind: Kind = "outlier" if material.kind == "outlier" else "relative"
    chances = answer_chances(material, fitted, posterior, kind)
    columns = answer_columns(material.answers, kind)
    given = chances[np.arange(len(columns)), columns]
    best = chances.max(axis=1, initial=0)
    suspicion = _ranks(fitted.suspects, len(given)) if fitted.suspects is not None else _surprise(given, best)
    answers = AnswerReport(material.numbers, given.astype(np.float32), suspicion)
    return Report(answers, _labelers(material, fitted, given >= best))


def answer_chances(material: Material, fitted: Fit, posterior: Array, kind: Kind) -> Array:
    """P(answer) of every question asked, (M, A), under its labeler's table where the fit learned one."""
    plain = answer_table(kind, max(fitted.epsilon, HARD_EPSILON))
    chances = np.empty((len(material.answers), len(ANSWERS[kind])), dtype=np.float64)
    learned = np.isin(material.labelers, list(fitted.labelers))
    chances[~learned] = answer_probabilities(posterior, material.triplets[~learned], plain)
    for labeler, found in fitted.labelers.items():
        mine = material.labelers == labeler
        chances[mine] = answer_probabilities(posterior, material.triplets[mine], found.table)
    return chances


def answer_columns(answers: Array, kind: Kind) -> Array:
    """Column of every answer in a table of its kind, (M,)."""
    columns = np.zeros(len(answers), dtype=np.int64)
    for column, name in enumerate(ANSWERS[kind]):
        columns[answers == name] = column
    return columns


def _surprise(given: Array, best: Array) -> Array:
    """Rank the answers to which the run prefers another, 1 the least probable beside the preferred one."""
    odds = given / best
    suspects = np.flatnonzero(given < best)
    return _ranks(suspects[np.argsort(odds[suspects], kind="stable")], len(given))


def _ranks(suspects: Array, count: int) -> Array:
    ranks = np.zeros(count, dtype=np.int32)
    ranks[suspects] = np.arange(1, len(suspects) + 1)
    return ranks


def _labelers(material: Material, fitted: Fit, predicted: Array) -> list[LabelerReport]:
    people, whose = np.unique(material.labelers, return_inverse=True)
    counts = np.bincount(whose, minlength=len(people))
    hits = np.bincount(whose, weights=predicted, minlength=len(people))
    found = [fitted.labelers.get(int(person)) for person in people]
    return [
        LabelerReport(
            labeler=int(person),
            answers=int(count),
            predicted=float(hit / count),
            quality=None if one is None else one.quality,
            accuracy=None if one is None else one.accuracy,
        )
        for person, count, hit, one in zip(people, counts, hits, found, strict=True)
    ]
