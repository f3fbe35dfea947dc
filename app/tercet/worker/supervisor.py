"""A thread of the web process that claims due runs and background jobs, submits them to the workers and releases those
whose worker died.

Every server may have one: the tables decide who gets which run and job (`runs/lifecycle.py`, `jobs/lifecycle.py`). It
wakes at once when this process makes one due or a task ends, and otherwise looks every quarter of a second. What it
submits is in `task.py`. Now and then it ends or removes what nobody else would.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from tercet.accounts import sessions
from tercet.database import Database
from tercet.exchange.file_predictions import forget_old
from tercet.intake.imports import clean_up
from tercet.jobs import lifecycle as job_lifecycle
from tercet.jobs import wake_up
from tercet.jobs.lifecycle import JobClaim
from tercet.labeling.queue import end_leases_out_of_reach
from tercet.people.service import erase_silent
from tercet.projects.deleting import remove_long_deleted
from tercet.runs import lifecycle, results
from tercet.runs.lifecycle import Claim
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker import outages
from tercet.worker.engine import Engine
from tercet.worker.place import JobPlace
from tercet.worker.task import run_job_task, run_task

log = logging.getLogger(__name__)
POLL_SECONDS = 0.25
# How long a project rests after a run: otherwise, while answers keep coming, workers on the server's own processors
# would never leave them to the people who label. A rest as long as the run took only let faster fits run more often.
REST_SECONDS = 1.0
# The last worker is started while another one does work that takes minutes, or has been busy with one task for
# LONG_SECONDS while further work waits. It ends once neither was so for CALLED_UP_SECONDS and no task is submitted.
LONG_SECONDS, CALLED_UP_SECONDS = 5.0, 60.0
UPKEEP_SECONDS = 5.0
# How long to wait at the end for the thread to clear up after workers that were being started.
START_PATIENCE_SECONDS = 2.0
SELDOM_SECONDS = 3600.0


@dataclass(frozen=True)
class SubmittedTask:
    """A claimed run or background job whose task the engine has, as Dask's future."""

    future: Any
    claim: Claim | JobClaim
    since: float = field(default_factory=time.monotonic)


class Supervisor:
    """Claims runs and jobs, submits them to the engine, and releases those whose worker died."""

    def __init__(self, database: Database, settings: Settings, engine: Engine | None = None) -> None:
        """Prepare the thread; `start` runs it."""
        self.database = database
        self.lease_seconds = settings.run_lease_seconds
        self.triplet_lease_seconds = settings.triplet_lease_seconds
        self.place = JobPlace.of(settings)
        self.engine = engine or Engine(settings)
        self.storage = Storage(settings.resolved_storage_url())
        self.submitted: list[SubmittedTask] = []
        self._job_was_last = False
        self._next_upkeep = self._next_seldom = 0.0
        self._rest_until: dict[int, float] = {}  # by project
        self._next_renewal = 0.0
        self._called_up_until = 0.0
        self._wake_up = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="supervisor of runs", daemon=True)

    def start(self) -> None:
        """Begin to look for runs."""
        wake_up.register(self._wake_up)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and the workers started here; unfinished runs go on from their checkpoint elsewhere.

        Workers that are only being started are ended by force, and a thread that still imports what starts them is left
        to end with the process.
        """
        if not self._thread.is_alive():
            return
        self._stopping = True
        self._wake_up.set()
        wake_up.unregister(self._wake_up)
        patience_ends = time.monotonic() + START_PATIENCE_SECONDS
        while self._thread.is_alive():
            if self.engine.is_connecting:
                self.engine.kill_starting()
                if time.monotonic() > patience_ends:
                    return
            self._thread.join(0.1)

    def _work(self) -> None:
        pauses = outages.pauses()
        while not self._stopping:
            try:
                self.engine.connect()
                self._look()
                self._wake_up.wait(self._pause())
                pauses = outages.pauses()
            except SQLAlchemyError:
                self._sit_out(next(pauses), "The database does not answer; trying again in %s s")
            except (OSError, RuntimeError):
                # The scheduler went away and forgot its tasks, whose rows are released once it is back; or workers
                # did not start, as on a machine with no time for them.
                self._sit_out(next(pauses), "Dask does not answer; connecting again in %s s")
                self.engine.close()
        self._shut_down()

    def _sit_out(self, seconds: float, words: str) -> None:
        """Log an outage and wait, whatever becomes due meanwhile."""
        if self._stopping:
            return  # it ended what was being started
        log.warning(words, seconds, exc_info=True)
        self._wake_up.clear()
        if not self._stopping:  # which is set before the event is
            self._wake_up.wait(seconds)

    def _look(self) -> None:
        """Clear up after tasks that have ended, and submit due runs while workers are free."""
        self._wake_up.clear()
        self._give_up_overdue()
        for ended in [task for task in self.submitted if task.future.done()]:
            self.submitted.remove(ended)
            self._clear_up(ended)
        self._renew_leases()
        self._call_up()
        self._do_upkeep()
        # Without any worker nothing is claimed: it is for servers that have some, and pages say that it waits.
        while len(self.submitted) < self.engine.places():
            claim = self._claim_next(self._has_place_for_long_ones())
            if claim is None:
                return
            self._submit(claim)

    def _call_up(self) -> None:
        """Have the last worker while what others are at takes long, so that nobody waits for the end of that."""
        moment = time.monotonic()
        takes_long = any(moment > task.since + LONG_SECONDS for task in self.submitted)
        if any(task.claim.is_long for task in self.submitted) or (takes_long and self._is_anybody_waiting()):
            self._called_up_until = moment + CALLED_UP_SECONDS
        is_at_work = self.engine.is_called_up and bool(self.submitted)
        self.engine.call_up(moment < self._called_up_until or is_at_work)

    def _is_anybody_waiting(self) -> bool:
        _, jobs = self._under_way()
        # The next run of a project may be due while its last one's task still chooses questions.
        served = [task.claim.project_id for task in self.submitted if isinstance(task.claim, Claim)]
        is_run_waiting = lifecycle.is_waiting(self.database, self.lease_seconds, [*served, *self._resting()])
        return is_run_waiting or job_lifecycle.is_waiting(self.database, self.lease_seconds, jobs)

    def _under_way(self) -> tuple[list[int], list[int]]:
        """Return the ids of the runs and of the jobs that are submitted."""
        claims = [task.claim for task in self.submitted]
        runs = [claim.run_id for claim in claims if isinstance(claim, Claim)]
        return runs, [claim.job_id for claim in claims if isinstance(claim, JobClaim)]

    def _has_place_for_long_ones(self) -> bool:
        """Return whether work of minutes may begin: it leaves one place to what people wait for, where there are two.

        Otherwise one project's features would hold up the preview, and the clusters, of everybody else.
        """
        n_long = sum(task.claim.is_long for task in self.submitted)
        return n_long < max(1, self.engine.places() - 1)

    def _claim_next(self, long_ones: bool) -> Claim | JobClaim | None:
        """Claim a run or a job; where both wait they take turns, so that neither is kept waiting by many others."""
        runs, jobs = self._under_way()
        lease, resting = self.lease_seconds, self._resting()
        claims: list[Callable[[], Claim | JobClaim | None]] = [
            lambda: job_lifecycle.claim_next(self.database, lease, long_ones=long_ones, own=jobs),
            lambda: lifecycle.claim_next(self.database, lease, resting, long_ones=long_ones, own=runs),
        ]
        for claim_next in reversed(claims) if self._job_was_last else claims:
            claim = claim_next()
            if claim is not None:
                self._job_was_last = isinstance(claim, JobClaim)
                return claim
        return None

    def _do_upkeep(self) -> None:
        """Do, now and then, the upkeep that no task and no request does: end or delete what is out of date."""
        if time.monotonic() >= self._next_upkeep:
            self._next_upkeep = time.monotonic() + UPKEEP_SECONDS
            clean_up(self.database, self.storage)
            end_leases_out_of_reach(self.database, self.triplet_lease_seconds)
            forget_old(self.database, self.storage)
            remove_long_deleted(self.database, self.storage)
        if time.monotonic() >= self._next_seldom:
            self._next_seldom = time.monotonic() + SELDOM_SECONDS
            erase_silent(self.database)
            sessions.forget_ended(self.database)

    def _resting(self) -> list[int]:
        """Return the projects that still rest, and forget the others."""
        self._rest_until = {project: end for project, end in self._rest_until.items() if end > time.monotonic()}
        return list(self._rest_until)

    def _pause(self) -> float:
        """Return how long to wait for a wake-up: no longer than until the next project has rested."""
        return max(0.0, min([POLL_SECONDS, *(end - time.monotonic() for end in self._rest_until.values())]))

    def _submit(self, claim: Claim | JobClaim) -> None:
        function, number = (run_job_task, claim.job_id) if isinstance(claim, JobClaim) else (run_task, claim.run_id)
        # A new key for every submission: copies of a task are told apart by the token, never by Dask's key.
        key = f"{function.__name__}-{number}-{uuid.uuid4().hex}"
        try:
            future = self.engine.submit(function, self.place, number, key=key, done=self._on_done)
        except BaseException:
            self._release(claim)
            raise
        self.submitted.append(SubmittedTask(future, claim))

    def _release(self, claim: Claim | JobClaim) -> None:
        if isinstance(claim, JobClaim):
            job_lifecycle.release(self.database, claim.job_id)
        else:
            lifecycle.release(self.database, claim.run_id)

    def _release_after_loss(self, claim: Claim | JobClaim) -> None:
        if isinstance(claim, JobClaim):
            job_lifecycle.release_after_loss(self.database, claim.job_id, self.lease_seconds)
        else:
            lifecycle.release_after_loss(self.database, claim.run_id, self.lease_seconds)

    def _on_done(self, future: Any) -> None:
        self._wake_up.set()

    def _clear_up(self, ended: SubmittedTask) -> None:
        """Release what a task was at that ended with an error: it lost its worker, and goes on in another."""
        future, claim = ended.future, ended.claim
        if future.status != "finished":
            log.warning("The worker of %s is gone (%s); another takes over", claim, future.status)
            self._release_after_loss(claim)
        elif self.engine.is_local and isinstance(claim, Claim):
            self._rest_until[claim.project_id] = time.monotonic() + REST_SECONDS
        future.release()

    def _give_up_overdue(self) -> None:
        """Give up the runs that have not ended in time, and end the workers that are at them.

        A fit that makes steps stops by itself at the first step after the time limit (`job.py`). A fit that makes none
        does not stop. Its lease is renewed until the time limit; the run is given up before the lease ends, so that no
        server takes it over.
        """
        latest_start = time.monotonic() - 3600 * self.place.run_hours - self.lease_seconds / 2
        for task in [task for task in self.submitted if task.since < latest_start]:
            if isinstance(task.claim, Claim):
                self._give_up(task.future, task.claim)
                self.submitted.remove(task)

    def _give_up(self, future: Any, claim: Claim) -> None:
        log.warning("%s did not stop when its time was up; its worker is ended", claim)
        try:
            run = lifecycle.give_up(self.database, claim.run_id, lifecycle.STUCK.format(hours=self.place.run_hours))
        finally:  # it may hold the lock of SQLite, and then the run is given up at the next attempt
            self.engine.end_worker_of(future.key)
        if run is not None:  # otherwise it has ended, and the task was still choosing questions
            results.delete_checkpoints(self.storage, run)
        future.release()

    def _renew_leases(self) -> None:
        """Renew the leases of tasks that wait while the workers are busy; a task that has begun renews its own."""
        if time.monotonic() >= self._next_renewal and self.engine.places():
            self._next_renewal = time.monotonic() + self.lease_seconds / 3
            for claim in (task.claim for task in self.submitted):
                if isinstance(claim, JobClaim):
                    job_lifecycle.renew(self.database, claim.job_id, claim.token, self.lease_seconds)
                else:
                    lifecycle.renew(self.database, claim.run_id, claim.token, self.lease_seconds)

    def _shut_down(self) -> None:
        """Close the engine and release what its own workers were at, so that others take it over at once."""
        self.engine.close()
        for task in self.submitted:
            if self.engine.is_local:
                self._release(task.claim)
        self.submitted.clear()
