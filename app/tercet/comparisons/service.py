"""Requests a comparison, reads it, and adopts a system."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from tercet.accounts.access import ROLE_MAY, Access, Action
from tercet.catalogue import algorithms
from tercet.catalogue.compared_systems import COMPARED, FOLDS, KMEANS, SEEDS, light_parameters
from tercet.comparisons import queries
from tercet.comparisons.schemas import TITLES, ComparisonOut
from tercet.errors import Conflict, FieldError, Invalid, NotFound
from tercet.items.queries import latest_features
from tercet.models import FeatureSet, Project, Purpose, Run, RunStatus
from tercet.projects.service import change_project
from tercet.runs import bag_labels, preconditions, schedule
from tercet.runs.queries import lock_project
from tercet.runs.schemas import RunOut

UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)


@dataclass(frozen=True)
class SystemChoice:
    """A system in the form; disabled if the project lacks something."""

    name: str
    title: str
    lacking: str  # what the project lacks, or empty


@dataclass(frozen=True)
class ComparisonsPage:
    """What the page of comparisons shows."""

    project: Project
    under_way: ComparisonOut | None
    failed: ComparisonOut | None
    done: ComparisonOut | None
    offered: list[SystemChoice]
    runs: list[RunOut]
    has_features: bool
    may_write: bool


def comparisons_page(session: Session, access: Access) -> ComparisonsPage:
    """Gather what the page of comparisons shows."""
    project = access.project
    newest, done = queries.newest(session, project), queries.newest(session, project, done=True)
    out = None if newest is None else ComparisonOut.of(newest)
    lacking = "" if bag_labels.have_labels(session, project.id) else "no bag has labels"
    return ComparisonsPage(
        project=project,
        under_way=out if out and out.status in UNDER_WAY else None,
        failed=out if out and out.status == RunStatus.FAILED else None,
        done=None if done is None else ComparisonOut.of(done),
        offered=[SystemChoice(name, TITLES[name], lacking if name == "bags" else "") for name in COMPARED],
        runs=[RunOut.of(run) for run in queries.recent_runs(session, project)],
        has_features=latest_features(session, project.id) is not None,
        may_write=Action.WRITE in ROLE_MAY[access.role],
    )


def latest(session: Session, project: Project) -> Run:
    """Return the newest comparison, whatever its status; raise NotFound if there is none."""
    run = queries.newest(session, project)
    if run is None:
        raise NotFound(f"Project '{project.key}' has no comparison yet.")
    return run


def request_comparison(session: Session, project: Project, systems: list[str] | None) -> Run:
    """Queue a comparison of these systems, or of all that the project can use."""
    features = latest_features(session, project.id)
    if features is None:
        raise Conflict(f"Project '{project.key}' has no features yet: upload features before comparing systems.")
    project = lock_project(session, project.id)
    before = queries.newest(session, project)
    if before is not None and before.status in UNDER_WAY:
        raise Conflict(f"A comparison is under way, run {before.number}: wait for it, or cancel it.")
    names = list(dict.fromkeys(_usable(session, project) if systems is None else systems))
    if unknown := [name for name in names if name not in COMPARED]:
        detail = f"'{unknown[0]}' cannot be compared; there are: {', '.join(COMPARED)}"
        raise Invalid("A system is not known.", [FieldError("systems", detail)])
    if len(names) < 2:
        raise Invalid("There is nothing to compare.", [FieldError("systems", "expected two systems or more")])
    chosen = {name: _parameters(session, project, name, features) for name in names}
    # The list keeps the order of the systems: PostgreSQL does not keep that of the names in an object.
    parameters: dict[str, Any] = {"systems": names, "parameters": chosen, "folds": FOLDS, "seeds": SEEDS}
    algorithm = next(name for name in names if name != KMEANS)
    return schedule.request_side_run(session, project, Purpose.COMPARISON, algorithm, parameters)


def use_system(session: Session, project: Project, system: str) -> Run:
    """Make a system the project's algorithm and start a run of it."""
    algorithms.find(system)
    if system != project.algorithm:
        change_project(session, project, {"algorithm": system})
    return schedule.request_run(session, project, reason="request")


def _usable(session: Session, project: Project) -> list[str]:
    return [name for name in COMPARED if name != "bags" or bag_labels.have_labels(session, project.id)]


def _parameters(session: Session, project: Project, system: str, features: FeatureSet) -> dict[str, Any]:
    """Return the project's own parameters where the system is its algorithm, else the defaults."""
    if system == KMEANS:
        return {"n_clusters": project.n_clusters}
    parameters = algorithms.resolve(project, system, {}, features.n)
    preconditions.check(session, project, system, parameters)
    if wanted := parameters.get("cluster_by"):
        parameters["cluster_by"] = preconditions.clustered_by(session, project, features, wanted)
    return light_parameters(system, parameters)
