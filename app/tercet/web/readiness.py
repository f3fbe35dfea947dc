"""Whether the server can store what it is sent: tried by writing to the database and to the place of the blobs."""

import logging
import threading
import time

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from tercet.database import Database
from tercet.storage import Storage

log = logging.getLogger(__name__)
# Anybody may ask at any time, and a trial costs a write to the disk.
SECONDS_BETWEEN = 2.0
BLOB, CONTENT = "readiness", bytes(4_096)  # an empty file would find room on a full disk
# Writes the row as it is, which needs room and the right to write as any other change does.
WRITE = text("UPDATE alembic_version SET version_num = version_num")


class Readiness:
    """What the newest trial came to."""

    def __init__(self, database: Database, storage: Storage) -> None:
        """Begin without a trial."""
        self.database, self.storage = database, storage
        self._fault: str | None = "Nothing has been tried yet."
        self._next_trial = 0.0
        self._trying = threading.Lock()

    def fault(self) -> str | None:
        """Return in a sentence why nothing can be stored now, None if it can."""
        # While one caller waits for a database that does not answer, the others hear what the last trial came to.
        if self._trying.acquire(blocking=False):
            try:
                if time.monotonic() >= self._next_trial:
                    self._fault = self._try()
                    self._next_trial = time.monotonic() + SECONDS_BETWEEN
            finally:
                self._trying.release()
        return self._fault

    def _try(self) -> str | None:
        try:
            with self.database.transaction() as session:
                session.execute(WRITE)
        except (DBAPIError, NoConnectionFree):
            log.warning("The database cannot be written", exc_info=True)
            return "The database does not answer, or cannot be written."
        try:
            self.storage.put(BLOB, CONTENT)
            self.storage.delete(BLOB)
        except OSError as error:
            log.warning("The place of items and results cannot be written", exc_info=True)
            return f"Items and results cannot be stored: {error.strerror or error}."
        return None
