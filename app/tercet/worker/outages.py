"""What is not a task's own fault: the database is away, or a disk full. Such an attempt waits, and does not count."""

import logging
import time

from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from tercet.database import Database
from tercet.models import BackgroundJob, Run
from tercet.web.errors import DATABASE_AWAY, is_disk_full

log = logging.getLogger(__name__)
RETRY_SECONDS = 5.0


def is_outage(error: Exception) -> bool:
    """Return whether the same work may succeed later; SQLite calls wrong statements operational errors, too."""
    if isinstance(error, OperationalError) and getattr(error.orig, "sqlite_errorname", "") == "SQLITE_ERROR":
        return False
    return isinstance(error, DATABASE_AWAY) or is_disk_full(error)


def wait_out(database: Database, task: Run | BackgroundJob, error: Exception) -> None:
    """Wait until the database can be written again, and give the attempt back; a worker can do nothing else before."""
    model = type(task)
    give_back = update(model).where(model.id == task.id, model.attempts > 0).values(attempts=model.attempts - 1)
    while True:
        log.warning("The database is away, or a disk is full (%s); trying again in %s s", error, RETRY_SECONDS)
        time.sleep(RETRY_SECONDS)
        try:
            with database.transaction() as session:
                session.execute(give_back)
            return
        except DATABASE_AWAY:
            continue
