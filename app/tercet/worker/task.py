"""What is sent to a worker for one run or background job: a function, and where the job finds its project.

The web process submits these through Dask without importing what `job.py` and `jobs.py` need; the worker imports them
when it calls the function.
"""

from tercet.memory import give_back_memory
from tercet.worker.place import JobPlace
from tercet.worker.watchdog import end_process_after


def run_task(place: JobPlace, run_id: int) -> str:
    """Compute a run in this process by `job.run_job`; return its outcome.

    A run that does not stop when its time is up takes the process with it, once the supervisor had time to give it up.
    """
    from tercet.worker.job import run_job

    try:
        with end_process_after(3600 * place.run_hours + place.lease_seconds):
            return run_job(place, run_id)
    finally:
        give_back_memory()


def run_job_task(place: JobPlace, job_id: int) -> str:
    """Do a background job in this process by `jobs.run_background_job`; return its outcome."""
    from tercet.worker.jobs import run_background_job

    try:
        return run_background_job(place, job_id)
    finally:
        give_back_memory()
