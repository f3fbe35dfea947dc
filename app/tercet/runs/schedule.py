"""When runs start: the rerun rule, which queues one run for all answers that come while it waits, runs that people
request, and side runs (alternatives and comparisons), which queue one behind the other.

A queued run is claimed by a supervisor: `lifecycle.py` goes on from there.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Select, bindparam, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningInsert

from tercet.catalogue import algorithms
from tercet.jobs import wake_up
from tercet.models import WAITING_FOR_ANSWERS, FeatureSet, Project, ProjectView, Purpose, Run, RunStatus, now
from tercet.runs import preconditions
from tercet.runs.lifecycle import announce
from tercet.runs.queries import lock_project

# A run may start this much earlier than the project's idle time asks for, whichever is less: postponing it exactly
# would cost one more statement for each answer.
EARLY_SHARE, EARLY_SECONDS = 0.05, 1.0


@dataclass(frozen=True)
class Standing:
    """The input of the rerun rule: the project's answers and the waiting run, read by one statement."""

    answers: int  # the project's answer number
    served: int  # the answer number up to which the newest run used answers
    has_features: bool
    waiting_since: datetime | None  # of the queued run, if there is one
    due_at: datetime | None


def answers_arrived(session: Session, project: Project | ProjectView, standing: Standing | None = None) -> None:
    """Apply the rerun rule; call in the transaction that locked the project's row, or raised its answer number.

    `standing` is read here unless the caller has just read it.
    """
    standing = standing or _standing(session, project.id)
    if standing.answers != standing.served and _can_run(project, standing):
        _queue(session, project, standing)


def answers_changed(session: Session, project: Project) -> None:
    """Queue a run as if an answer had just arrived, because other stored answers count now."""
    standing = _standing(session, project.id)
    if _can_run(project, standing):
        _queue(session, project, standing)


def _can_run(project: Project | ProjectView, standing: Standing) -> bool:
    """Return whether there is something to cluster by: features, or enough answers to learn from where items lie."""
    enough = standing.answers >= preconditions.FEWEST_WITHOUT_FEATURES
    return standing.has_features or (enough and project.algorithm == preconditions.WITHOUT_FEATURES)


def _queue(session: Session, project: Project | ProjectView, standing: Standing) -> None:
    moment = now()
    due = due_at(standing, project, moment)
    early = timedelta(seconds=min(EARLY_SHARE * project.rerun_idle_seconds, EARLY_SECONDS))
    if standing.due_at is not None and standing.due_at <= due <= standing.due_at + early:
        return  # the project's row is locked, so nobody can have claimed the waiting run since
    run = _upsert(session, project, ("due_at",), due_at=due, algorithm=project.algorithm)
    if standing.waiting_since is None:
        announce(session, run)
    if due <= moment:
        wake_up.wake_after_commit(session)


def request_run(
    session: Session,
    project: Project,
    *,
    reason: str,
    algorithm: str | None = None,
    parameters: dict[str, Any] | None = None,
) -> Run:
    """Queue a run that is due now, or make the waiting one due now; the newest explicit choice counts."""
    chosen = algorithm or project.algorithm
    _check_request(session, project, chosen, parameters or {})
    lock_project(session, project.id)
    explicit = ("algorithm", "parameters") if algorithm or parameters else ()
    values = {"algorithm": chosen, "parameters": parameters or {}, "reason": reason, "due_at": now()}
    run = _upsert(session, project, ("due_at", "reason", *explicit), **values)
    announce(session, run)
    wake_up.wake_after_commit(session)
    return run


def _check_request(session: Session, project: Project, algorithm: str, parameters: dict[str, Any]) -> None:
    """Raise Conflict or Invalid if the project could not be fitted by the algorithm with these parameters."""
    _, n_items = preconditions.items_to_cluster(session, project, algorithm)
    preconditions.check(session, project, algorithm, algorithms.resolve(project, algorithm, parameters, n_items))


def request_side_run(
    session: Session, project: Project, purpose: Purpose, algorithm: str, parameters: dict[str, Any], name: str = ""
) -> Run:
    """Queue an alternative or a comparison, due now, beside the project's current clustering. Several may wait."""
    lock_project(session, project.id)
    run = Run(
        project_id=project.id,
        number=session.scalar(_next_number(), {"of_project": project.id}),
        purpose=purpose,
        name=name,
        algorithm=algorithm,
        parameters=parameters,
        reason="request",
        due_at=now(),
    )
    session.add(run)
    session.flush()
    announce(session, run)
    wake_up.wake_after_commit(session)
    return run


def request_alternative(
    session: Session, project: Project, algorithm: str, parameters: dict[str, Any], name: str = ""
) -> Run:
    """Queue an alternative to the current clustering."""
    _check_request(session, project, algorithm, parameters)
    return request_side_run(session, project, Purpose.ALTERNATIVE, algorithm, parameters, name)


def add_adopted_run(session: Session, project: Project, source: Run, metrics: dict[str, Any]) -> Run:
    """Add a finished run with the result of `source`, which so becomes the current clustering."""
    moment = now()
    run = Run(
        project_id=project.id,
        number=session.scalar(_next_number(), {"of_project": project.id}),
        name=source.name,
        algorithm=source.algorithm,
        parameters=source.parameters,
        feature_set_id=source.feature_set_id,
        status=RunStatus.DONE,
        reason="adopted",
        due_at=moment,
        progress=1.0,
        answers_from=project.answer_number,
        answers_to=project.answer_number,
        started_at=moment,
        finished_at=moment,
        metrics=metrics,
        result=source.result,
    )
    session.add(run)
    session.flush()
    return run


def due_at(standing: Standing, project: Project | ProjectView, moment: datetime) -> datetime:
    """Return the time at which the waiting run becomes due if an answer arrives at `moment`."""
    if standing.due_at is not None and standing.due_at <= moment:
        return standing.due_at
    if standing.answers - standing.served >= project.rerun_answers:
        return moment
    first = standing.waiting_since or moment
    idle, longest = project.rerun_idle_seconds, project.rerun_max_seconds
    return min(moment + timedelta(seconds=idle), first + timedelta(seconds=longest))


def _standing(session: Session, project_id: int) -> Standing:
    # Without the ORM, which has nothing to add to plain columns: every answer waits for this.
    return Standing(*session.connection().execute(STANDING, {"of_project": project_id}).one())


def _select_standing() -> Select[int, int, bool, datetime, datetime]:
    this: BindParameter[int] = bindparam("of_project")
    current = (Run.project_id == this) & (Run.purpose == Purpose.CURRENT)
    runs = select(Run.answers_to).where(current, Run.answers_to.is_not(None))
    served = runs.order_by(Run.number.desc()).limit(1).scalar_subquery()
    features = select(FeatureSet.id).where(FeatureSet.project_id == this).exists()
    waiting = (Run.project_id == Project.id) & (Run.status == RunStatus.QUEUED) & (Run.purpose == Purpose.CURRENT)
    return (
        select(Project.answer_number, func.coalesce(served, 0), features, Run.created_at, Run.due_at)
        .outerjoin(Run, waiting)
        .where(Project.id == this)
    )


def _upsert(session: Session, project: Project | ProjectView, changed: tuple[str, ...], **values: Any) -> Run:
    """Add the queued run, or update the `changed` columns of the existing one: a partial unique index allows one."""
    statement = _upsert_statement(session.get_bind().dialect.name, changed)
    parameters = {"project_id": project.id, "of_project": project.id, **values}
    return session.scalars(statement, parameters, execution_options={"populate_existing": True}).one()


@cache
def _upsert_statement(dialect: str, changed: tuple[str, ...]) -> ReturningInsert[Run]:
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(Run).values(number=_next_number().scalar_subquery())
    # As literal text, not as a parameter: psycopg prepares statements after a few executions, and PostgreSQL cannot
    # match a prepared plan's parameter with the index's condition.
    only_queued = text(WAITING_FOR_ANSWERS)
    merged = statement.on_conflict_do_update(
        index_elements=["project_id"],
        index_where=only_queued,
        set_={name: statement.excluded[name] for name in changed},
    )
    return merged.returning(Run)


def _next_number() -> Select[int]:
    return select(func.coalesce(func.max(Run.number), 0) + 1).where(Run.project_id == bindparam("of_project"))


# Every answer executes it, so it is built once.
STANDING = _select_standing()
