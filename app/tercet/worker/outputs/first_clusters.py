"""Shows the clusters of the features alone until the fit has earned it, so that few answers do not make them worse.

The first answers are few and some are wrong: they move items that nobody has been asked about, and as often as not to
the wrong place. So people see the clusters of the fit without answers, until new answers were, all together, 10,000
times as probable under the fits before them as under what people saw. Only items that answers place are shown where the
newest fit has them, and items that analysts moved where the analysts put them: an edit is about the clusters that its
analyst saw.
Questions, reports and what is foreseen go by the fit all along. Once earned, it stays earned.

Fits change: what early ones got wrong says nothing of later ones. So the factor begins anew at 1 whenever it falls
below (the cumulative sum test; Page, 1954).
"""

from typing import Any

import numpy as np

from tercet.models import Run
from tercet.runs.results import Array, Result
from tercet.worker import hand_edits
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.fits.warm_start import same_inputs
from tercet.worker.inputs import JobInputs, Withheld, answer_columns
from tercet.worker.outputs import prequential
from tercet_algorithms.answers.patterns import Errors, pattern_probabilities
from tercet_algorithms.answers.temperature import tempered
from tercet_algorithms.dcrc.pattern_evidence import HARD_EPSILON

# The fit's clusters are shown from this factor on. A fit that is no better than the first clusters reaches it after at
# least 10,000 answers on average, more than most projects have; a better fit needs only twice as many answers as for a
# factor of 100.
EARNED = 10_000.0


def withhold(run: Run, inputs: JobInputs, outcome: FitOutcome, fitted: Result) -> Withheld | None:
    """Return the fit with what it still has to beat; None where there is no fit without answers to compare it with.

    A run that an analyst has set otherwise than the one before shows its fit.
    """
    if not outcome.state or inputs.points is not None:
        return None
    if not len(inputs.answers):
        return Withheld(fitted.posterior, fitted.posterior, 0.0)
    before = None if inputs.previous is None else inputs.previous.withheld
    if before is None or is_earned(before) or not _compares(run, inputs, before, fitted):
        return None
    log_ratio = before.log_ratio + _gained(run, inputs, outcome.epsilon, before)
    return Withheld(before.first, fitted.posterior, max(log_ratio, 0.0))


def is_earned(withheld: Withheld) -> bool:
    """Return whether fits have foreseen answers so well that their clusters are shown."""
    return bool(withheld.log_ratio >= np.log(EARNED))


def shown(inputs: JobInputs, fitted: Result, withheld: Withheld | None) -> Result:
    """Return the clusters that people see."""
    if withheld is None or is_earned(withheld):
        return fitted
    posterior = withheld.first.copy()
    as_fitted = _answered(inputs) | (posterior.sum(axis=1) == 0)  # items set aside at first are in no cluster there
    posterior[as_fitted] = fitted.posterior[as_fitted]
    posterior = hand_edits.placed(inputs.edits, posterior).astype(posterior.dtype)
    labels = (posterior.argmax(axis=1) + 1).astype(fitted.labels.dtype)
    return Result(labels, posterior.max(axis=1), posterior)


def _answered(inputs: JobInputs) -> Array:
    """Return which items answers place, (N,); a "don't know" places none."""
    return np.isin(np.arange(len(inputs.item_ids)), inputs.triplets[inputs.answers != "dnk"])


def measure(inputs: JobInputs, withheld: Withheld | None) -> dict[str, Any]:
    """Return, as metrics, whose clusters are shown, and how much better the fits have foreseen answers."""
    if withheld is None or not len(inputs.answers):
        return {}
    factor = float(np.exp(min(withheld.log_ratio, 20)))
    figures = {"shown": not is_earned(withheld), "factor": float(f"{factor:.3g}"), "needed": EARNED}
    placed = _answered(inputs)
    placed[hand_edits.chosen(inputs.edits)] = True
    return {"first_clusters": {**figures, "items_as_fitted": int(np.count_nonzero(placed))}}


def _compares(run: Run, inputs: JobInputs, before: Withheld, fitted: Result) -> bool:
    """Return whether this run and the one before differ in their answers alone."""
    previous = inputs.previous
    assert previous is not None, "what is withheld is the run before's"
    alike = same_inputs(run, inputs, previous) and previous.run.parameters == run.parameters
    return alike and before.first.shape == fitted.posterior.shape


def _gained(run: Run, inputs: JobInputs, epsilon: Errors, before: Withheld) -> float:
    """Return the log of how much more probable the new answers are by the last fit than by what people saw.

    Items that answers had placed were seen where the fit has them, so they count for neither: it is about all others.
    Both are as sure as is right. If each item were in one cluster for certain, two lucky answers would decide.
    """
    previous = inputs.previous
    assert previous is not None, "people have seen the run before"
    new = prequential.new_answers(run, inputs)
    columns = answer_columns(inputs.answers[new], inputs.kind)

    def log_likelihoods(posterior: Array) -> Array:
        patterns = pattern_probabilities(posterior, inputs.triplets[new])
        probabilities = prequential.expected(inputs, epsilon, patterns, new)[np.arange(len(new)), columns]
        return np.log(np.maximum(probabilities, HARD_EPSILON))

    gains = log_likelihoods(tempered(before.fitted, previous.temperature)) - log_likelihoods(previous.result.posterior)
    return float(gains.sum() if inputs.weights is None else inputs.weights[new] @ gains)
