"""What the server needs and does not have, in words for open pages: the database, room on the disk, workers."""

import time
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.models import BackgroundJob, JobStatus, Run, RunStatus, now
from tercet.web.readiness import Outage, Readiness

# For so long no worker may be seen at work that is due: they may just have been started, or are between two tasks.
PATIENCE_SECONDS = 15.0
NO_WORKER = "No worker takes up the work that is due: the workers, or the scheduler that they belong to, are away."
WHEN_WORKERS_ARE_BACK = (
    "Answers are stored as always. Runs and imports wait, and start by themselves as soon as a worker is back."
)


class Outages:
    """What was missing when this web process looked last."""

    def __init__(self, database: Database, readiness: Readiness) -> None:
        """Begin without an outage."""
        self.database, self.readiness = database, readiness
        self.newest: Outage | None = None
        self._idle_since: float | None = None  # when looks began to see that no worker is at what is due

    def forget(self) -> None:
        """Forget what was seen, since nobody looks any more."""
        self.newest = self._idle_since = None

    def look(self) -> Outage | None:
        """Look again."""
        self.newest = self.readiness.outage() or self._workers_away()
        return self.newest

    def _workers_away(self) -> Outage | None:
        try:
            with self.database.reading() as session:
                since = due_and_untouched_since(session)
        except SQLAlchemyError:  # away since a moment ago: the next look says so
            return self.newest
        if since is None:
            self._idle_since = None
            return None
        self._idle_since = self._idle_since or time.monotonic()
        is_long = time.monotonic() >= self._idle_since + PATIENCE_SECONDS
        return Outage(NO_WORKER, since, WHEN_WORKERS_ARE_BACK) if is_long else None


def due_and_untouched_since(session: Session) -> datetime | None:
    """Return since when work is due while no worker is at anything; None where some are, or nothing is due."""
    moment = now()
    running = (
        select(Run.id).where(Run.status == RunStatus.RUNNING, Run.lease_expires_at > moment),
        select(BackgroundJob.id).where(
            BackgroundJob.status == JobStatus.RUNNING, BackgroundJob.lease_expires_at > moment
        ),
    )
    if any(session.execute(task.limit(1)).first() for task in running):
        return None
    times = [
        session.scalar(select(func.min(Run.due_at)).where(Run.status == RunStatus.QUEUED, Run.due_at <= moment)),
        session.scalar(select(func.min(Run.lease_expires_at)).where(Run.status == RunStatus.RUNNING)),
        session.scalar(select(func.min(BackgroundJob.created_at)).where(BackgroundJob.status == JobStatus.QUEUED)),
        session.scalar(
            select(func.min(BackgroundJob.lease_expires_at)).where(BackgroundJob.status == JobStatus.RUNNING)
        ),
    ]
    return min(filter(None, times), default=None)
