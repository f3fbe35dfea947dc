"""What can be done with views: find another clustering, name a run, make one the current clustering."""

from typing import Any

from sqlalchemy.orm import Session

from app import events
from app.clustering import claims, results, schedule
from app.clustering import queries as runs
from app.clustering import service as clustering
from app.errors import Conflict, FieldError, Invalid
from app.models import ClusterNote, Project, Run
from app.projects.service import change_project
from app.storage import Storage
from app.views import queries
from app.views.schemas import AnotherIn

ALGORITHM = "cmbc"
# Fewer answers than twice this do not overrule a person: the fits that follow search no other clusters before.
SETTLED = 100
# Figures that tell of the step from the run before, which an adopted clustering did not take.
OF_THE_STEP = ("items_moved", "prequential_answers", "prequential_accuracy", "seconds")


def find_another(session: Session, project: Project, run_name: str, wanted: AnotherIn) -> Run:
    """Queue a clustering that is unlike this run's, the others named and the columns of metadata."""
    run, _ = clustering.find_result(session, project, run_name)
    numbers = list(dict.fromkeys([run.number, *wanted.known_runs]))
    columns = list(dict.fromkeys(wanted.known_columns))
    if faults := _unknown_runs(session, project, numbers) + _unknown_columns(session, project, columns):
        raise Invalid("Not everything is known that the clustering is to be unlike.", faults)
    parameters: dict[str, Any] = {
        "n_clusters": wanted.n_clusters or max(2, run.metrics.get("n_clusters", project.n_clusters)),
        "method": wanted.method,
        "known_runs": numbers,
        "known_columns": columns,
    }
    return schedule.request_view(session, project, ALGORITHM, parameters, wanted.name.strip())


def _unknown_runs(session: Session, project: Project, numbers: list[int]) -> list[FieldError]:
    found = queries.runs_by_number(session, project.id, set(numbers))
    faults = []
    for number in numbers:
        if number not in found:
            faults.append(FieldError("known_runs", f"there is no run {number}"))
        elif found[number].result is None:
            faults.append(FieldError("known_runs", f"run {number} has no clusters: it is {found[number].status}"))
    return faults


def _unknown_columns(session: Session, project: Project, columns: list[str]) -> list[FieldError]:
    offered = queries.columns(session, project.id) if columns else []
    there = f"; there are: {', '.join(offered)}" if offered else ""
    wrong = f"is no column of the items' metadata with 2 to {queries.MOST_VALUES} different values{there}"
    return [FieldError("known_columns", f"'{name}' {wrong}") for name in columns if name not in offered]


def name_run(session: Session, project: Project, run_name: str, name: str) -> Run:
    """Give a run the name that people call its clustering by."""
    runs.lock_project(session, project.id)
    run = clustering.find_run(session, project, run_name)
    run.name = name.strip()
    events.record(session, project.id, ("project", {"named_run": run.number}))
    return run


def adopt(session: Session, storage: Storage, project: Project, run_name: str) -> Run:
    """Make a run's clustering the current one: a new run with the same result, from which the next one goes on.

    It counts as having served all answers so far, so that the next run comes with the next answers and not at once.
    Adopting the former clustering is the way back.
    """
    project = runs.lock_project(session, project.id)
    source, key = clustering.find_result(session, project, run_name)
    current = runs.last_done(session, project.id)
    if current is not None and current.result == key:
        raise Conflict(f"Run {current.number} is the current clustering already.")
    n_clusters = results.load_cached(storage, key).n_clusters
    run = schedule.add_done(session, project, source, _metrics(source, project, n_clusters))
    _carry_names(session, source, run, n_clusters)
    if project.n_clusters != n_clusters:
        change_project(session, project, {"n_clusters": n_clusters})
    claims.announce(session, run)
    events.record(session, project.id, ("clusters", {"run": run.number}))
    return run


def _metrics(source: Run, project: Project, n_clusters: int) -> dict[str, Any]:
    kept = {name: value for name, value in source.metrics.items() if name not in OF_THE_STEP}
    searched = max(SETTLED, project.answer_number)
    return {**kept, "n_clusters": n_clusters, "searched_answers": searched, "adopted_from": source.number}


def _carry_names(session: Session, source: Run, run: Run, n_clusters: int) -> None:
    """Give every cluster its name in the adopted run, even none: names since then belong to other clusters."""
    names = runs.cluster_notes(session, source)
    before = runs.cluster_notes(session, run)
    for cluster in sorted({*names, *before}):
        note = names.get(cluster)
        session.add(
            ClusterNote(
                project_id=run.project_id,
                run_id=run.id,
                cluster=cluster,
                name=note.name if note and cluster <= n_clusters else "",
                note=note.note if note and cluster <= n_clusters else "",
            )
        )
    session.flush()
