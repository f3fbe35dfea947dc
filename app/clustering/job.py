"""The task that a worker runs for one run: begin, load, fit with checkpoints, write the result, refill the queue.

It is called by Dask in a process of its own, perhaps on another machine, perhaps a second time after a crash.
It takes nothing over from its caller but the names of the database and the storage: everything else is in the
run's row.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy.exc import OperationalError

from algorithms.matching import match_clusters
from app.clustering import (
    claims,
    comparison,
    comparison_figures,
    fitting,
    material,
    measures,
    placing,
    questions,
    reporting,
    resolutions,
    results,
)
from app.clustering.claims import Superseded
from app.clustering.fitting import Fit, State
from app.clustering.material import Material
from app.clustering.results import Result
from app.clustering.task import Place
from app.database import Database
from app.labeling.refill import Candidate, refill
from app.models import Purpose, Run, RunStatus, now
from app.storage import Storage

log = logging.getLogger(__name__)
# A checkpoint may cost a tenth of the time; small fits, which are done before the first, make none.
CHECKPOINT_SECONDS = 0.5
COST_SHARE = 0.1


@lru_cache(maxsize=4)
def _opened(place: Place) -> tuple[Database, Storage]:
    """Keep connections open from run to run."""
    return Database(place.database_url, pool_size=2), Storage(place.storage_url)


def run_job(place: Place, run_id: int) -> str:
    """Compute a run, and give the status it ended with, or "superseded". Only this small value goes back to Dask."""
    database, storage = _opened(place)
    run = claims.take_up(database, run_id, place.lease_seconds)
    if run is None:
        return "superseded"
    try:
        with _heartbeat(database, run, place.lease_seconds) as lost:
            JOBS[Purpose(run.purpose)](Job(database, storage, run, lost, place.lease_seconds))
            status = "done"
    except Superseded:
        status = "cancelled" if claims.end_mine(database, run, RunStatus.CANCELLED) else "superseded"
    except OperationalError:
        # The database is away, so nothing can be written: the lease lapses and another attempt is made.
        raise
    except Exception as error:
        log.exception("Run %s of project %s failed", run.number, run.project_id)
        status = "failed" if claims.end_mine(database, run, RunStatus.FAILED, _sentence(error)) else "superseded"
    if status != "superseded":
        results.delete_checkpoints(storage, run)
    return status


def _sentence(error: Exception) -> str:
    return f"The computation failed: {error} ({type(error).__name__})."


@contextmanager
def _heartbeat(database: Database, run: Run, lease_seconds: float) -> Iterator[threading.Event]:
    """Renew the lease from a thread of its own, however long one step of the fit takes; set when it is lost."""
    lost, ended = threading.Event(), threading.Event()

    def beat() -> None:
        while not ended.wait(lease_seconds / 3):
            try:
                renewed = claims.renew(database, run.id, run.token, lease_seconds)
            except OperationalError:
                log.warning("The lease of run %s could not be renewed; trying again", run.number, exc_info=True)
                continue
            if not renewed:
                lost.set()
                return

    thread = threading.Thread(target=beat, name=f"heartbeat of run {run.id}", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class Job:
    """A run that this copy of the task has taken up, and all that it needs to see it through."""

    database: Database
    storage: Storage
    run: Run
    lost: threading.Event  # set when another copy took over
    lease_seconds: float


def _compute_current(job: Job) -> None:
    """Go on from the clustering before, and become the one that people see and are asked about."""
    loaded = material.load(job.database, job.storage, job.run)
    fitted, metrics = _fit(job, loaded)
    result = number_clusters(fitted, loaded)
    before = None if loaded.previous is None else loaded.previous.coordinates
    coordinates = placing.anew(loaded.features, result.posterior, before)
    key = results.save(job.storage, job.run, result, coordinates)
    results.save_state(job.storage, key, fitted.state)
    metrics |= _save_rest(job.storage, key, loaded, fitted, result)
    _finish(job.database, job.run, key, measures.measure(job.run, loaded, fitted, result) | metrics)
    if loaded.previous is not None and loaded.previous.run.result is not None:
        results.delete_state(job.storage, loaded.previous.run.result)
    _refill(job.database, job.run, loaded, result, fitted)


def _compute_view(job: Job) -> None:
    """Stand beside: with its own numbers, in the places of the map that it is to be compared with."""
    loaded = material.load(job.database, job.storage, job.run)
    fitted, metrics = _fit(job, loaded)
    result = number_clusters(fitted, loaded)
    known = placing.known_coordinates(job.database, job.storage, job.run)
    coordinates = placing.beside(loaded.features, result.posterior, known)
    key = results.save(job.storage, job.run, result, coordinates)
    metrics |= _save_rest(job.storage, key, loaded, fitted, result)
    _finish(job.database, job.run, key, measures.measure(job.run, loaded, fitted, result) | metrics)


def _compute_comparison(job: Job) -> None:
    """Judge several systems; there are figures and no clusters."""
    loaded = material.load(job.database, job.storage, job.run)
    told = comparison.Telling(job.database, job.storage, job.run, job.lost, loaded.digest(), job.lease_seconds)
    plan, done = comparison.compare(job.run, loaded, told)
    _finish(job.database, job.run, None, comparison_figures.figures(plan, done))


JOBS: dict[Purpose, Callable[[Job], None]] = {
    Purpose.CURRENT: _compute_current,
    Purpose.VIEW: _compute_view,
    Purpose.COMPARISON: _compute_comparison,
}


def _fit(job: Job, loaded: Material) -> tuple[Fit, dict[str, Any]]:
    """Fit with checkpoints, from the last of them if a copy before this one was stopped; and where it went on."""
    checkpoints = Checkpoints(job.database, job.storage, job.run, job.lost, loaded.digest(), job.lease_seconds)
    state = checkpoints.resume()
    fitted = fitting.fit(job.run, loaded, state, checkpoints)
    if state is None:
        return fitted, {}
    return fitted, {"resumed_start": getattr(state, "start", 0), "resumed_iteration": state.iteration}


def _save_rest(storage: Storage, key: str, loaded: Material, fitted: Fit, result: Result) -> dict[str, Any]:
    """Store what later runs and other pages need beside the result, and give the metrics that tell of it."""
    results.save_report(storage, key, reporting.report(loaded, fitted, result.posterior))
    if fitted.embedding is None or result.n_clusters > resolutions.MOST:
        return {}
    before = None if loaded.previous is None else loaded.previous.resolutions
    rows = resolutions.cut(fitted.embedding, result.labels, result.n_clusters, before)
    results.save_resolutions(storage, key, rows)
    return {"most_clusters": len(rows) + 1}


class Checkpoints:
    """The fit's callback: now and then stores its state and says how far it is, or ends it when the run is lost."""

    def __init__(
        self, database: Database, storage: Storage, run: Run, lost: threading.Event, digest: str, lease: float
    ) -> None:
        """Remember where to write; the first checkpoint comes after the usual time."""
        self.database, self.storage, self.run, self.lost = database, storage, run, lost
        self.digest, self.lease = digest, lease
        self.next_at = time.monotonic() + CHECKPOINT_SECONDS

    def __call__(self, state: State) -> None:
        """Be called by the fit after every outer iteration."""
        if self.lost.is_set():
            raise Superseded(self.run.id)
        started = time.monotonic()
        if started >= self.next_at:
            self.write(state)
            cost = time.monotonic() - started
            self.next_at = started + max(CHECKPOINT_SECONDS, cost / COST_SHARE)

    def write(self, state: State) -> None:
        """Store the state, then point the row at it; zero rows changed means that the run is not ours any more."""
        key = results.checkpoint_key(self.run, self.run.token)
        self.storage.put_arrays(key, {**state.to_arrays(), "digest": np.array(self.digest)})
        with self.database.transaction() as session:
            lease = now() + timedelta(seconds=self.lease)
            claims.write(session, self.run, checkpoint=key, progress=float(state.fraction), lease_expires_at=lease)

    def resume(self) -> State | None:
        """Read the state of the copy that was stopped, if its answers are still the very same."""
        if self.run.checkpoint is None or not self.storage.exists(self.run.checkpoint):
            return None
        arrays = self.storage.get_arrays(self.run.checkpoint)
        if str(arrays.pop("digest")) != self.digest:
            return None
        try:
            state = fitting.read_state(self.run.algorithm, arrays)
        except (KeyError, ValueError):
            log.warning("The checkpoint of run %s is of another version of Tercet: it starts anew", self.run.number)
            return None
        log.info("Run %s goes on from iteration %s", self.run.number, state.iteration)
        return state


def number_clusters(fitted: Fit, loaded: Material) -> Result:
    """Give the clusters the numbers of the previous run's clusters that they share most items with."""
    n_clusters = fitted.posterior.shape[1]
    numbers = np.arange(n_clusters)
    if loaded.previous is not None:
        numbers = match_clusters(loaded.previous.result.labels - 1, fitted.labels, n_clusters)
    posterior = np.empty(fitted.posterior.shape, dtype=np.float32)
    posterior[:, numbers] = fitted.posterior
    labels = (numbers[fitted.labels] + 1).astype(np.int16)
    return Result(labels, posterior.max(axis=1), posterior)


def _finish(database: Database, run: Run, key: str | None, metrics: dict[str, Any]) -> None:
    """Write everything about the end at once, if this copy still may."""
    finished = now()
    started = run.started_at or finished
    values = {"status": RunStatus.DONE, "progress": 1.0, "result": key, "finished_at": finished}
    metrics["seconds"] = (finished - started).total_seconds()
    happened = [("clusters", {"run": run.number})] if run.purpose == Purpose.CURRENT else []
    with database.transaction() as session:
        claims.write(session, run, *happened, **values, metrics=metrics, lease_expires_at=None)


def _refill(database: Database, run: Run, loaded: Material, result: Result, fitted: Fit) -> None:
    """Put the questions that tell most under the new posteriors into the labelers' queue."""
    rng = np.random.default_rng(run.number)
    triplets, scores = questions.informative(result.posterior, loaded.kind, fitted, rng)
    ids = loaded.item_ids[triplets].tolist()
    candidates = [
        Candidate(anchor, left, right, score)
        for (anchor, left, right), score in zip(ids, scores.tolist(), strict=True)
    ]
    refill(database, run.project_id, candidates, (run.answers_to or 0) - run.answers_from)
