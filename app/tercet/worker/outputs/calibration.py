"""How sure the posteriors of a run are made: as sure as those of runs before foresaw the newest answers.

The fit is surer than right, more so the less its clusters are people's. Each answer is judged under the fit of the run
before, which had not used it, at several temperatures (`answers/temperature.py` in the library). As clusters get
better with answers, what older answers said fades.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tercet.models import Run
from tercet.runs.results import Array, Result
from tercet.worker.fits.outcome import FitOutcome, labeler_table
from tercet.worker.inputs import Calibration, JobInputs, answer_columns
from tercet.worker.outputs.prequential import new_answers
from tercet_algorithms.answers.patterns import Errors
from tercet_algorithms.answers.temperature import TEMPERATURES, log_likelihoods, temperature_of, tempered
from tercet_algorithms.dcrc.pattern_evidence import HARD_EPSILON

# After so many answers an earlier one counts half.
HALF_LIFE = 50


def calibrate(run: Run, inputs: JobInputs, outcome: FitOutcome) -> Calibration | None:
    """Return how sure to make the posteriors; None where they are not those of a model that learns from answers."""
    if not outcome.state or outcome.embedding is not None:
        return None
    likelihoods = np.zeros(len(TEMPERATURES))
    before = None if inputs.previous is None else inputs.previous.calibration
    if before is not None:
        new = new_answers(run, inputs)
        likelihoods = before.log_likelihoods * 0.5 ** (len(new) / HALF_LIFE)
        likelihoods += _of_answers(inputs, outcome.epsilon, new)
    return Calibration(temperature_of(likelihoods), likelihoods)


def calibrated(result: Result, calibration: Calibration | None) -> Result:
    """Return the same clusters with posteriors that are as sure as is right."""
    if calibration is None:
        return result
    posterior = tempered(result.posterior, calibration.temperature)
    return replace(result, posterior=posterior, confidence=posterior.max(axis=1))


def measure(calibration: Calibration | None) -> dict[str, Any]:
    """Return, as a metric, what the log odds of the fit were divided by; missing where they were left."""
    return {} if calibration is None else {"temperature": round(calibration.temperature, 2)}


def arrays(calibration: Calibration | None) -> dict[str, Array]:
    """Return the calibration for the state that the next run reads; empty where there is none."""
    if calibration is None:
        return {}
    return {f"calibration_{name}": np.asarray(value) for name, value in calibration._asdict().items()}


def _of_answers(inputs: JobInputs, epsilon: Errors, rows: Array) -> Array:
    """Return log P of the answers in `rows` (m,) at each temperature of the fit of the run before, (T,)."""
    assert inputs.previous is not None, "answers are new since a run before"
    columns, total = answer_columns(inputs.answers, inputs.kind), np.zeros(len(TEMPERATURES))
    for labeler in np.unique(inputs.labelers[rows]).tolist():
        theirs = rows[inputs.labelers[rows] == labeler]
        total += log_likelihoods(
            inputs.previous.fitted,
            inputs.triplets[theirs],
            columns[theirs],
            labeler_table(inputs.previous.state, inputs.kind, epsilon or HARD_EPSILON, labeler),
            None if inputs.weights is None else inputs.weights[theirs],
        )
    return total
