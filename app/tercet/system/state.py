"""What the server holds, what waits, and what went wrong lately, as the database has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.models import BackgroundJob, JobStatus, Lease, Project, Run, RunStatus, Triplet, now

LATELY = timedelta(hours=1)
MOST_FAILURES = 10


class SystemCounts(BaseModel):
    """How many there are at one moment; runs and jobs by their status."""

    projects: int
    answers: int
    queue: int
    leases: int
    runs: dict[str, int]
    jobs: dict[str, int]


class SystemState(SystemCounts):
    """The same with the seconds of the runs done within the last hour."""

    run_seconds: list[float]


@dataclass(frozen=True)
class Failure:
    """A run or a background job that failed, and why in a sentence."""

    what: str
    project: str
    at: datetime
    sentence: str


def read_state(session: Session) -> SystemState:
    """Read the numbers, in statements whose cost does not grow with the answers."""
    projects, answers = session.execute(
        select(func.count(), func.coalesce(func.sum(Project.answer_number), 0)).where(Project.deleted_at.is_(None))
    ).one()
    lately = (Run.status == RunStatus.DONE, Run.finished_at > now() - LATELY)
    times = session.execute(select(Run.started_at, Run.finished_at).where(*lately))
    return SystemState(
        projects=projects,
        answers=int(answers),
        queue=session.scalar(select(func.count()).where(Triplet.priority.is_not(None))) or 0,
        leases=session.scalar(select(func.count()).where(Lease.expires_at > now())) or 0,
        runs=_by_status(session, Run, RunStatus),
        jobs=_by_status(session, BackgroundJob, JobStatus),
        run_seconds=[(end - begin).total_seconds() for begin, end in times if begin and end],
    )


def _by_status(
    session: Session, model: type[Run | BackgroundJob], statuses: type[RunStatus | JobStatus]
) -> dict[str, int]:
    counts = {status.value: 0 for status in statuses}
    for status, count in session.execute(select(model.status, func.count()).group_by(model.status)):
        counts[status] = count
    return counts


def failures(session: Session) -> list[Failure]:
    """List the newest runs and jobs that failed, newest first."""
    runs = select(Run, Project.key).join(Project, Project.id == Run.project_id).where(Run.status == RunStatus.FAILED)
    jobs = select(BackgroundJob, Project.key).join(Project, Project.id == BackgroundJob.project_id)
    jobs = jobs.where(BackgroundJob.status == JobStatus.FAILED)
    newest = [
        Failure(f"run {run.number}", key, run.finished_at or run.created_at, run.error or "")
        for run, key in session.execute(runs.order_by(Run.id.desc()).limit(MOST_FAILURES))
    ]
    newest += [
        Failure(job.kind.replace("_", " "), key, job.finished_at or job.created_at, job.error or "")
        for job, key in session.execute(jobs.order_by(BackgroundJob.id.desc()).limit(MOST_FAILURES))
    ]
    return sorted(newest, key=lambda failure: failure.at, reverse=True)[:MOST_FAILURES]


class StateCollector(Collector):
    """Gauges of the state, read from the database when Prometheus asks."""

    def __init__(self, database: Database) -> None:
        """Remember the database."""
        self.database = database

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield a gauge for each number."""
        try:
            with self.database.reading() as session:
                state = read_state(session)
        except DBAPIError:  # the counters of requests are worth something without these
            return
        for name, words, value in (
            ("projects", "Projects", state.projects),
            ("answers", "Answers stored, withdrawn ones too", state.answers),
            ("questions_queued", "Questions that wait to be asked", state.queue),
            ("leases", "Questions on somebody's screen", state.leases),
            ("runs_lately", "Runs done within the last hour", len(state.run_seconds)),
            ("run_seconds_lately", "Seconds that these runs took together", sum(state.run_seconds)),
        ):
            yield GaugeMetricFamily(f"tercet_{name}", words, value=value)
        for name, words, counts in (("runs", "Runs", state.runs), ("jobs", "Background jobs", state.jobs)):
            family = GaugeMetricFamily(f"tercet_{name}", words, labels=["status"])
            for status, count in counts.items():
                family.add_metric([status], count)
            yield family
