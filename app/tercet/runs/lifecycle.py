"""The life cycle of a run in its table: claim, begin, renew, write, end, each a guarded write.

The table is authoritative, and Dask only executes. A supervisor *claims* a run; the task itself *begins* it, which
raises the row's token, and from then on every write names that token: an older copy of the task, wherever it still
runs, can change nothing any more. A lease on the row lets another process take over after a crash.

`schedule.py` queues the run before; `worker/supervisor.py` claims it and `worker/job.py` does everything after.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, or_, select, update
from sqlalchemy.orm import Session, aliased

from tercet.catalogue import algorithms
from tercet.database import Database
from tercet.errors import Problem
from tercet.jobs.attempts import MAX_ATTEMPTS, pause_after
from tercet.live import events
from tercet.models import Project, Purpose, Run, RunStatus, now, out_of_reach
from tercet.runs import preconditions
from tercet.runs.queries import last_done, lock_project

ANNOUNCED = ("number", "purpose", "status", "progress", "starved", "reason")
GAVE_UP = (
    f"The worker stopped {MAX_ATTEMPTS} times at the same place of this run, so it was given up. Its process was "
    "killed each time: too little memory is the usual reason. Start it again, or give the workers more memory."
)
TOO_LONG = (
    "It was not done after {hours:g} hours, which is as long as a run may take here, and was given up. Fewer starts "
    "(n_init) or steps (max_iter) take less; whoever runs the server may allow more (TERCET_RUN_HOURS)."
)
STUCK = (
    "It was not done after {hours:g} hours, which is as long as a run may take here, and did not stop then, so its "
    "worker was ended. Other parameters or another system may do better; whoever runs the server may allow "
    "more hours (TERCET_RUN_HOURS)."
)


class Superseded(Exception):
    """This copy of the task may not write any more: the run was cancelled, or another copy took over."""


@dataclass(frozen=True)
class Claim:
    """A run that this process has claimed, with the token that the row had then."""

    run_id: int
    project_id: int
    token: int
    is_long: bool = False

    def __str__(self) -> str:
        """Return the words of the log."""
        return f"run {self.run_id}"


# Built once: `_STILL_DUE` is run while all answers of the project wait for its lock.
_AT: ColumnElement[datetime] = bindparam("at")
# A time after this one was written before the clock was set back: see `out_of_reach`.
_BEYOND: ColumnElement[datetime] = bindparam("beyond")
_SIBLING = aliased(Run)
_BUSY = select(_SIBLING.id).where(_SIBLING.project_id == Run.project_id, _SIBLING.status == RunStatus.RUNNING).exists()
_CLAIMABLE = or_(
    (Run.status == RunStatus.QUEUED) & ((Run.due_at <= _AT) | (Run.created_at > _BEYOND)) & ~_BUSY,
    # Its lease has expired.
    (Run.status == RunStatus.RUNNING) & ((Run.lease_expires_at <= _AT) | (Run.lease_expires_at > _BEYOND)),
)
_RESTED = (Run.reason != "answers") | Run.project_id.not_in(bindparam("resting", expanding=True))
_DUE = select(Run.id, Run.project_id, Run.purpose).where(_CLAIMABLE, _RESTED).order_by(Run.due_at)
_STILL_DUE = select(Run).where(Run.id == bindparam("run"), _CLAIMABLE).with_for_update(skip_locked=True, of=Run)


def announce(session: Session, run: Run) -> None:
    """Record an event with the run's status, for open pages."""
    events.record(session, run.project_id, ("run", {name: getattr(run, name) for name in ANNOUNCED}))


def claim_next(
    database: Database,
    lease_seconds: float,
    resting: Collection[int] = (),
    of_project: int | None = None,
    *,
    long_ones: bool = True,
    own: Collection[int] = (),
) -> Claim | None:
    """Claim a run that is due, or one whose lease has expired; return None if there is none.

    Runs started by answers wait while their project is among the `resting`. With `of_project` only runs of that project
    are looked at. Without `long_ones` no comparison is claimed, since it takes many fits. The caller's `own` runs are
    not claimed even if their lease has expired: their workers are alive, but had no time to renew it.
    """
    at = {"at": now(), "beyond": out_of_reach(lease_seconds)}
    for run_id, project_id, purpose in _due(database, at, resting):
        is_long = purpose == Purpose.COMPARISON
        if run_id in own or of_project not in (None, project_id) or (is_long and not long_ones):
            continue
        with database.transaction() as session:
            project = lock_project(session, project_id)
            # Read again under the lock: another supervisor may have claimed it since.
            run = session.scalar(_STILL_DUE, {"run": run_id, **at})
            if run is not None and _claim(session, project, run, lease_seconds):
                return Claim(run.id, project_id, run.token, is_long)
    return None


def is_waiting(database: Database, lease_seconds: float, served: Collection[int]) -> bool:
    """Return whether a run is due of another project than those that are served."""
    at = {"at": now(), "beyond": out_of_reach(lease_seconds)}
    return any(project_id not in served for _, project_id, _ in _due(database, at, ()))


def _due(database: Database, at: dict[str, datetime], resting: Collection[int]) -> Sequence[Row[int, int, str]]:
    with database.reading() as session:
        return session.execute(_DUE, {**at, "resting": list(resting)}).all()


def _claim(session: Session, project: Project, run: Run, lease_seconds: float) -> bool:
    if run.status == RunStatus.RUNNING:
        return _take_over(session, run, lease_seconds)
    return _start(session, project, run, lease_seconds)


def _take_over(session: Session, run: Run, lease_seconds: float) -> bool:
    if run.cancel_requested:
        end(session, run, RunStatus.CANCELLED)
        return False
    if run.attempts >= MAX_ATTEMPTS:
        end(session, run, RunStatus.FAILED, GAVE_UP)
        return False
    run.lease_expires_at = now() + timedelta(seconds=lease_seconds)
    return True


def _start(session: Session, project: Project, run: Run, lease_seconds: float) -> bool:
    """Start the run at its first claim, and fix what it uses: answers, features and parameters."""
    run.started_at = run.started_at or now()
    try:
        with session.no_autoflush:  # nothing read here depends on what is written
            _pin(session, project, run)
    except Problem as problem:
        end(session, run, RunStatus.FAILED, _sentence(problem))
        return False
    run.status = RunStatus.RUNNING
    run.lease_expires_at = now() + timedelta(seconds=lease_seconds)
    announce(session, run)
    return True


def _pin(session: Session, project: Project, run: Run) -> None:
    if run.answers_to is not None:
        return  # a comparison that gave way to another run goes on with what it had
    run.answers_to = project.answer_number
    previous = last_done(session, project.id) if run.purpose == Purpose.CURRENT else None
    run.answers_from = (previous.answers_to or 0) if previous else 0
    # Read under the lock: features that came before it asked for this very run.
    if run.reason != "request":
        run.algorithm = project.algorithm  # the settings may have changed while it waited
    features, n_items = preconditions.items_to_cluster(session, project, run.algorithm)
    if run.purpose != Purpose.COMPARISON:
        run.parameters = algorithms.resolve(project, run.algorithm, run.parameters, n_items)
        preconditions.check(session, project, run.algorithm, run.parameters)
        if wanted := run.parameters.get("cluster_by"):
            by = preconditions.clustered_by(session, project, features, wanted)
            run.parameters = {**run.parameters, "cluster_by": by}
    by_features = features is not None and run.parameters.get("cluster_by") != "answers"
    run.feature_set_id = features.id if features is not None and by_features else None


def _sentence(problem: Problem) -> str:
    return " ".join([problem.detail, *(f"{e.field}: {e.detail}." for e in problem.errors)])


def begin_task(database: Database, run_id: int, lease_seconds: float) -> Run | None:
    """Increment the token, as the task does first, and return the run; None if there is nothing to compute."""
    # The project's row, for which answers wait, is not locked: only this run's row changes.
    running = (Run.id == run_id) & (Run.status == RunStatus.RUNNING) & ~Run.cancel_requested
    lease = now() + timedelta(seconds=lease_seconds)
    raise_token = (
        update(Run)
        .where(running, Run.attempts < MAX_ATTEMPTS)
        .values(token=Run.token + 1, attempts=Run.attempts + 1, lease_expires_at=lease, starved=False)
        .returning(Run)
    )
    with database.transaction() as session:
        run = session.scalar(raise_token)
    if run is None:
        _end_stale(database, run_id, lease_seconds)
    return run


def _end_stale(database: Database, run_id: int, lease_seconds: float) -> None:
    """End a run that was cancelled or tried too often before its task began."""
    with database.transaction() as session:
        run = _locked_with_project(session, run_id)
        if run is not None and run.status == RunStatus.RUNNING:
            _take_over(session, run, lease_seconds)


def _locked_with_project(session: Session, run_id: int) -> Run | None:
    """Lock a run and first its project; return None if it was deleted in the meantime."""
    project_id = session.scalar(select(Run.project_id).where(Run.id == run_id))
    if project_id is None:
        return None
    lock_project(session, project_id)
    return session.execute(select(Run).where(Run.id == run_id).with_for_update()).scalar_one()


def give_up(database: Database, run_id: int, error: str) -> Run | None:
    """End a run whose task does not end; return it, unless it has ended. The task can change nothing any more."""
    with database.transaction() as session:
        run = _locked_with_project(session, run_id)
        if run is None or run.status != RunStatus.RUNNING:
            return None
        status, why = (RunStatus.CANCELLED, None) if run.cancel_requested else (RunStatus.FAILED, error)
        end(session, run, status, why)
        return run


def renew(database: Database, run_id: int, token: int, lease_seconds: float) -> bool:
    """Extend the lease; return False if the run is not held by this token any more."""
    with database.transaction() as session:
        lease = now() + timedelta(seconds=lease_seconds)
        renewed = session.execute(_update_if_held(run_id, token).values(lease_expires_at=lease).returning(Run.id))
        return renewed.first() is not None


def write(session: Session, run: Run, *further_events: tuple[str, dict[str, Any]], **values: Any) -> None:
    """Write to the row and record an event with its status, if this copy of the task still holds the run.

    Otherwise raise Superseded, which undoes the transaction.
    """
    status = {name: values.get(name, getattr(run, name)) for name in ANNOUNCED}
    # Events come first: their number locks the project, as every writer does before anything else.
    if not events.record(session, run.project_id, ("run", status), *further_events):
        raise Superseded(run.id)
    written = session.execute(_update_if_held(run.id, run.token).values(**values).returning(Run.id))
    if written.first() is None:
        raise Superseded(run.id)
    for name, value in values.items():
        setattr(run, name, value)


def _lock(session: Session, run: Run) -> bool:
    """Lock the project, as every writer does first; return False if it was deleted in the meantime."""
    locked = select(Project.id).where(Project.id == run.project_id).with_for_update(key_share=True)
    return session.scalar(locked) is not None


def _is_held(run_id: int, token: int) -> ColumnElement[bool]:
    """Return the condition that the run is still computed under this token."""
    return (Run.id == run_id) & (Run.token == token) & (Run.status == RunStatus.RUNNING)


def _update_if_held(run_id: int, token: int) -> Any:
    return update(Run).where(_is_held(run_id, token), ~Run.cancel_requested)


def end(session: Session, run: Run, status: RunStatus, error: str | None = None) -> None:
    """End a run without a result; the caller has locked its project and the run."""
    run.status, run.error, run.finished_at, run.lease_expires_at = status, error, now(), None
    session.flush()
    announce(session, run)


def end_from_task(database: Database, run: Run, status: RunStatus, error: str | None = None) -> bool:
    """End the run from its task; return False if another copy took over. A cancelled run always ends cancelled."""
    with database.transaction() as session:
        if not _lock(session, run):
            return False
        row = session.scalar(select(Run).where(_is_held(run.id, run.token)).with_for_update())
        if row is None or (status == RunStatus.CANCELLED and not row.cancel_requested):
            return False
        if row.cancel_requested:
            status, error = RunStatus.CANCELLED, None
        end(session, row, status, error)
        return True


def release(database: Database, run_id: int) -> None:
    """End the lease now, so that the run goes on elsewhere."""
    _end_lease(database, run_id, 0.0)


def release_after_loss(database: Database, run_id: int, lease_seconds: float) -> None:
    """Let the lease end when the run may begin again: its worker is known to be gone."""
    with database.reading() as session:
        attempts = session.scalar(select(Run.attempts).where(Run.id == run_id)) or 0
    _end_lease(database, run_id, pause_after(attempts, lease_seconds))


def _end_lease(database: Database, run_id: int, seconds: float) -> None:
    with database.transaction() as session:
        running = (Run.id == run_id) & (Run.status == RunStatus.RUNNING)
        session.execute(update(Run).where(running).values(lease_expires_at=now() + timedelta(seconds=seconds)))
