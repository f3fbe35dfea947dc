"""What is not a task's own fault: the database is away, or a disk full. Work waits until that is over, and goes on."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from tercet.database import Database
from tercet.errors import DATABASE_AWAY, is_disk_full
from tercet.models import BackgroundJob, Run

log = logging.getLogger(__name__)
FIRST_SECONDS, MOST_SECONDS = 1.0, 30.0


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each further trial: twice as long every time, up to a limit."""
    pause = FIRST_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, MOST_SECONDS)


def is_database_away(error: Exception) -> bool:
    """Return whether the same statement may succeed later; SQLite calls wrong statements operational errors, too."""
    if isinstance(error, OperationalError) and getattr(error.orig, "sqlite_errorname", "") == "SQLITE_ERROR":
        return False
    return isinstance(error, DATABASE_AWAY)


def is_outage(error: Exception) -> bool:
    """Return whether the same work may succeed later."""
    return is_database_away(error) or is_disk_full(error)


def work_through(
    work: Callable[[], None],
    database: Database,
    task: Run | BackgroundJob,
    lost: threading.Event,
    waits_for: Callable[[Exception], bool] = is_outage,
) -> None:
    """Do a task's work, and do it again after every outage that it `waits_for`, until another copy has taken over.

    The caller renews the task's lease meanwhile. Where it could not, another copy may have begun: after each outage one
    attempt is given back, so that outages do not use the attempts up.
    """
    for pause in pauses():
        try:
            work()
            return
        except Exception as error:
            if not waits_for(error):
                raise
            log.warning("The database is away, or a disk is full (%s); trying again in %s s", error, pause)
            if lost.wait(pause):
                raise
            _give_back(database, task)


def _give_back(database: Database, task: Run | BackgroundJob) -> None:
    model = type(task)
    give_back = update(model).where(model.id == task.id, model.attempts > 0).values(attempts=model.attempts - 1)
    with suppress(*DATABASE_AWAY), database.transaction() as session:
        session.execute(give_back)
