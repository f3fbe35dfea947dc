"""What can be done with runs and their clusters: find, cancel, describe, name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import event
from sqlalchemy.orm import Session

from tercet.errors import Conflict, FieldError, Invalid, NotFound
from tercet.items.queries import items_by_position
from tercet.jobs import wake_up
from tercet.live import events
from tercet.models import ClusterNote, Project, Purpose, Run, RunStatus
from tercet.runs import confusion, lifecycle, queries, results
from tercet.runs.in_use import labels_in_use
from tercet.runs.results import Array, Result
from tercet.runs.schemas import BagLabelShare, ClusterItem, ClusterName, ClusterOut, RunOut
from tercet.runs.typical import typical_items
from tercet.storage import Storage

MOST_BETWEEN = 500
MOST_EXAMPLES = 6  # items of each cluster, typical ones and least certain ones


@dataclass(frozen=True)
class Resolution:
    """The sizes of a run's clusters when cut into another number of them."""

    n_clusters: int
    sizes: list[int]


def find_run(session: Session, project: Project, name: str) -> Run:
    """Return a run by its number or `latest`; raise NotFound if there is none."""
    run = queries.find_run(session, project.id, name)
    if run is None:
        detail = "No run is done yet." if name == "latest" else f"There is no run '{name}' in project '{project.key}'."
        raise NotFound(detail)
    return run


def find_result(session: Session, project: Project, name: str) -> tuple[Run, str]:
    """Return a run with clusters and the key of its result; raise Conflict if it has none."""
    run = find_run(session, project, name)
    if run.result is None:
        reason = "it compares algorithms" if run.purpose == Purpose.COMPARISON else f"it is {run.status}"
        raise Conflict(f"Run {run.number} has no clusters: {reason}.")
    return run, run.result


def positions_in_cluster(session: Session, storage: Storage, project: Project, cluster: int) -> list[int]:
    """Return the positions of the items in a cluster of the newest run; raise Invalid if it has no such cluster."""
    run, key = find_result(session, project, "latest")
    result = results.load_cached(storage, key)
    if not 1 <= cluster <= result.n_clusters:
        fault = f"run {run.number} has the clusters 1 to {result.n_clusters}"
        raise Invalid("There is no such cluster.", [FieldError("cluster", fault)])
    return [int(position) for position in np.flatnonzero(result.labels == cluster)]


def find_resolutions(session: Session, storage: Storage, project: Project, name: str) -> tuple[str, bytes]:
    """Return the key of a run's result and its stored resolutions; raise Conflict if it has none."""
    run, key = find_result(session, project, name)
    stored = results.load_resolutions(storage, key)
    if stored is None:
        raise Conflict(f"Run {run.number} has clusters of one number only: SKLR finds them at every resolution.")
    return key, stored


def resolutions(storage: Storage, run: RunOut, key: str) -> list[Resolution]:
    """Return the sizes of a run's clusters at every resolution; empty if its algorithm has one number of clusters."""
    stored = results.load_resolutions(storage, key) if "most_clusters" in run.metrics else None
    if stored is None:
        return []
    labels = np.frombuffer(stored, np.uint8).reshape(run.metrics["most_clusters"] - 1, -1)
    return [Resolution(k, np.bincount(row, minlength=k + 1)[1:].tolist()) for k, row in enumerate(labels, start=2)]


def cancel_run(session: Session, storage: Storage, project: Project, name: str) -> Run:
    """Cancel a run: a queued one at once, a running one at its task's next checkpoint."""
    queries.lock_project(session, project.id)
    run = find_run(session, project, name)
    session.refresh(run, with_for_update=True)
    if run.status == RunStatus.QUEUED:
        lifecycle.end(session, run, RunStatus.CANCELLED)
        # A comparison that gave way to another run has checkpoints, and no task will delete them any more.
        event.listen(session, "after_commit", lambda _: results.delete_checkpoints(storage, run), once=True)
    elif run.status == RunStatus.RUNNING:
        run.cancel_requested = True
    else:
        raise Conflict(f"Run {run.number} cannot be cancelled any more: it is {run.status}.")
    wake_up.wake_after_commit(session)
    return run


def clusters(
    session: Session, storage: Storage, project: Project, run: Run, key: str, passing: Sequence[int] | None = None
) -> list[ClusterOut]:
    """Return every cluster of a run with its typical and its least certain items.

    `passing` are the positions of the only items to count and to show; None: all of them.
    """
    stored = results.load_cached(storage, key)
    result = replace(stored, labels=labels_in_use(session, project.id, stored.labels))
    if passing is not None:
        is_passing = np.isin(np.arange(len(result.labels)), passing)
        result = replace(result, labels=np.where(is_passing, result.labels, -1))
    coordinates = results.coordinates(storage, key)
    typical = typical_items(session, project.id)
    examples = {
        cluster: _examples(result, coordinates, cluster, typical) for cluster in range(1, result.n_clusters + 1)
    }
    positions = sorted({int(position) for arrays in examples.values() for position in np.concatenate(arrays)})
    items = {item.position: item for item in items_by_position(session, project.id, positions)}
    notes = queries.cluster_notes(session, run)
    labels = run.metrics.get("cluster_labels", {})
    words = run.metrics.get("cluster_words", {})

    def describe(positions: Array) -> list[ClusterItem]:
        confidence = result.confidence
        return [
            ClusterItem.of(
                project.key, items[i], confidence=round(float(confidence[i]), 4), called_typical=i in typical
            )
            for i in positions.tolist()
        ]

    return [
        ClusterOut(
            cluster=cluster,
            name=notes[cluster].name if cluster in notes else "",
            note=notes[cluster].note if cluster in notes else "",
            bag_labels=[BagLabelShare(label=label, share=share) for label, share in labels.get(str(cluster), [])],
            words=words.get(str(cluster), []),
            exemplars=describe(exemplars),
            uncertain=describe(uncertain),
            **_figures(result, cluster),
        )
        for cluster, (exemplars, uncertain) in examples.items()
    ]


def items_between(
    session: Session, storage: Storage, project: Project, run: Run, key: str, clusters: tuple[int, int]
) -> list[ClusterItem]:
    """Return up to 500 items that lie between two clusters of a run, the most doubtful first."""
    stored = results.load_cached(storage, key)
    beyond = [cluster for cluster in clusters if not 1 <= cluster <= stored.n_clusters]
    if beyond:
        raise _no_cluster(run, beyond[0], stored.n_clusters)
    result = replace(stored, labels=labels_in_use(session, project.id, stored.labels))
    positions = confusion.items_between(result, *clusters)[:MOST_BETWEEN].tolist()
    return [
        ClusterItem.of(project.key, item, confidence=round(float(result.confidence[item.position]), 4))
        for item in items_by_position(session, project.id, positions)
    ]


def _figures(result: Result, cluster: int) -> dict[str, Any]:
    confidence = result.confidence[result.labels == cluster]
    return {
        "size": len(confidence),
        "mean_confidence": round(float(confidence.mean()), 4) if len(confidence) else None,
    }


def _examples(result: Result, coordinates: Array, cluster: int, called: Array) -> tuple[Array, Array]:
    """Return positions of typical items and of the least certain ones; none is both.

    Typical are those that analysts call so, then the central ones of the surer half of the others.
    """
    known = called[called < len(result.labels)]
    first = known[result.labels[known] == cluster][:MOST_EXAMPLES]
    members = np.setdiff1d(np.flatnonzero(result.labels == cluster), first)
    by_confidence = members[np.argsort(result.confidence[members], kind="stable")]
    uncertain = by_confidence[: min(MOST_EXAMPLES, len(members) // 2)]
    sure = by_confidence[len(members) // 2 :]
    points = coordinates[sure]
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1) if len(sure) else sure
    central = sure[np.argsort(distances, kind="stable")[: MOST_EXAMPLES - len(first)]]
    return np.concatenate([first, central]), uncertain


def _no_cluster(run: Run, cluster: int, n_clusters: int) -> NotFound:
    return NotFound(f"There is no cluster {cluster} in run {run.number}: it has clusters 1 to {n_clusters}.")


def name_cluster(
    session: Session, storage: Storage, project: Project, run_name: str, cluster: int, body: ClusterName
) -> ClusterNote:
    """Store a cluster's name and note, which hold from this run on."""
    run, key = find_result(session, project, run_name)
    n_clusters = results.load_cached(storage, key).n_clusters
    if not 1 <= cluster <= n_clusters:
        raise _no_cluster(run, cluster, n_clusters)
    queries.lock_project(session, project.id)
    note = queries.note_of(session, run, cluster)
    if note is None:
        note = ClusterNote(project_id=project.id, run_id=run.id, cluster=cluster)
        session.add(note)
    note.name, note.note = body.name, body.note
    events.record(session, project.id, ("project", {"named": cluster}))
    return note
