"""All that a run puts into the labelers' queue, in order: new questions, and among them what is asked again."""

import numpy as np

from tercet.labeling.refill import Demand, Queued
from tercet.models import Run
from tercet.runs.results import LabelerReport, Result
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import Calibration, JobInputs
from tercet.worker.outputs import known_questions, questions, repeats
from tercet.worker.outputs.calibration import calibrated


def choose(
    run: Run,
    inputs: JobInputs,
    outcome: FitOutcome,
    fitted: Result,
    sureness: Calibration | None,
    labelers: list[LabelerReport],
    demand: Demand,
) -> list[Queued]:
    """Return the questions that are worth asking, or asking again, under the new posteriors.

    New ones go by posteriors that are as sure as is right. Whether an answer is in doubt goes by those of the fit, from
    which its own share can be left out.
    """
    rng = np.random.default_rng(run.number)
    posterior = calibrated(fitted, sureness).posterior
    about = questions.items_of(demand, posterior, inputs)
    chosen = questions.choose(posterior, inputs, outcome, demand, about, rng)
    again = repeats.choose(fitted.posterior, inputs, outcome, labelers, demand, about)
    again += known_questions.choose(inputs, demand, again, rng)
    ids = [(anchor, left, right) for anchor, left, right in inputs.item_ids[chosen.triplets].tolist()]
    new = [Queued(triplet, source) for triplet, source in zip(ids, chosen.sources, strict=True)]
    return repeats.among(new, again, inputs.item_ids)
