"""The figures of a run that an analyst sees, each from the clusters, the answers and the run before."""

from typing import Any

import numpy as np

from algorithms.bag_labels import read_bags
from algorithms.bag_naming import label_affinity
from algorithms.metrics import answers_satisfied, krippendorff_alpha
from algorithms.patterns import ANSWERS, Kind, answer_probabilities
from app.clustering.bags import BagLabels
from app.clustering.fitted import Fit, table_of
from app.clustering.material import Material, Previous
from app.clustering.results import Array, Result
from app.models import Run

# How far people agree is told over the newest answers: over a million it would take seconds, and change no digit.
AGREED_ON = 20_000
# Labels told of a cluster, the share of its items that each must be said of, and the most clusters they are told of.
LABELS_SHOWN, LEAST_SHARE, MOST_NAMED = 3, 0.1, 100


def measure(run: Run, material: Material, fitted: Fit, result: Result) -> dict[str, Any]:
    """Give the metrics of a run; those that need a previous run or answers are missing without."""
    metrics: dict[str, Any] = {
        "n_items": len(result.labels),
        "n_clusters": result.n_clusters,
        "n_answers": len(material.answers),
        "mean_confidence": float(result.confidence.mean()),
        "n_iter": fitted.n_iter,
        "converged": fitted.converged,
        "warm_start": fitted.warm_start,
        "searched_answers": fitted.searched_answers,
        **fitted.figures,
    }
    if fitted.lower_bound is not None:
        metrics["lower_bound"] = fitted.lower_bound
    if material.bags is not None:
        metrics |= about_bags(material.bags, result)
    if len(material.answers):
        given = (material.triplets, material.answers, material.kind)
        metrics["answers_satisfied"] = answers_satisfied(result.labels, *given)
        metrics |= agreement(material)
    if material.previous is not None:
        metrics["items_moved"] = items_moved(material.previous.result.labels, result.labels)
        metrics |= _prequential(run, material, material.previous, fitted.epsilon)
    return metrics


def about_bags(bags: BagLabels, result: Result) -> dict[str, Any]:
    """How many bag labels there were, and which of them go with which cluster: each with its share, largest first."""
    found: dict[str, Any] = {"n_labelled_bags": len(bags.labels), "n_bag_labels": bags.n_labels}
    if result.n_clusters > MOST_NAMED:
        return found
    read = read_bags(**bags.said(), n_items=len(result.labels))
    shares = label_affinity(np.eye(result.n_clusters, dtype=np.float32)[result.labels - 1], read)
    ranked = np.argsort(-shares, axis=1, kind="stable")[:, :LABELS_SHOWN]
    found["cluster_labels"] = {
        str(cluster): [
            [read.names[label], round(float(row[label]), 3)] for label in best if row[label] >= LEAST_SHARE
        ]
        for cluster, (row, best) in enumerate(zip(shares, ranked, strict=True), start=1)
    }
    return found


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


def _prequential(run: Run, material: Material, previous: Previous, epsilon: float) -> dict[str, Any]:
    """How well the previous run predicted the answers that came after it, before they were used."""
    posterior = previous.result.posterior
    new = (material.numbers > run.answers_from) & (material.triplets < len(posterior)).all(axis=1)
    count = int(np.count_nonzero(new))
    if not count:
        return {"prequential_answers": 0}
    kind: Kind = "outlier" if material.kind == "outlier" else "relative"
    hits = np.zeros(len(new), dtype=bool)
    for labeler in np.unique(material.labelers[new]).tolist():
        theirs = new & (material.labelers == labeler)
        table = table_of(previous.state, kind, epsilon, labeler)
        hits[theirs] = predicted(posterior, material.triplets[theirs], kind, table) == material.answers[theirs]
    return {"prequential_answers": count, "prequential_accuracy": float(np.mean(hits[new]))}


def predicted(posterior: Array, triplets: Array, kind: Kind, table: Array) -> Array:
    """Give the most probable answer to each question under posteriors (N, K), of who answers as the table says."""
    best: Array = np.array(ANSWERS[kind])[answer_probabilities(posterior, triplets, table).argmax(axis=1)]
    return best
