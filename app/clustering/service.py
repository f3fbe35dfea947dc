"""What can be done with runs and their clusters: find, cancel, look at, name."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import event
from sqlalchemy.orm import Session

from app import events
from app.clustering import bell, claims, queries, results
from app.clustering.results import Array, Result
from app.clustering.schemas import BagLabelShare, ClusterItem, ClusterName, ClusterOut, RunOut
from app.errors import Conflict, NotFound
from app.items.queries import items_by_position
from app.models import ClusterNote, Project, Purpose, Run, RunStatus
from app.storage import Storage

SHOWN = 6


@dataclass(frozen=True)
class Resolution:
    """Another number of clusters in the same run, and how many items each has."""

    n_clusters: int
    sizes: list[int]


def find_run(session: Session, project: Project, name: str) -> Run:
    """Give a run by its number or `latest`, or say that there is none."""
    run = queries.find_run(session, project.id, name)
    if run is None:
        detail = (
            "No run is done yet." if name == "latest" else f"There is no run '{name}' in project '{project.key}'."
        )
        raise NotFound(detail)
    return run


def find_result(session: Session, project: Project, name: str) -> tuple[Run, str]:
    """Give a run that is done and the key of its result, or say why there is nothing to see."""
    run = find_run(session, project, name)
    if run.result is None:
        why = "it compares algorithms" if run.purpose == Purpose.COMPARISON else f"it is {run.status}"
        raise Conflict(f"Run {run.number} has no clusters: {why}.")
    return run, run.result


def find_resolutions(session: Session, storage: Storage, project: Project, name: str) -> tuple[str, bytes]:
    """Give the key of a run's result and its clusters of other numbers, or say why there are none."""
    run, key = find_result(session, project, name)
    found = results.load_resolutions(storage, key)
    if found is None:
        raise Conflict(f"Run {run.number} has clusters of one number only: SKLR finds them at every resolution.")
    return key, found


def resolutions(storage: Storage, run: RunOut, key: str) -> list[Resolution]:
    """Give the sizes of a run's clusters for every other number of them; empty if its algorithm has one number."""
    found = results.load_resolutions(storage, key) if "most_clusters" in run.metrics else None
    if found is None:
        return []
    rows = np.frombuffer(found, np.uint8).reshape(run.metrics["most_clusters"] - 1, -1)
    counted = (np.bincount(row, minlength=k + 1)[1:].tolist() for k, row in enumerate(rows, start=2))
    return [Resolution(k, sizes) for k, sizes in enumerate(counted, start=2)]


def cancel_run(session: Session, storage: Storage, project: Project, name: str) -> Run:
    """Cancel a run: one that waits at once, one that is computed as soon as its task looks."""
    queries.lock_project(session, project.id)
    run = find_run(session, project, name)
    session.refresh(run, with_for_update=True)
    if run.status == RunStatus.QUEUED:
        claims.end(session, run, RunStatus.CANCELLED)
        # No task will end a comparison that gave way and clear up after it.
        event.listen(session, "after_commit", lambda _: results.delete_checkpoints(storage, run), once=True)
    elif run.status == RunStatus.RUNNING:
        run.cancel_requested = True
    else:
        raise Conflict(f"Run {run.number} cannot be cancelled any more: it is {run.status}.")
    bell.ring_after_commit(session)
    return run


def clusters(session: Session, storage: Storage, project: Project, run: Run, key: str) -> list[ClusterOut]:
    """Give every cluster of a run with its typical and its least certain items."""
    result = results.load_cached(storage, key)
    points = results.coordinates(storage, key)
    picked = {cluster: _pick(result, points, cluster) for cluster in range(1, result.n_clusters + 1)}
    wanted = sorted({int(place) for lists in picked.values() for place in np.concatenate(lists)})
    items = {item.position: item for item in items_by_position(session, project.id, wanted)}
    notes = queries.cluster_notes(session, run)
    labels = run.metrics.get("cluster_labels", {})

    def shown(places: Array) -> list[ClusterItem]:
        confidence = result.confidence
        return [ClusterItem.of(project.key, items[int(i)], round(float(confidence[i]), 4)) for i in places]

    return [
        ClusterOut(
            cluster=cluster,
            name=notes[cluster].name if cluster in notes else "",
            note=notes[cluster].note if cluster in notes else "",
            bag_labels=[BagLabelShare(label=label, share=share) for label, share in labels.get(str(cluster), [])],
            exemplars=shown(exemplars),
            uncertain=shown(uncertain),
            **_figures(result, cluster),
        )
        for cluster, (exemplars, uncertain) in picked.items()
    ]


def _figures(result: Result, cluster: int) -> dict[str, Any]:
    confidence = result.confidence[result.labels == cluster]
    return {
        "size": len(confidence),
        "mean_confidence": round(float(confidence.mean()), 4) if len(confidence) else None,
    }


def _pick(result: Result, points: Array, cluster: int) -> tuple[Array, Array]:
    """Positions of typical items, central among the surer half, and of the least certain ones; none is both."""
    members = np.flatnonzero(result.labels == cluster)
    by_confidence = members[np.argsort(result.confidence[members], kind="stable")]
    uncertain = by_confidence[: min(SHOWN, len(members) // 2)]
    sure = by_confidence[len(members) // 2 :]
    distances = np.linalg.norm(points[sure] - np.median(points[sure], axis=0), axis=1) if len(sure) else sure
    return sure[np.argsort(distances, kind="stable")[:SHOWN]], uncertain


def name_cluster(
    session: Session, storage: Storage, project: Project, run_name: str, cluster: int, body: ClusterName
) -> ClusterNote:
    """Give a cluster a name and a note, from this run on."""
    run, key = find_result(session, project, run_name)
    n_clusters = results.load_cached(storage, key).n_clusters
    if not 1 <= cluster <= n_clusters:
        raise NotFound(f"There is no cluster {cluster} in run {run.number}: it has clusters 1 to {n_clusters}.")
    queries.lock_project(session, project.id)
    note = queries.note_of(session, run, cluster)
    if note is None:
        note = ClusterNote(project_id=project.id, run_id=run.id, cluster=cluster)
        session.add(note)
    note.name, note.note = body.name, body.note
    events.record(session, project.id, ("project", {"named": cluster}))
    return note
