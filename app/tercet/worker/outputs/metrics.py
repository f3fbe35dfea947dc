"""The figures of a run that an analyst sees, from its clusters, the answers and the run before."""

from typing import Any

import numpy as np

from tercet.runs.bag_labels import BagLabels
from tercet.runs.confusion import confused_pairs
from tercet.runs.results import Array, Result
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.hand_edits import holding
from tercet.worker.inputs import JobInputs
from tercet_algorithms.answers.bag_labels import read_bags
from tercet_algorithms.answers.bag_naming import label_affinity
from tercet_algorithms.answers.metrics import answers_satisfied

# Bag labels of a cluster, the least share of its items that each must belong to, and the most clusters that get labels.
MOST_LABELS, LEAST_SHARE, MOST_LABELLED = 3, 0.1, 100


def measure(inputs: JobInputs, outcome: FitOutcome, result: Result) -> dict[str, Any]:
    """Return the metrics of a run; those that need answers or a previous run are missing without."""
    metrics: dict[str, Any] = {
        "n_items": len(result.labels),
        "n_clusters": result.n_clusters,
        "n_answers": len(inputs.answers),
        "mean_confidence": float(result.confidence.mean()),
        "n_iter": outcome.n_iter,
        "converged": outcome.converged,
        "confused_pairs": [pair._asdict() for pair in confused_pairs(result)],
        "warm_start": outcome.warm_start,
        "searched_answers": outcome.searched_answers,
        **outcome.figures,
    }
    if outcome.lower_bound is not None:
        metrics["lower_bound"] = outcome.lower_bound
    if inputs.bags is not None:
        metrics |= bag_metrics(inputs.bags, result)
    if len(inputs.answers):
        metrics["answers_satisfied"] = answers_satisfied(result.labels, inputs.triplets, inputs.answers, inputs.kind)
    if inputs.previous is not None:
        metrics["items_moved"] = items_moved(inputs.previous.result.labels, result.labels)
    return metrics | holding(inputs.edits, result.labels)


def bag_metrics(bags: BagLabels, result: Result) -> dict[str, Any]:
    """Return the numbers of labelled bags and labels, and each cluster's labels with their shares, largest first."""
    metrics: dict[str, Any] = {"n_labelled_bags": len(bags.labels), "n_bag_labels": bags.n_labels}
    if result.n_clusters > MOST_LABELLED:
        return metrics
    read = read_bags(**bags.fit_arguments(), n_items=len(result.labels))
    shares = label_affinity(np.eye(result.n_clusters, dtype=np.float32)[result.labels - 1], read)
    ranked = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_LABELS]
    metrics["cluster_labels"] = {
        str(cluster): [[read.names[label], round(float(row[label]), 3)] for label in best if row[label] >= LEAST_SHARE]
        for cluster, (row, best) in enumerate(zip(shares, ranked, strict=True), start=1)
    }
    return metrics


def items_moved(before: Array, after: Array) -> int:
    """Count the items that changed their cluster, among those that both runs have."""
    common = min(len(before), len(after))
    return int(np.count_nonzero(before[:common] != after[:common]))
