"""When runs happen: the rerun rule, the one queued run that gathers all answers that come while it waits, and runs
beside it, which wait in a row.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Select, bindparam, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningInsert

from app.clustering import algorithms, bell, needs
from app.clustering.claims import announce
from app.clustering.queries import lock_project
from app.errors import Conflict
from app.items.queries import latest_features
from app.models import WAITING_FOR_ANSWERS, FeatureSet, Project, Purpose, Run, RunStatus, now

# Of the quiet that a project asks for so much may be missing when its run begins, whichever is less. Moved with every
# answer, a run's time would cost all answers a statement more for as long as it waits.
EARLY_SHARE, EARLY_SECONDS = 0.05, 1.0


@dataclass(frozen=True)
class Standing:
    """Where a project stands with its answers and the run that waits, read in one statement."""

    answers: int
    served: int
    has_features: bool
    waiting_since: datetime | None
    due_at: datetime | None


def answers_arrived(session: Session, project: Project, standing: Standing | None = None) -> None:
    """Apply the rerun rule; call in the transaction that locked the project's row, or raised its answer number.

    Where the project stands is read unless the caller has just done so.
    """
    standing = standing or _standing(session, project.id)
    if standing.has_features and standing.answers != standing.served:
        _queue(session, project, standing)


def answers_changed(session: Session, project: Project) -> None:
    """Queue a run as if an answer had just come: which of the stored answers runs use has changed."""
    standing = _standing(session, project.id)
    if standing.has_features:
        _queue(session, project, standing)


def _queue(session: Session, project: Project, standing: Standing) -> None:
    moment = now()
    due = due_at(standing, project, moment)
    early = timedelta(seconds=min(EARLY_SHARE * project.rerun_idle_seconds, EARLY_SECONDS))
    if standing.due_at is not None and standing.due_at <= due <= standing.due_at + early:
        return  # the project's row is ours, so that nobody can have claimed the run that waits
    run = _upsert(session, project, ("due_at",), due_at=due, algorithm=project.algorithm)
    if standing.waiting_since is None:
        announce(session, run)
    if due <= moment:
        bell.ring_after_commit(session)


def request_run(
    session: Session,
    project: Project,
    *,
    reason: str,
    algorithm: str | None = None,
    parameters: dict[str, Any] | None = None,
) -> Run:
    """Queue a run that is due now, or make the one that waits due now; the newest explicit choice counts."""
    features = latest_features(session, project.id)
    if features is None:
        raise Conflict(f"Project '{project.key}' has no features yet: upload features before starting a run.")
    chosen = algorithm or project.algorithm
    needs.check(session, project, chosen, algorithms.resolve(project, chosen, parameters or {}, features.n))
    lock_project(session, project.id)
    explicit = ("algorithm", "parameters") if algorithm or parameters else ()
    values = {"algorithm": chosen, "parameters": parameters or {}, "reason": reason, "due_at": now()}
    run = _upsert(session, project, ("due_at", "reason", *explicit), **values)
    announce(session, run)
    bell.ring_after_commit(session)
    return run


def request_beside(
    session: Session, project: Project, purpose: Purpose, algorithm: str, parameters: dict[str, Any], name: str = ""
) -> Run:
    """Queue a run that is not one of the project's own: a view or a comparison, due now. Several may wait."""
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
    bell.ring_after_commit(session)
    return run


def request_view(
    session: Session, project: Project, algorithm: str, parameters: dict[str, Any], name: str = ""
) -> Run:
    """Queue another clustering, which will stand beside the current one."""
    features = latest_features(session, project.id)
    if features is None:
        raise Conflict(f"Project '{project.key}' has no features yet: upload features before starting a run.")
    needs.check(session, project, algorithm, algorithms.resolve(project, algorithm, parameters, features.n))
    return request_beside(session, project, Purpose.VIEW, algorithm, parameters, name)


def add_done(session: Session, project: Project, source: Run, metrics: dict[str, Any]) -> Run:
    """Add a run of the project's own that has another run's result, as if it had just been computed."""
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


def due_at(standing: Standing, project: Project, moment: datetime) -> datetime:
    """Give the time at which the waiting run becomes due, were an answer to come at `moment`."""
    if standing.due_at is not None and standing.due_at <= moment:
        return standing.due_at
    if standing.answers - standing.served >= project.rerun_answers:
        return moment
    first = standing.waiting_since or moment
    idle, longest = project.rerun_idle_seconds, project.rerun_max_seconds
    return min(moment + timedelta(seconds=idle), first + timedelta(seconds=longest))


def _standing(session: Session, project_id: int) -> Standing:
    # Past the ORM, which has nothing to do for plain columns: every answer waits for this.
    return Standing(*session.connection().execute(STANDING, {"of_project": project_id}).one())


def _select_standing() -> Select[int, int, bool, datetime, datetime]:
    this: BindParameter[int] = bindparam("of_project")
    mine = (Run.project_id == this) & (Run.purpose == Purpose.CURRENT)
    runs = select(Run.answers_to).where(mine, Run.answers_to.is_not(None))
    served = runs.order_by(Run.number.desc()).limit(1).scalar_subquery()
    features = select(FeatureSet.id).where(FeatureSet.project_id == this).exists()
    waiting = (Run.project_id == Project.id) & (Run.status == RunStatus.QUEUED) & (Run.purpose == Purpose.CURRENT)
    return (
        select(Project.answer_number, func.coalesce(served, 0), features, Run.created_at, Run.due_at)
        .outerjoin(Run, waiting)
        .where(Project.id == this)
    )


def _upsert(session: Session, project: Project, changed: tuple[str, ...], **values: Any) -> Run:
    """Add the queued run, or change these columns of the one there is: the partial unique index allows only one."""
    statement = _upsert_statement(session.get_bind().dialect.name, changed)
    given = {"project_id": project.id, "of_project": project.id, **values}
    return session.scalars(statement, given, execution_options={"populate_existing": True}).one()


@cache
def _upsert_statement(dialect: str, changed: tuple[str, ...]) -> ReturningInsert[Run]:
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(Run).values(number=_next_number().scalar_subquery())
    # Written out, not as a parameter: psycopg prepares what it has run a few times, and PostgreSQL cannot match
    # a prepared plan's parameter with the index's condition.
    only_queued = text(WAITING_FOR_ANSWERS)
    merged = statement.on_conflict_do_update(
        index_elements=["project_id"],
        index_where=only_queued,
        set_={name: statement.excluded[name] for name in changed},
    )
    return merged.returning(Run)


def _next_number() -> Select[int]:
    return select(func.coalesce(func.max(Run.number), 0) + 1).where(Run.project_id == bindparam("of_project"))


# Every answer passes here, so the statements are built once.
STANDING = _select_standing()
