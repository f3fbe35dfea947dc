"""The figures of a run that an analyst sees, each from the clusters, the answers and the run before."""

from typing import Any

import numpy as np

from algorithms.metrics import answers_satisfied, krippendorff_alpha
from algorithms.patterns import ANSWERS, Kind, answer_probabilities, answer_table
from app.clustering.fitting import Fit
from app.clustering.material import Material
from app.clustering.results import Array, Result
from app.models import Run

# How far people agree is told over the newest answers: over a million it would take seconds, and change no digit.
AGREED_ON = 20_000


def measure(run: Run, material: Material, fitted: Fit, result: Result) -> dict[str, Any]:
    """Give the metrics of a run; those that need a previous run or answers are missing without."""
    metrics: dict[str, Any] = {
        "n_items": len(result.labels),
        "n_clusters": result.n_clusters,
        "n_answers": len(material.answers),
        "mean_confidence": float(result.confidence.mean()),
        "lower_bound": fitted.lower_bound,
        "n_iter": fitted.n_iter,
        "converged": fitted.converged,
        "warm_start": fitted.warm_start,
        "searched_answers": fitted.searched_answers,
        **fitted.figures,
    }
    if len(material.answers):
        given = (material.triplets, material.answers, material.kind)
        metrics["answers_satisfied"] = answers_satisfied(result.labels, *given)
        metrics |= agreement(material)
    if material.previous is not None:
        metrics["items_moved"] = items_moved(material.previous.result.labels, result.labels)
        metrics |= _prequential(run, material, material.previous.result.posterior, fitted.epsilon)
    return metrics


def agreement(material: Material) -> dict[str, float]:
    """How far people agree on the questions that several of them answered; nothing if there are none."""
    newest = slice(-AGREED_ON, None)
    given = material.triplets[newest], material.answers[newest], material.labelers[newest].tolist()
    alpha = krippendorff_alpha(*given, material.kind)
    return {} if np.isnan(alpha) else {"krippendorff_alpha": alpha}


def items_moved(before: Array, after: Array) -> int:
    """Count the items that changed their cluster, among those that both runs know."""
    common = min(len(before), len(after))
    return int(np.count_nonzero(before[:common] != after[:common]))


def _prequential(run: Run, material: Material, posterior: Array, epsilon: float) -> dict[str, Any]:
    """How well the previous run predicted the answers that came after it, before they were used."""
    new = (material.numbers > run.answers_from) & (material.triplets < len(posterior)).all(axis=1)
    count = int(np.count_nonzero(new))
    if not count:
        return {"prequential_answers": 0}
    hits = predicted(posterior, material.triplets[new], material.kind, epsilon) == material.answers[new]
    return {"prequential_answers": count, "prequential_accuracy": float(np.mean(hits))}


def predicted(posterior: Array, triplets: Array, kind: str, epsilon: float) -> Array:
    """Give the most probable answer to each question under posteriors (N, K)."""
    name: Kind = "outlier" if kind == "outlier" else "relative"
    table = answer_table(name, epsilon)
    best: Array = np.array(ANSWERS[name])[answer_probabilities(posterior, triplets, table).argmax(axis=1)]
    return best
