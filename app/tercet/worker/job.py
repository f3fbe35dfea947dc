"""Computes one run in a worker: begin, load, fit with checkpoints, store the result, refill the queue.

Dask calls `run_job` in a process of its own, perhaps on another machine, perhaps a second time after a crash. Its
caller passes nothing but the addresses of database and storage: everything else is in the run's row, which
`runs/lifecycle.py` writes. `inputs.py` loads what is fitted, `fits` fits it, `checkpoints.py` stores what another copy
of the task goes on from, and `outputs` turns the outcome into what is stored.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tercet.database import Database
from tercet.labeling import holds
from tercet.labeling.refill import demand, refill
from tercet.models import Purpose, Run, RunStatus, now
from tercet.runs import lifecycle, results
from tercet.runs.lifecycle import Superseded
from tercet.runs.results import Array, Report, Result
from tercet.worker import hand_edits, outages, politeness
from tercet.worker.checkpoints import Checkpoints, Job
from tercet.worker.comparison.figures import figures
from tercet.worker.comparison.fits import compare
from tercet.worker.fits import learned_points, systems
from tercet.worker.fits.outcome import FitOutcome
from tercet.worker.hand_edits import Edits
from tercet.worker.heartbeat import heartbeat
from tercet.worker.inputs import Calibration, JobInputs, Withheld, load
from tercet.worker.outputs import (
    accuracy_curve,
    answering,
    calibration,
    cluster_map,
    cluster_words,
    first_clusters,
    gains,
    prequential,
    queued,
    reports,
    resolutions,
    supported,
)
from tercet.worker.outputs.metrics import measure
from tercet.worker.outputs.models import numbered
from tercet.worker.outputs.prequential import Foreseen
from tercet.worker.place import JobPlace, open_place
from tercet_algorithms.common.matching import match_clusters

log = logging.getLogger(__name__)


def run_job(place: JobPlace, run_id: int) -> str:
    """Compute a run; return the status it ended with, or "superseded" if another copy of the task took over."""
    database, storage = open_place(place)
    run = lifecycle.begin_task(database, run_id, place.lease_seconds)
    if run is None:
        return "superseded"
    deadline = time.monotonic() + 3600 * place.run_hours

    def renew() -> bool:
        is_held = time.monotonic() < deadline and lifecycle.renew(database, run.id, run.token, place.lease_seconds)
        if is_held and politeness.starves() != run.starved:
            with suppress(Superseded), database.transaction() as session:
                lifecycle.write(session, run, starved=politeness.starves())
        return is_held

    try:
        with heartbeat(f"run {run.id}", renew, place.lease_seconds) as lost:
            compute = partial(JOBS[Purpose(run.purpose)], Job(database, storage, run, lost, place.lease_seconds))
            outages.work_through(compute, database, run, lost)
            status = "done"
    except Superseded:
        late = time.monotonic() >= deadline
        too_long = RunStatus.FAILED, lifecycle.TOO_LONG.format(hours=place.run_hours)
        ended, why = too_long if late else (RunStatus.CANCELLED, None)
        status = str(ended) if lifecycle.end_from_task(database, run, ended, why) else "superseded"
    except Exception as error:
        log.exception("Run %s of project %s failed", run.number, run.project_id)
        failed = lifecycle.end_from_task(database, run, RunStatus.FAILED, _sentence(error))
        status = "failed" if failed else "superseded"
    if status != "superseded":
        results.delete_checkpoints(storage, run)
    return status


def _sentence(error: Exception) -> str:
    return f"The computation failed: {error} ({type(error).__name__})."


def _compute_current(job: Job) -> None:
    """Compute the clustering that people see and are asked about next; it goes on from the one before."""
    holds.extend(job.database, job.run.project_id)
    inputs, outcome, resumed = _fit(job)
    clusters = cluster(job.run, inputs, outcome)
    before = None if inputs.previous is None else inputs.previous.coordinates
    coordinates = cluster_map.lay_out(inputs.features, clusters.placed.posterior, before)
    key = results.save(job.storage, job.run, inputs.by_position(clusters.shown), inputs.spread(coordinates, 0))
    further = inputs.withheld_arrays(clusters.withheld) | calibration.arrays(clusters.calibration)
    results.save_state(job.storage, key, outcome.state | further)
    hand_edits.carry_names(job.database, job.run, inputs.edits)
    reported = _finish_clustering(job, key, inputs, outcome, clusters, resumed)
    if inputs.previous is not None and inputs.previous.run.result is not None:
        results.delete_state(job.storage, inputs.previous.run.result)
    about_clusters = job.run, inputs, outcome, clusters.fitted, clusters.calibration
    asked = queued.choose(*about_clusters, reported.labelers, demand(job.database, job.run))
    refill(job.database, job.run.project_id, asked)
    _check_labelers(job, inputs, reported)


def _check_labelers(job: Job, inputs: JobInputs, reported: Report) -> None:
    """Hold answers of labelers who do not look, and of those with new answers who are fast or always press one key."""
    uninformed = holds.uninformed(reported.labelers)
    newly = set(inputs.labelers[inputs.numbers > job.run.answers_from].tolist())
    holds.check(job.database, job.run.project_id, newly, uninformed)


def _compute_alternative(job: Job) -> None:
    """Compute an alternative: numbered independently, placed on the map of the clustering that it differs from."""
    inputs, outcome, resumed = _fit(job)
    clusters = cluster(job.run, inputs, outcome)
    places = inputs.known_here(cluster_map.known_coordinates(job.database, job.storage, job.run))
    coordinates = cluster_map.keep_places(inputs.features, clusters.placed.posterior, places)
    key = results.save(job.storage, job.run, inputs.by_position(clusters.shown), inputs.spread(coordinates, 0))
    _finish_clustering(job, key, inputs, outcome, clusters, resumed)


def _compute_comparison(job: Job) -> None:
    """Compare several systems; the run ends with figures and no clusters."""
    inputs = load(job.database, job.storage, job.run)
    _finish(job.database, job.run, None, figures(*compare(job, inputs)))


JOBS: dict[Purpose, Callable[[Job], None]] = {
    Purpose.CURRENT: _compute_current,
    Purpose.ALTERNATIVE: _compute_alternative,
    Purpose.COMPARISON: _compute_comparison,
}


def _fit(job: Job) -> tuple[JobInputs, FitOutcome, dict[str, Any]]:
    """Load and fit with checkpoints, from the last one if another copy was stopped.

    Return the inputs, the outcome and where it resumed.
    """
    inputs = load(job.database, job.storage, job.run)
    checkpoints = Checkpoints(job, inputs.digest())
    if learned_points.are_wanted(job.run.parameters):
        inputs = learned_points.add_points(job.run, inputs, checkpoints)
    state = checkpoints.resume()
    outcome = systems.fit(job.run, inputs, state, checkpoints)
    if inputs.points is not None:
        outcome = learned_points.keep(inputs.points, outcome)
    if state is None:
        return inputs, outcome, {}
    resumed = {"resumed_start": getattr(state, "start", 0), "resumed_iteration": state.iteration}
    return inputs, outcome, resumed


def _finish_clustering(
    job: Job, key: str, inputs: JobInputs, outcome: FitOutcome, clusters: "Clusters", resumed: dict[str, Any]
) -> Report:
    """Store the report and the resolutions with the result, and end the run with its metrics; return the report."""
    result, foreseen = clusters.shown, clusters.foreseen
    rates = answering.learn(inputs, foreseen)
    reported = reports.report(inputs, outcome, clusters.fitted.posterior, foreseen, rates)
    results.save_report(job.storage, key, reported)
    if outcome.model is not None:
        temperature = 1.0 if clusters.calibration is None else clusters.calibration.temperature
        results.save_model(job.storage, key, numbered(outcome.model, cluster_numbers(outcome, inputs), temperature))
    metrics = measure(inputs, outcome, result) | cluster_words.measure(job, inputs, result) | resumed
    metrics |= first_clusters.measure(inputs, clusters.withheld) | calibration.measure(clusters.calibration)
    metrics |= supported.measure(inputs, outcome, clusters.fitted.posterior)
    metrics |= prequential.measure_new(job.run, inputs, foreseen.answers)
    metrics |= prequential.measure_drawn(inputs, foreseen.answers) | answering.measure(inputs, rates)
    metrics |= accuracy_curve.measure(inputs, foreseen.answers)
    if job.run.purpose == Purpose.CURRENT:
        metrics |= gains.measure(job, inputs, outcome, clusters.placed)
    if outcome.embedding is not None and result.n_clusters <= resolutions.MOST_CLUSTERS:
        before = None if inputs.previous is None else inputs.previous.resolutions
        rows = resolutions.cut(outcome.embedding, result.labels, result.n_clusters, before)
        results.save_resolutions(job.storage, key, inputs.spread(rows.T, 0).T)
        metrics["most_clusters"] = len(rows) + 1
    _finish(job.database, job.run, key, metrics, inputs.edits)
    return reported


class Clusters(NamedTuple):
    """The clusters of a run: those that people see, those of its fit, and why they may differ."""

    shown: Result  # as sure as is right
    placed: Result  # the same, as sure as the fit: a map would move with the temperature
    fitted: Result
    foreseen: Foreseen
    withheld: Withheld | None
    calibration: Calibration | None


def cluster(run: Run, inputs: JobInputs, outcome: FitOutcome) -> Clusters:
    """Return the clusters of a fit, and those shown."""
    fitted = number_clusters(outcome, inputs)
    foreseen = prequential.foresee(run, inputs, outcome.epsilon)
    withheld = first_clusters.withhold(run, inputs, outcome, fitted)
    sureness = calibration.calibrate(run, inputs, outcome)
    placed = first_clusters.shown(inputs, fitted, withheld)
    return Clusters(calibration.calibrated(placed, sureness), placed, fitted, foreseen, withheld, sureness)


def number_clusters(outcome: FitOutcome, inputs: JobInputs) -> Result:
    """Return the result with its clusters numbered."""
    numbers = cluster_numbers(outcome, inputs)
    posterior = np.empty(outcome.posterior.shape, dtype=np.float32)
    posterior[:, numbers] = outcome.posterior
    labels = (numbers[outcome.labels] + 1).astype(np.int16)
    return Result(labels, posterior.max(axis=1), posterior)


def cluster_numbers(outcome: FitOutcome, inputs: JobInputs) -> Array:
    """Number the clusters, from 0, as those of the previous run, as edited, that they share most items with, (K,)."""
    n_clusters = outcome.posterior.shape[1]
    if inputs.previous is None:
        return np.arange(n_clusters)
    edited = inputs.edits.labels
    return match_clusters((inputs.previous.result.labels if edited is None else edited) - 1, outcome.labels, n_clusters)


def _finish(
    database: Database, run: Run, key: str | None, metrics: dict[str, Any], edits: Edits = hand_edits.NO_EDITS
) -> None:
    """End the run as done in one transaction, if no other copy of the task took over."""
    finished = now()
    started = run.started_at or finished
    values = {"status": RunStatus.DONE, "progress": 1.0, "result": key, "finished_at": finished}
    metrics["seconds"] = (finished - started).total_seconds()
    further_events = [("clusters", {"run": run.number})] if run.purpose == Purpose.CURRENT else []
    with database.transaction() as session:
        if run.purpose == Purpose.CURRENT:
            hand_edits.carry_dismissals(session, run, edits, metrics["n_clusters"])
        lifecycle.write(session, run, *further_events, **values, metrics=metrics, lease_expires_at=None)
