"""One thread of the web process that claims due runs and sees them through, together with those of other servers.

Every server may have one: the run table decides who gets which run. It wakes at once when this process makes
a run due or a task ends, and otherwise looks every quarter of a second.
"""

import logging
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from app.clustering import bell, claims
from app.clustering.claims import Claim
from app.clustering.engine import Engine
from app.clustering.task import Place, run_task
from app.database import Database
from app.settings import Settings

log = logging.getLogger(__name__)
POLL_SECONDS = 0.25
RETRY_SECONDS = 1.0
# So long a project rests after a run: while answers keep coming, workers on the server's own processors would else
# never leave them to the people who label. Resting as long as the run took, faster fits only meant more runs.
REST_SECONDS = 1.0


@dataclass(frozen=True)
class UnderWay:
    """A run that was given to the engine, as Dask's future."""

    future: Any
    claim: Claim


class Supervisor:
    """Claims runs, submits them to the engine, and clears up after those whose worker died."""

    def __init__(self, database: Database, settings: Settings, engine: Engine | None = None) -> None:
        """Prepare; `start` does the rest, in the background."""
        self.database = database
        self.lease_seconds = settings.run_lease_seconds
        urls = settings.resolved_database_url(), settings.resolved_storage_url()
        self.place = Place(*urls, self.lease_seconds)
        self.engine = engine or Engine(settings)
        self.under_way: list[UnderWay] = []
        self._rest_until: dict[int, float] = {}  # by project
        self._next_hold = 0.0
        self._bell = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="supervisor of runs", daemon=True)

    def start(self) -> None:
        """Begin to look for runs."""
        bell.hang(self._bell)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and the workers started here; unfinished runs go on from their checkpoint elsewhere."""
        if not self._thread.is_alive():
            return
        self._stopping = True
        self._bell.set()
        self._thread.join()
        bell.take_down(self._bell)

    def _work(self) -> None:
        while not self._stopping:
            try:
                self.engine.connect()
                self._turn()
                self._bell.wait(self._pause())
            except SQLAlchemyError:
                log.warning("The database does not answer; trying again in %s s", RETRY_SECONDS, exc_info=True)
                self._bell.wait(RETRY_SECONDS)
            except (OSError, RuntimeError):
                # The scheduler went away and forgot its tasks, whose rows are released once it is back; or workers
                # did not start, as on a machine with no time for them.
                log.warning("Dask does not answer; connecting again in %s s", RETRY_SECONDS, exc_info=True)
                self.engine.close()
                self._bell.wait(RETRY_SECONDS)
        self._let_go()

    def _turn(self) -> None:
        self._bell.clear()
        for ended in [one for one in self.under_way if one.future.done()]:
            self.under_way.remove(ended)
            self._settle(ended)
        self._hold()
        while not self.under_way or len(self.under_way) < self.engine.places():
            claimed = claims.claim_next(self.database, self.lease_seconds, self._resting())
            if claimed is None:
                return
            self._submit(claimed)

    def _resting(self) -> list[int]:
        """Give the projects that rest, and forget those that have rested."""
        self._rest_until = {project: end for project, end in self._rest_until.items() if end > time.monotonic()}
        return list(self._rest_until)

    def _pause(self) -> float:
        """How long to wait for the bell: no longer than until the next project has rested."""
        return max(0.0, min([POLL_SECONDS, *(end - time.monotonic() for end in self._rest_until.values())]))

    def _submit(self, claim: Claim) -> None:
        # Every submission is a task of its own: what keeps copies apart is the token, never Dask's key.
        key = f"run-{claim.run_id}-{uuid.uuid4().hex}"
        try:
            future = self.engine.submit(run_task, self.place, claim.run_id, key=key, done=self._wake)
        except BaseException:
            claims.release(self.database, claim.run_id)
            raise
        self.under_way.append(UnderWay(future, claim))

    def _wake(self, future: Any) -> None:
        self._bell.set()

    def _settle(self, ended: UnderWay) -> None:
        """A task that ended with an error lost its worker: its lease need not run out before the next attempt."""
        future, claim = ended.future, ended.claim
        if future.status != "finished":
            log.warning("The worker of run %s is gone (%s); another takes over", claim.run_id, future.status)
            claims.release(self.database, claim.run_id)
        elif self.engine.is_local:
            self._rest_until[claim.project_id] = time.monotonic() + REST_SECONDS
        future.release()

    def _hold(self) -> None:
        """Keep the leases of tasks that still wait for a worker; a task that has begun keeps its own."""
        if time.monotonic() >= self._next_hold:
            self._next_hold = time.monotonic() + self.lease_seconds / 3
            for one in self.under_way:
                claims.renew(self.database, one.claim.run_id, one.claim.token, self.lease_seconds)

    def _let_go(self) -> None:
        """Part from the engine. Workers started here end with it, so their runs need not wait for the lease."""
        self.engine.close()
        for one in self.under_way:
            if self.engine.is_local:
                claims.release(self.database, one.claim.run_id)
        self.under_way.clear()
