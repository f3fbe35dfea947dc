"""Finds another clustering, names a run, adopts one as the current clustering."""

from typing import Any

from sqlalchemy.orm import Session

from tercet.alternatives import queries
from tercet.alternatives.schemas import AnotherIn
from tercet.audit import chain
from tercet.errors import Conflict, FieldError, Invalid
from tercet.live import events
from tercet.models import ClusterNote, Project, Purpose, Run
from tercet.projects.service import change_project
from tercet.runs import lifecycle, results, schedule
from tercet.runs import service as runs
from tercet.runs.queries import cluster_notes, last_done, lock_project
from tercet.storage import Storage

ALGORITHM = "cmbc"
# An adopted clustering counts as the outcome of a search with at least so many answers: the fits that follow search for
# other clusters only when answers have doubled, so that a few of them do not overrule a person.
LEAST_SEARCHED = 100
# Metrics that compare a run with the one before, which an adopted clustering did not follow.
COMPARED_WITH_PREVIOUS = (
    *("items_moved", "prequential_answers", "prequential_accuracy", "seconds"),
    *("random_answers", "random_accuracy", "random_accuracy_interval", "random_expected"),
)


def find_another(session: Session, project: Project, run_name: str, body: AnotherIn) -> Run:
    """Queue a clustering that is unlike this run's, those of further runs and the columns of metadata."""
    run, _ = runs.find_result(session, project, run_name)
    numbers = list(dict.fromkeys([run.number, *body.known_runs]))
    columns = list(dict.fromkeys(body.known_columns))
    if faults := _unknown_runs(session, project, numbers) + _unknown_columns(session, project, columns):
        raise Invalid("Not everything is known that the clustering is to be unlike.", faults)
    parameters: dict[str, Any] = {
        "n_clusters": body.n_clusters or max(2, run.metrics.get("n_clusters", project.n_clusters)),
        "method": body.method,
        "known_runs": numbers,
        "known_columns": columns,
    }
    return schedule.request_alternative(session, project, ALGORITHM, parameters, body.name.strip())


def _unknown_runs(session: Session, project: Project, numbers: list[int]) -> list[FieldError]:
    existing = queries.runs_by_number(session, project.id, set(numbers))
    faults = []
    for number in numbers:
        if number not in existing:
            faults.append(FieldError("known_runs", f"there is no run {number}"))
        elif existing[number].result is None:
            faults.append(FieldError("known_runs", f"run {number} has no clusters: it is {existing[number].status}"))
    return faults


def _unknown_columns(session: Session, project: Project, columns: list[str]) -> list[FieldError]:
    existing = queries.grouping_columns(session, project.id) if columns else []
    listed = f"; there are: {', '.join(existing)}" if existing else ""
    fault = f"is no column of the items' metadata with 2 to {queries.MOST_VALUES} different values{listed}"
    return [FieldError("known_columns", f"'{name}' {fault}") for name in columns if name not in existing]


def name_run(session: Session, project: Project, run_name: str, name: str) -> Run:
    """Store the name of a run's clustering."""
    lock_project(session, project.id)
    run = runs.find_run(session, project, run_name)
    run.name = name.strip()
    events.record(session, project.id, ("project", {"named_run": run.number}))
    return run


def adopt(session: Session, storage: Storage, project: Project, run_name: str) -> Run:
    """Make a run's clustering the current one: a new run with the same result, from which the next one goes on.

    All answers so far count as used, so that the next run starts with new answers and not at once. To undo it, adopt
    the former clustering. A run that waits or is computed would go on from the former one, and end as an older run than
    this: it is cancelled.
    """
    project = lock_project(session, project.id)
    source, key = runs.find_result(session, project, run_name)
    current = last_done(session, project.id)
    if current is not None and current.result == key:
        raise Conflict(f"Run {current.number} is the current clustering already.")
    for waiting in queries.unfinished(session, project.id, Purpose.CURRENT):
        runs.cancel_run(session, storage, project, str(waiting.number))
    n_clusters = results.load_cached(storage, key).n_clusters
    run = schedule.add_adopted_run(session, project, source, _metrics(source, project, n_clusters))
    _copy_names(session, source, run, n_clusters)
    before = {} if current is None else {"run": current.number}
    chain.record(session, "clusters restored", project=project, before=before, after={"run": source.number})
    if project.n_clusters != n_clusters:
        change_project(session, project, {"n_clusters": n_clusters})
    lifecycle.announce(session, run)
    events.record(session, project.id, ("clusters", {"run": run.number}))
    return run


def _metrics(source: Run, project: Project, n_clusters: int) -> dict[str, Any]:
    metrics = {name: value for name, value in source.metrics.items() if name not in COMPARED_WITH_PREVIOUS}
    searched = max(LEAST_SEARCHED, project.answer_number)
    return {**metrics, "n_clusters": n_clusters, "searched_answers": searched, "adopted_from": source.number}


def _copy_names(session: Session, source: Run, run: Run, n_clusters: int) -> None:
    """Copy the names of clusters from the adopted run, empty ones too: newer names belong to other clusters."""
    names = cluster_notes(session, source)
    before = cluster_notes(session, run)
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
