"""What can be done with comparisons: ask for one, look at it, use the system that it recommends."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.accounts.access import ROLE_MAY, Access, Action
from app.clustering import algorithms, bags, needs, schedule
from app.clustering.queries import lock_project
from app.clustering.schemas import RunOut
from app.clustering.systems import COMPARED, FOLDS, KMEANS, SEEDS, lightly
from app.comparing import queries
from app.comparing.schemas import TITLES, ComparisonOut
from app.errors import Conflict, FieldError, Invalid, NotFound
from app.items.queries import latest_features
from app.models import Project, Purpose, Run, RunStatus
from app.projects.service import change_project

UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)


@dataclass(frozen=True)
class Offered:
    """A system that the form offers, or why it does not."""

    name: str
    title: str
    lacking: str


@dataclass(frozen=True)
class View:
    """What the page shows."""

    project: Project
    under_way: ComparisonOut | None
    failed: ComparisonOut | None
    done: ComparisonOut | None
    offered: list[Offered]
    runs: list[RunOut]
    has_features: bool
    may_write: bool


def view(session: Session, access: Access) -> View:
    """Gather the page."""
    project = access.project
    newest, done = queries.newest(session, project), queries.newest(session, project, done=True)
    shown = None if newest is None else ComparisonOut.of(newest)
    lacking = "" if bags.have_labels(session, project.id) else "no bag has labels"
    return View(
        project=project,
        under_way=shown if shown and shown.status in UNDER_WAY else None,
        failed=shown if shown and shown.status == RunStatus.FAILED else None,
        done=None if done is None else ComparisonOut.of(done),
        offered=[Offered(name, TITLES[name], lacking if name == "bags" else "") for name in COMPARED],
        runs=[RunOut.of(run) for run in queries.recent_runs(session, project)],
        has_features=latest_features(session, project.id) is not None,
        may_write=Action.WRITE in ROLE_MAY[access.role],
    )


def latest(session: Session, project: Project) -> Run:
    """Give the newest comparison, whatever its status, or say that there is none."""
    found = queries.newest(session, project)
    if found is None:
        raise NotFound(f"Project '{project.key}' has no comparison yet.")
    return found


def request(session: Session, project: Project, systems: list[str] | None) -> Run:
    """Queue a comparison of these systems, or of all that the project can use."""
    features = latest_features(session, project.id)
    if features is None:
        raise Conflict(f"Project '{project.key}' has no features yet: upload features before comparing systems.")
    project = lock_project(session, project.id)
    before = queries.newest(session, project)
    if before is not None and before.status in UNDER_WAY:
        raise Conflict(f"A comparison is under way, run {before.number}: wait for it, or cancel it.")
    names = list(dict.fromkeys(_usable(session, project) if systems is None else systems))
    if wrong := [name for name in names if name not in COMPARED]:
        detail = f"'{wrong[0]}' cannot be compared; there are: {', '.join(COMPARED)}"
        raise Invalid("A system is not known.", [FieldError("systems", detail)])
    if len(names) < 2:
        raise Invalid("There is nothing to compare.", [FieldError("systems", "expected two systems or more")])
    chosen = {name: _parameters(session, project, name, features.n) for name in names}
    # A list tells their order: PostgreSQL keeps that of an object's names to itself.
    parameters: dict[str, Any] = {"systems": names, "parameters": chosen, "folds": FOLDS, "seeds": SEEDS}
    algorithm = next(name for name in names if name != KMEANS)
    return schedule.request_beside(session, project, Purpose.COMPARISON, algorithm, parameters)


def use(session: Session, project: Project, system: str) -> Run:
    """Make a system the project's algorithm and start a run of it."""
    algorithms.find(system)
    if system != project.algorithm:
        change_project(session, project, {"algorithm": system})
    return schedule.request_run(session, project, reason="request")


def _usable(session: Session, project: Project) -> list[str]:
    return [name for name in COMPARED if name != "bags" or bags.have_labels(session, project.id)]


def _parameters(session: Session, project: Project, system: str, n_items: int) -> dict[str, Any]:
    """The project's own where the system is its algorithm, else the defaults."""
    if system == KMEANS:
        return {"n_clusters": project.n_clusters}
    found = algorithms.resolve(project, system, {}, n_items)
    needs.check(session, project, system, found)
    return lightly(system, found)
