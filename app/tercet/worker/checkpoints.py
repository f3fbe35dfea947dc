"""What a job may do with its run: guarded writes to its row, and a checkpoint of its state in storage.

A job that is stopped leaves its checkpoint to the next copy of its task, which goes on from there.
"""

import threading
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


@dataclass(frozen=True)
class Job:
    """A run that this copy of the task has begun, and what it needs to compute it."""

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
