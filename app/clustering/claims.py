"""The life of a run in its table: claimed, begun, kept alive, checkpointed, ended, each by a guarded write.

The table is the truth and Dask only the engine. A supervisor *claims* a run; the task itself *begins* it, which
raises the row's token, and from then on every write names that token: an older copy of the task, wherever it
still runs, changes nothing any more. A lease on the row lets another process take over after a crash.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, bindparam, or_, select, update
from sqlalchemy.orm import Session, aliased

from app import events
from app.clustering import algorithms, needs
from app.clustering.queries import last_done, lock_project
from app.database import Database
from app.errors import Invalid, Problem
from app.items.queries import latest_features
from app.models import Project, Purpose, Run, RunStatus, now

TOLD = ("number", "purpose", "status", "progress", "reason")
MAX_ATTEMPTS = 3
GAVE_UP = (
    f"The worker stopped in the middle of this run {MAX_ATTEMPTS} times, so it was given up. Its process was "
    "killed each time: too little memory is the usual reason. Start it again, or give the workers more memory."
)


class Superseded(Exception):
    """This copy of the task may not write any more: the run was cancelled, or another copy took over."""


@dataclass(frozen=True)
class Claim:
    """A run that this process is to see through, with the token that it had."""

    run_id: int
    project_id: int
    token: int


# Built once: the second is run while all answers of the project wait.
_AT: ColumnElement[datetime] = bindparam("at")
_OTHER = aliased(Run)
_BUSY = select(_OTHER.id).where(_OTHER.project_id == Run.project_id, _OTHER.status == RunStatus.RUNNING).exists()
_CLAIMABLE = or_(
    (Run.status == RunStatus.QUEUED) & (Run.due_at <= _AT) & ~_BUSY,
    (Run.status == RunStatus.RUNNING) & (Run.lease_expires_at <= _AT),  # its worker fell silent
)
_RESTED = (Run.reason != "answers") | Run.project_id.not_in(bindparam("resting", expanding=True))
_DUE = select(Run.id, Run.project_id).where(_CLAIMABLE, _RESTED).order_by(Run.due_at)
_STILL_DUE = select(Run).where(Run.id == bindparam("run"), _CLAIMABLE).with_for_update(skip_locked=True, of=Run)


def announce(session: Session, run: Run) -> None:
    """Tell open pages where the run stands."""
    events.record(session, run.project_id, ("run", {name: getattr(run, name) for name in TOLD}))


def claim_next(database: Database, lease_seconds: float, resting: Collection[int] = ()) -> Claim | None:
    """Claim a run that is due, or one whose worker fell silent; None if there is nothing to do.

    Runs that answers brought wait while their project rests.
    """
    with database.reading() as session:
        candidates = session.execute(_DUE, {"at": now(), "resting": list(resting)}).all()
    for run_id, project_id in candidates:
        with database.transaction() as session:
            project = lock_project(session, project_id)
            # Looked at again, now that nobody else can claim it.
            run = session.scalar(_STILL_DUE, {"run": run_id, "at": now()})
            if run is not None and _claim(session, project, run, lease_seconds):
                return Claim(run.id, project_id, run.token)
    return None


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
    """The first claim: what the run uses is pinned here and never changes again."""
    run.started_at = run.started_at or now()
    try:
        with session.no_autoflush:  # nothing that is read here depends on what is written
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
    features = latest_features(session, project.id)
    if features is None:
        raise Invalid(f"Project '{project.key}' has no features.")
    run.feature_set_id = features.id
    if run.reason != "request":
        run.algorithm = project.algorithm  # the settings may have changed while it waited
    if run.purpose != Purpose.COMPARISON:
        run.parameters = algorithms.resolve(project, run.algorithm, run.parameters, features.n)
        needs.check(session, project, run.algorithm, run.parameters)


def _sentence(problem: Problem) -> str:
    return " ".join([problem.detail, *(f"{e.field}: {e.detail}." for e in problem.errors)])


def take_up(database: Database, run_id: int, lease_seconds: float) -> Run | None:
    """The task's first act: raise the token and give the run as it is then. None: there is nothing to run."""
    # The project's row, for which answers wait, is not locked: only this run's row changes.
    mine = (Run.id == run_id) & (Run.status == RunStatus.RUNNING) & ~Run.cancel_requested
    lease = now() + timedelta(seconds=lease_seconds)
    taken = (
        update(Run)
        .where(mine, Run.attempts < MAX_ATTEMPTS)
        .values(token=Run.token + 1, attempts=Run.attempts + 1, lease_expires_at=lease)
        .returning(Run)
    )
    with database.transaction() as session:
        run = session.scalar(taken)
    if run is None:
        _end_if_over(database, run_id, lease_seconds)
    return run


def _end_if_over(database: Database, run_id: int, lease_seconds: float) -> None:
    """End a run that was cancelled or tried too often before its task began."""
    with database.transaction() as session:
        project_id = session.scalar(select(Run.project_id).where(Run.id == run_id))
        if project_id is None:
            return
        lock_project(session, project_id)
        run = session.execute(select(Run).where(Run.id == run_id).with_for_update()).scalar_one()
        if run.status == RunStatus.RUNNING:
            _take_over(session, run, lease_seconds)


def renew(database: Database, run_id: int, token: int, lease_seconds: float) -> bool:
    """Push the lease out; False: it is not ours any more."""
    with database.transaction() as session:
        lease = now() + timedelta(seconds=lease_seconds)
        renewed = session.execute(_guarded(run_id, token).values(lease_expires_at=lease).returning(Run.id))
        return renewed.first() is not None


def write(session: Session, run: Run, *happened: tuple[str, dict[str, Any]], **values: Any) -> None:
    """Write to the row and tell open pages, if this copy of the task still may.

    Otherwise raise Superseded, and so undo the transaction. What else `happened` is told as well.
    """
    told = {name: values.get(name, getattr(run, name)) for name in TOLD}
    # Events come first: their number locks the project, as every writer does before anything else.
    if not events.record(session, run.project_id, ("run", told), *happened):
        raise Superseded(run.id)
    changed = session.execute(_guarded(run.id, run.token).values(**values).returning(Run.id))
    if changed.first() is None:
        raise Superseded(run.id)
    for name, value in values.items():
        setattr(run, name, value)


def _lock(session: Session, run: Run) -> bool:
    """Lock the project, as every writer does first; False: it was deleted in the meantime."""
    locked = select(Project.id).where(Project.id == run.project_id).with_for_update(key_share=True)
    return session.scalar(locked) is not None


def _guarded(run_id: int, token: int) -> Any:
    mine = (Run.id == run_id) & (Run.token == token) & (Run.status == RunStatus.RUNNING)
    return update(Run).where(mine, ~Run.cancel_requested)


def end(session: Session, run: Run, status: RunStatus, error: str | None = None) -> None:
    """End a run without a result; the caller has locked its project and the run."""
    run.status, run.error, run.finished_at, run.lease_expires_at = status, error, now(), None
    session.flush()
    announce(session, run)


def end_mine(database: Database, run: Run, status: RunStatus, error: str | None = None) -> bool:
    """End the run from its task, unless another copy took over. A cancelled run ends cancelled, whatever else."""
    with database.transaction() as session:
        if not _lock(session, run):
            return False
        mine = (Run.id == run.id) & (Run.token == run.token) & (Run.status == RunStatus.RUNNING)
        row = session.scalar(select(Run).where(mine).with_for_update())
        if row is None or (status == RunStatus.CANCELLED and not row.cancel_requested):
            return False
        if row.cancel_requested:
            status, error = RunStatus.CANCELLED, None
        end(session, row, status, error)
        return True


def release(database: Database, run_id: int) -> None:
    """Let the lease lapse now: the worker is known to be gone."""
    with database.transaction() as session:
        running = (Run.id == run_id) & (Run.status == RunStatus.RUNNING)
        session.execute(update(Run).where(running).values(lease_expires_at=now()))
