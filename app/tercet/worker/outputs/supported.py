"""Whether a run makes more clusters than its answers support, which people are told."""

from typing import Any

import numpy as np

from tercet.runs.results import Array
from tercet.worker.fits.outcome import FitOutcome, mixed_table
from tercet.worker.inputs import JobInputs, answer_columns
from tercet_algorithms.answers.supported_clusters import supported_clusters
from tercet_algorithms.dcrc.pattern_evidence import HARD_EPSILON

# The newest answers and the most clusters that are compared: more would take seconds.
NEWEST, MOST_CLUSTERS = 1_000, 40


def measure(inputs: JobInputs, outcome: FitOutcome, posterior: Array) -> dict[str, Any]:
    """Return, as a metric, the number of clusters that answers support under the fit's posterior (N, K), and which.

    It is missing where there are no answers, and where clusters of any number are cut from one fit.
    """
    n_clusters = posterior.shape[1]
    if not len(inputs.answers) or not outcome.state or outcome.embedding is not None or n_clusters > MOST_CLUSTERS:
        return {}
    newest = slice(-NEWEST, None)
    counts = np.ones(len(inputs.answers)) if inputs.weights is None else inputs.weights
    groups = supported_clusters(
        posterior,
        inputs.triplets[newest],
        answer_columns(inputs.answers[newest], inputs.kind),
        mixed_table(outcome.state, inputs.kind, outcome.epsilon or HARD_EPSILON),
        outcome.answer_weight * counts[newest],
        counts[newest],
    )
    alike = [[cluster + 1 for cluster in group] for group in groups if len(group) > 1]
    return {"clusters_supported": {"n_clusters": len(groups), "alike": alike}}
