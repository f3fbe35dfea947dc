"""Error rates of people, and their agreement where several answered one question."""

from typing import Any

import numpy as np

from tercet.runs.results import Array
from tercet.worker.inputs import JobInputs, answer_columns
from tercet.worker.outputs.prequential import Foreseen
from tercet_algorithms.answers.error_rates import LearnedRates, learn_error_rates
from tercet_algorithms.answers.metrics import agreement_ceiling, krippendorff_alpha
from tercet_algorithms.answers.pool import canonical

# Measured over the newest answers: over a million it would take seconds, and change no digit.
NEWEST = 20_000


def learn(inputs: JobInputs, foreseen: Foreseen) -> LearnedRates | None:
    """Return how people err, by what was foreseen of their answers and by repeats; None where there is neither.

    Single answers that no run foresaw say nothing: a fit agrees with what it was fitted to. Where an analyst knows the
    right answer, it is certain; the answer that is known to be right says nothing of who gave it.
    """
    newest = np.arange(len(inputs.answers))[-NEWEST:]
    triplets = canonical(inputs.triplets[newest], inputs.kind)
    _, questions, counts = np.unique(triplets, axis=0, return_inverse=True, return_counts=True)
    questions, rights = questions.ravel(), foreseen.rights[newest]
    is_foreseen: Array = np.asarray(np.isfinite(rights).all(axis=1))
    columns = answer_columns(inputs.answers[newest], inputs.kind)
    is_known = np.zeros(len(newest), dtype=bool) if inputs.known is None else inputs.known[newest]
    is_repeated: Array = counts[questions] > 1
    says = np.flatnonzero((is_foreseen | is_repeated) & ~is_known)
    if not len(says):
        return None
    rights = np.where(is_foreseen[:, None], rights, 1 / rights.shape[1])
    for question, column in zip(questions[is_known], columns[is_known], strict=True):
        rights[questions == question] = np.eye(rights.shape[1])[column]
    return learn_error_rates(
        rights[says], columns[says], inputs.kind, labelers=inputs.labelers[newest][says], questions=questions[says]
    )


def measure(inputs: JobInputs, rates: LearnedRates | None) -> dict[str, Any]:
    """Return error rates and agreement; each is missing where there are no answers, or none to one question."""
    if not len(inputs.answers):
        return {}
    everybody = {} if rates is None else rates.everybody._asdict()
    metrics = {"error_rates": {name: round(value, 4) for name, value in everybody.items()}} if everybody else {}
    return metrics | agreement(inputs)


def agreement(inputs: JobInputs) -> dict[str, Any]:
    """Return how far labelers agree on the questions that several of them answered; empty if there are none."""
    newest = slice(-NEWEST, None)
    answers = inputs.triplets[newest], inputs.answers[newest], inputs.labelers[newest].tolist(), inputs.kind
    ceiling, alpha = agreement_ceiling(*answers), krippendorff_alpha(*answers)
    metrics: dict[str, Any] = {}
    if ceiling.questions:
        metrics["agreement"] = {name: round(value, 4) for name, value in ceiling._asdict().items()}
    return metrics if np.isnan(alpha) else metrics | {"krippendorff_alpha": alpha}
