"""Does one background job in a worker: begin, call the function of its kind, end.

The functions are in `intake` and `exchange`; the command line calls them without a job.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from tercet.database import Database
from tercet.errors import Problem
from tercet.exchange import file_predictions
from tercet.intake import checking, featuring, imports, pictures, storing
from tercet.intake.work import Work, sentence_of
from tercet.jobs import lifecycle
from tercet.jobs.lifecycle import JobStopped
from tercet.models import BackgroundJob, JobKind, JobStatus
from tercet.storage import Storage
from tercet.worker import outages
from tercet.worker.heartbeat import heartbeat
from tercet.worker.place import JobPlace, open_place

log = logging.getLogger(__name__)

FUNCTIONS: dict[JobKind, Callable[[Work], None]] = {
    JobKind.CHECK_IMPORT: checking.check_import,
    JobKind.STORE_IMPORT: storing.store_import,
    JobKind.MAKE_FEATURES: featuring.make_features,
    JobKind.DRAW_PICTURES: pictures.draw_pictures,
    JobKind.PREDICT: file_predictions.predict_items,
}


def run_background_job(place: JobPlace, job_id: int) -> str:
    """Do a job; return the status it ended with, or "superseded" if another copy of the task took over."""
    database, storage = open_place(place)
    job = lifecycle.begin_job(database, job_id, place.lease_seconds)
    if job is None:
        return "superseded"
    ended = _do(place, database, storage, job)
    if ended in (JobStatus.FAILED, JobStatus.CANCELLED):
        with database.transaction() as session:
            imports.end_failed(session)
    return ended


def _do(place: JobPlace, database: Database, storage: Storage, job: BackgroundJob) -> str:
    try:
        renew = partial(lifecycle.renew, database, job.id, job.token, place.lease_seconds)
        with heartbeat(f"job {job.id}", renew, place.lease_seconds) as lost:
            work = partial(FUNCTIONS[JobKind(job.kind)], Work(database, storage, job, lost, place.lease_seconds))
            # Who has sent too much for the disk has to know: they free some room, and start it again.
            outages.work_through(work, database, job, lost, outages.is_database_away)
            return "done"
    except JobStopped:
        return lifecycle.end_from_task(database, job, JobStatus.CANCELLED) or "superseded"
    except Exception as error:
        log.warning("Job %s of project %s failed", job.id, job.project_id, exc_info=not isinstance(error, Problem))
        faults = {"faults": [asdict(fault) for fault in error.errors]} if isinstance(error, Problem) else {}
        return lifecycle.end_from_task(database, job, JobStatus.FAILED, sentence_of(error), faults) or "superseded"
