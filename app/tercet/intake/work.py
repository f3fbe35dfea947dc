"""Work under way: how far it is, whether it may go on, and how its end is written.

A background job writes to its row; the command line draws a bar in the terminal and needs no row.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.intake.wording import duration
from tercet.jobs import lifecycle
from tercet.jobs.lifecycle import JobStopped
from tercet.models import BackgroundJob
from tercet.storage import Storage
from tercet.web.errors import Problem, is_disk_full

# How often progress is written; each time open pages hear of it, and a lost job is noticed.
REPORT_SECONDS = 0.3
# After so many seconds, and so much of the work, the rest can be foretold.
ENOUGH_SECONDS, ENOUGH_DONE = 5.0, 0.1
DISK_FULL = "There is no room left on the disk: make some, and start it again. Nothing was stored."


class Progress(Protocol):
    """What a piece of work tells while it goes on."""

    def report(self, fraction: float, note: str) -> None:
        """Say how far it is; raise an exception if it may not go on."""

    def finish(self, session: Session, note: str) -> None:
        """End it, in the transaction that makes visible what it did."""


class Unwatched:
    """Work whose caller waits for its end and shows no progress."""

    def report(self, fraction: float, note: str) -> None:
        """Tell nobody."""

    def finish(self, session: Session, note: str) -> None:
        """Tell nobody."""


@dataclass
class Work:
    """A background job that this copy of its task has begun, and what it needs to do it."""

    database: Database
    storage: Storage
    job: BackgroundJob
    lost: threading.Event  # set when the job is cancelled, or another copy took over
    lease_seconds: float
    _next_report: float = field(default=0.0, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)

    @property
    def subject(self) -> int:
        """The number of what the job is about."""
        assert self.job.subject is not None, "the job is about an import"
        return self.job.subject

    def report(self, fraction: float, note: str) -> None:
        """Write how far the job is, now and then; raise JobStopped if it may not go on."""
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
    """Return a function that reports a part of the work, from one fraction of the whole to another."""

    def report(fraction: float, note: str) -> None:
        progress.report(begin + (end - begin) * fraction, note)

    return report


def sentence_of(error: Exception) -> str:
    """Say in a sentence why work failed."""
    if isinstance(error, Problem):
        return error.detail
    if is_disk_full(error):
        return DISK_FULL
    return f"The work failed: {error} ({type(error).__name__}). Nothing was stored."
