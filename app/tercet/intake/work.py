"""The progress of work on imports and features: how it is reported, how the work is stopped, how its end is stored.

A background job writes its progress to its row; the command line draws a bar in the terminal.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import Problem, is_disk_full
from tercet.intake.wording import duration
from tercet.jobs import lifecycle
from tercet.jobs.lifecycle import JobStopped
from tercet.models import BackgroundJob
from tercet.storage import Storage

# How often progress is written; each time open pages get an event, and the task notices if it lost its job.
REPORT_SECONDS = 0.3
# After so many seconds, and so much of the work, the rest can be foretold.
ENOUGH_SECONDS, ENOUGH_DONE = 5.0, 0.1
DISK_FULL = "There is no room left on the disk: make some room, and start it again. Nothing was stored."


class Progress(Protocol):
    """How a piece of work reports its progress."""

    def report(self, fraction: float, note: str) -> None:
        """Report the progress; raise an exception if the work must stop."""

    def finish(self, session: Session, note: str) -> None:
        """Report the end, in the transaction that makes the result visible."""


class NoProgress:
    """Work whose caller waits for its end and shows no progress."""

    def report(self, fraction: float, note: str) -> None:
        """Do nothing."""

    def finish(self, session: Session, note: str) -> None:
        """Do nothing."""


@dataclass
class Work:
    """A background job that this copy of its task has begun, with the database and the storage."""

    database: Database
    storage: Storage
    job: BackgroundJob
    lost: threading.Event  # set when the job is cancelled, or another copy took over
    lease_seconds: float
    _next_report: float = field(default=0.0, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)

    @property
    def subject(self) -> int:
        """The number of the import, or of the run, that the job is about."""
        assert self.job.subject is not None, "the job is about an import or a run"
        return self.job.subject

    def report(self, fraction: float, note: str) -> None:
        """Write the progress, at most every `REPORT_SECONDS`; raise JobStopped if the task must stop."""
        if self.lost.is_set():
            raise JobStopped(self.job.id)
        if time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + REPORT_SECONDS
            words = note + self._left(fraction)
            lifecycle.report(self.database, self.job, min(fraction, 1.0), words, self.lease_seconds)

    def _left(self, fraction: float) -> str:
        """Say about how long it will go on, once there is something to go by."""
        spent = time.monotonic() - self._began
        if spent < ENOUGH_SECONDS or fraction < ENOUGH_DONE:
            return ""
        return f", about {duration(max(1.0, round(spent * (1 - fraction) / fraction)))} left"

    def finish(self, session: Session, note: str) -> None:
        """End the job as done."""
        lifecycle.finish(session, self.job, note)


def part(progress: Progress, begin: float, end: float) -> Any:
    """Return a function that reports the progress of a part of the work, from one fraction of the whole to another."""

    def report(fraction: float, note: str) -> None:
        progress.report(begin + (end - begin) * fraction, note)

    return report


def sentence_of(error: Exception) -> str:
    """Return a sentence on why work failed."""
    if isinstance(error, Problem):
        return error.detail
    if is_disk_full(error):
        return DISK_FULL
    return f"The work failed: {error} ({type(error).__name__}). Nothing was stored."
