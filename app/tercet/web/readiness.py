"""Whether the server can store what it is sent: tried by writing to the database and to the place of the blobs.

An outage is told to monitors by `/readyz`, and to open pages by `live/outages.py`.
"""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from tercet.database import Database
from tercet.models import now
from tercet.storage import Storage

log = logging.getLogger(__name__)
# Anybody may ask at any time, and a trial costs a write to the disk.
SECONDS_BETWEEN = 2.0
BLOB, CONTENT = "readiness", bytes(4_096)  # an empty file would find room on a full disk
# Writes the row as it is, which needs room and the right to write as any other change does.
WRITE = text("UPDATE alembic_version SET version_num = version_num")
NO_ROOM = "53100"  # PostgreSQL's number of it
UNTRIED = "Nothing has been tried yet."
AWAY = "The database does not answer, or cannot be written."
FULL = "There is no room left on the disk of the database."
WHEN_BACK = (
    "Answers wait in the browsers of those who label, runs where they are, and both go on by themselves: the server "
    "tries again every few seconds."
)


@dataclass(frozen=True)
class Outage:
    """Something that the server needs and does not have: what is wrong, since when, and what happens next."""

    detail: str
    since: datetime
    then: str


class Readiness:
    """What the newest trial came to."""

    def __init__(self, database: Database, storage: Storage) -> None:
        """Begin without a trial."""
        self.database, self.storage = database, storage
        self._fault: str | None = UNTRIED
        self._since = now()
        self._next_trial = 0.0
        self._trying = threading.Lock()

    def fault(self) -> str | None:
        """Return in a sentence why nothing can be stored now, None if it can."""
        outage = self.outage()
        return None if outage is None else outage.detail

    def outage(self) -> Outage | None:
        """Return why nothing can be stored now, None if it can."""
        # While one caller waits for a database that does not answer, the others hear what the last trial came to.
        if self._trying.acquire(blocking=False):
            try:
                if time.monotonic() >= self._next_trial:
                    self._note(self._try())
                    self._next_trial = time.monotonic() + SECONDS_BETWEEN
            finally:
                self._trying.release()
        fault = self._fault
        return None if fault is None else Outage(fault, self._since, WHEN_BACK)

    def _note(self, fault: str | None) -> None:
        if self._fault in (None, UNTRIED) and fault is not None:
            self._since = now()
        self._fault = fault

    def _try(self) -> str | None:
        try:
            with self.database.transaction() as session:
                session.execute(WRITE)
        except (DBAPIError, NoConnectionFree) as error:
            log.warning("The database cannot be written", exc_info=True)
            return _sentence(error)
        try:
            self.storage.put(BLOB, CONTENT)
            self.storage.delete(BLOB)
        except OSError as error:
            log.warning("The place of items and results cannot be written", exc_info=True)
            return f"Items and results cannot be stored: {error.strerror or error}."
        return None


def _sentence(error: Exception) -> str:
    reported = getattr(error, "orig", None)
    is_full = getattr(reported, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(reported, "sqlstate", "") == NO_ROOM
    return FULL if is_full else AWAY
