"""The expected gain of further answers, from the posterior and from the gains of earlier answers in this project."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import select

from tercet.labeling.refill import random_share
from tercet.models import Purpose, Run, RunStatus
from tercet.runs import results
from tercet.runs.outlook import FURTHEST_AHEAD
from tercet.runs.results import Array, Result
from tercet.worker.checkpoints import Job
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.inputs import JobInputs
from tercet_algorithms.answers.forecast import Estimate, ExpectedGain, Stretch, forecast_gain, question_sensitivity
from tercet_algorithms.answers.gains import direct_gain
from tercet_algorithms.answers.patterns import answer_table
from tercet_algorithms.answers.temperature import tempered
from tercet_algorithms.common.matching import match_clusters
from tercet_algorithms.dcrc.pattern_evidence import HARD_EPSILON

# Numbers of further answers whose gain is forecast. The past is divided into stretches of about as many answers as the
# first of these numbers; newer stretches count more, so that more than six say nothing new.
AHEAD = (50, 200)
STRETCHES = 6
# Numbers of answers at which it is seen where that levels off: where 50 further answers move less than this share of
# the items.
ONWARD, LEVEL_SHARE = (50, 100, 200, 400, FURTHEST_AHEAD), 0.01
# Runs among which that before a stretch is looked for.
MOST_RUNS = 500


def measure(job: Job, inputs: JobInputs, outcome: FitOutcome, result: Result) -> dict[str, Any]:
    """Return the stretches of answers so far and, once there is one, the expected gain of the next.

    Posteriors are as sure as their fits: forecasts are corrected by what earlier answers did, which says less of the
    future where the temperature has changed since.
    """
    table = answer_table(inputs.kind, outcome.epsilon or HARD_EPSILON)
    share = random_share(job.database, job.run.project_id)
    stretches = _stretches(job, inputs, result, table, share)
    metrics: dict[str, Any] = {"stretches": [list(stretch) for stretch in stretches]}
    if not stretches:
        return metrics
    sensitivity = question_sensitivity(result.posterior, table, inputs.kind)
    gains = {
        n_answers: forecast_gain(
            n_answers,
            direct_gain(result.posterior, table, n_answers, share).moved,
            stretches,
            n_items=len(result.labels),
            sensitivity=sensitivity,
            random_share=share,
        )
        for n_answers in ONWARD
    }
    level = levels_off(list(gains.values()), max(1.0, LEVEL_SHARE * len(result.labels)))
    return metrics | {"expected_gain": [_rounded(gains[n_answers]) for n_answers in AHEAD], "levels_off": level}


def levels_off(gains: Sequence[ExpectedGain], few: float) -> dict[str, int | None]:
    """Return after how many answers 50 further ones move fewer than `few` items, by the quantiles of the forecasts.

    To tens of answers; None where that is beyond the last forecast. Where most items move in the first answers, few are
    left for later ones, so that the upper quantile may level off before the median: low and high are the least and the
    greatest that any quantile says.
    """
    answers = np.array([0, *(gain.answers for gain in gains)])
    levels = {
        name: _level(answers, np.array([0.0, *(getattr(gain.moved, name) for gain in gains)]), few)
        for name in Estimate._fields
    }
    low, *_, high = sorted(levels.values())
    levels |= {"low": low, "high": high}
    return {name: None if np.isinf(level) else int(level) for name, level in levels.items()}


def _level(answers: Array, moved: Array, few: float) -> float:
    middles = (answers[1:] + answers[:-1]) / 2
    pace = np.minimum.accumulate(AHEAD[0] * np.diff(moved) / np.diff(answers))
    if pace[-1] >= few:
        return np.inf
    # Falling paces rise when read backwards, as `interp` wants them.
    return 0.0 if pace[0] < few else round(float(np.interp(few, pace[::-1], middles[::-1])), -1)


def _rounded(gain: ExpectedGain) -> dict[str, Any]:
    moved = {name: round(value, 1) for name, value in gain.moved._asdict().items()}
    predicted = {name: round(value, 4) for name, value in gain.predicted._asdict().items()}
    return {"answers": gain.answers, "moved": moved, "predicted": predicted}


def _stretches(job: Job, inputs: JobInputs, result: Result, table: Array, share: float) -> list[Stretch]:
    """Return the stretches of answers up to this run, oldest first: those of the run before the last, and that.

    Empty where there is no run of so many answers before, or one with other items or another number of clusters.
    """
    before = _run_before(job, len(inputs.answers) - AHEAD[0])
    if before is None or before.result is None:
        return []
    earlier = results.load(job.storage, before.result)
    in_use_then = earlier.labels > 0
    in_use_now = np.ones(len(in_use_then), bool) if inputs.in_use is None else inputs.in_use[: len(in_use_then)]
    if earlier.n_clusters != result.n_clusters or not np.array_equal(in_use_then[: len(in_use_now)], in_use_now):
        return []
    labels = earlier.labels[in_use_then]
    posterior = tempered(earlier.posterior[in_use_then], 1 / before.metrics.get("temperature", 1.0))
    n_answers = len(inputs.answers) - int(before.metrics["n_answers"])
    numbers = match_clusters(labels - 1, result.labels[: len(labels)] - 1, result.n_clusters)
    moved = int(np.count_nonzero(numbers[result.labels[: len(labels)] - 1] != labels - 1))
    past = [Stretch(*stretch) for stretch in before.metrics.get("stretches", [])]
    return [*past, Stretch(n_answers, moved, direct_gain(posterior, table, n_answers, share).moved)][-STRETCHES:]


def _run_before(job: Job, n_answers: int) -> Run | None:
    """Return the newest run that used no more than so many answers."""
    if n_answers < 0:
        return None
    current = (Run.project_id == job.run.project_id) & (Run.purpose == Purpose.CURRENT)
    done = current & (Run.status == RunStatus.DONE) & (Run.number < job.run.number)
    with job.database.reading() as session:
        runs = session.scalars(select(Run).where(done).order_by(Run.number.desc()).limit(MOST_RUNS))
        return next((run for run in runs if run.metrics.get("n_answers", n_answers + 1) <= n_answers), None)
