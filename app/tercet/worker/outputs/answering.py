"""Error rates of people, and their agreement where several answered one question."""

from typing import Any

import numpy as np

from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.reports import Beliefs
from tercet_algorithms.answers.error_rates import learn_error_rates
from tercet_algorithms.answers.metrics import agreement_ceiling, krippendorff_alpha

# Measured over the newest answers: over a million it would take seconds, and change no digit.
NEWEST = 20_000


def measure(inputs: JobInputs, believed: Beliefs) -> dict[str, Any]:
    """Return error rates and agreement; each is missing where there are no answers, or none to one question."""
    if not len(inputs.answers):
        return {}
    newest = slice(-NEWEST, None)
    rates = learn_error_rates(believed.patterns[newest], believed.columns[newest], inputs.kind)
    return {"error_rates": {name: round(value, 4) for name, value in rates._asdict().items()}, **agreement(inputs)}


def agreement(inputs: JobInputs) -> dict[str, Any]:
    """Return how far labelers agree on the questions that several of them answered; empty if there are none."""
    newest = slice(-NEWEST, None)
    answers = inputs.triplets[newest], inputs.answers[newest], inputs.labelers[newest].tolist(), inputs.kind
    ceiling, alpha = agreement_ceiling(*answers), krippendorff_alpha(*answers)
    metrics: dict[str, Any] = {}
    if ceiling.questions:
        metrics["agreement"] = {name: round(value, 4) for name, value in ceiling._asdict().items()}
    return metrics if np.isnan(alpha) else metrics | {"krippendorff_alpha": alpha}
