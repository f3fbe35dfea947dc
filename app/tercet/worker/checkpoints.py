"""Guarded writes to the row of a run, and checkpoints of a fit in storage.

A job that is stopped leaves its checkpoint to the next copy of its task, which goes on from there.
"""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from tercet.database import Database
from tercet.models import Run, now
from tercet.runs import lifecycle, results
from tercet.runs.lifecycle import Superseded
from tercet.runs.results import Array
from tercet.storage import Storage
from tercet.worker.fits import systems
from tercet.worker.fits.outcome import FitProgress

log = logging.getLogger(__name__)
# A checkpoint may cost a tenth of the time; small fits, which end before the first one, make none.
CHECKPOINT_SECONDS = 0.5
COST_SHARE = 0.1


@dataclass(frozen=True)
class Job:
    """A run that this copy of the task has begun, with database, storage and lease."""

    database: Database
    storage: Storage
    run: Run
    lost: threading.Event  # set when another copy took over
    lease_seconds: float

    def stop_if_lost(self) -> None:
        """Raise Superseded if another copy of the task took over."""
        if self.lost.is_set():
            raise Superseded(self.run.id)

    def write(self, **values: Any) -> None:
        """Write to the run's row; raise Superseded if another copy took over or the run was cancelled."""
        with self.database.transaction() as session:
            lifecycle.write(session, self.run, **values)

    def write_progress(self, fraction: float, **values: Any) -> None:
        """Write how far the job is, and renew the lease."""
        lease = now() + timedelta(seconds=self.lease_seconds)
        self.write(progress=fraction, lease_expires_at=lease, **values)

    def save_checkpoint(self, arrays: dict[str, Array], digest: str) -> str:
        """Store a state, which holds only for inputs of this digest; return its key for the run's row."""
        key = results.checkpoint_key(self.run, self.run.token)
        self.storage.put_arrays(key, {**arrays, "digest": np.array(digest)})
        return key

    def load_checkpoint(self, digest: str) -> dict[str, Array] | None:
        """Read the state that an earlier copy stored; None if there is none or it was stored for other inputs."""
        if self.run.checkpoint is None or not self.storage.exists(self.run.checkpoint):
            return None
        arrays = self.storage.get_arrays(self.run.checkpoint)
        return arrays if str(arrays.pop("digest")) == digest else None


class Checkpoints:
    """The callback of a fit: periodically stores its state and progress, and ends the fit when the run is lost."""

    def __init__(self, job: Job, digest: str) -> None:
        """Read what another copy stored, and remember where to write; the first checkpoint comes after a while."""
        self.job, self.digest = job, digest
        self.stored = job.load_checkpoint(digest)
        # What later checkpoints hold besides the state of the fit, and the share of the progress before this fit.
        self.beside: dict[str, Array] = {}
        self.done_before = 0.0
        self.next_at = time.monotonic() + CHECKPOINT_SECONDS
        self.last_cost = 0.0  # that the first was slow says nothing yet
        self.furthest = job.run.progress  # of the attempts before

    def __call__(self, state: FitProgress) -> None:
        """Store a checkpoint if it is time for one; the fit calls this after every outer iteration.

        The time to the next one goes by the cheaper of the last two: a single write that had to wait for a busy disk or
        database would otherwise stop the progress that people see for ten times as long.
        """
        self.job.stop_if_lost()
        started = time.monotonic()
        if started >= self.next_at:
            self.write(state)
            cost = time.monotonic() - started
            self.next_at = started + max(CHECKPOINT_SECONDS, min(cost, self.last_cost) / COST_SHARE)
            self.last_cost = cost

    def write(self, state: FitProgress) -> None:
        """Store the state, then its key in the run's row; raise Superseded if another copy of the task took over.

        Once an attempt gets further than all earlier ones, attempts are counted from 1 again: as the run got past the
        place where the earlier workers died, it did not kill them.
        """
        key = self.job.save_checkpoint({**state.to_arrays(), **self.beside}, self.digest)
        progress = self.done_before + (1 - self.done_before) * float(state.fraction)
        is_further = progress > self.furthest
        self.job.write_progress(progress, checkpoint=key, **({"attempts": 1} if is_further else {}))
        self.furthest = max(self.furthest, progress)

    def resume(self) -> FitProgress | None:
        """Read the state of the copy that was stopped; None if there is none or answers have changed since."""
        arrays, run = self.stored, self.job.run
        if arrays is None:
            return None
        try:
            state = systems.read_state(run.algorithm, arrays)
        except (KeyError, ValueError):
            log.warning("The checkpoint of run %s is of another version of Tercet: it starts again", run.number)
            return None
        log.info("Run %s goes on from iteration %s", run.number, state.iteration)
        return state
