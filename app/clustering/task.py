"""What travels to a worker: the names of the database and the storage, and a function that needs nothing imported.

The web process hands these to Dask without importing the estimators that `job.py` brings along.
"""

from typing import NamedTuple


class Place(NamedTuple):
    """Where a task finds everything; plain values, since it may run on another machine."""

    database_url: str
    storage_url: str
    lease_seconds: float


def run_task(place: Place, run_id: int) -> str:
    """Compute a run in this process; see `job.run_job`."""
    from app.clustering.job import run_job

    return run_job(place, run_id)
