"""A grouping of a project's items, whichever kind it is: the clusters of a run, or the values of a column."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.clustering import results
from app.clustering.known import column_codes
from app.clustering.queries import cluster_notes
from app.clustering.results import Array
from app.items.queries import item_count
from app.models import Project, Run
from app.storage import Storage
from app.views.schemas import Group


@dataclass(frozen=True)
class Grouping:
    """Items in groups: the code of each item's group, -1 where it has none, and what the codes stand for."""

    title: str
    codes: Array  # (N,)
    groups: list[Group]
    run: int | None = None


def of_run(session: Session, storage: Storage, run: Run, key: str) -> Grouping:
    """Give a run's clusters with the names that people gave them."""
    labels = results.clusters_of(storage, key)
    notes = cluster_notes(session, run)
    count = max(int(run.metrics.get("n_clusters", 0)), int(labels.max(initial=0)))
    names = [notes[number].name if number in notes else "" for number in range(1, count + 1)]
    groups = [Group(cluster=number, name=name) for number, name in enumerate(names, start=1)]
    return Grouping(title(run.number, run.name), labels - 1, groups, run.number)


def of_column(session: Session, project: Project, name: str) -> Grouping:
    """Give the values of a column of metadata."""
    codes, values = column_codes(session, project.id, name, item_count(session, project.id))
    return Grouping(name, codes, [Group(cluster=None, name=value) for value in values])


def title(number: int, name: str) -> str:
    """Say a run as people know it."""
    return f"run {number}, {name}" if name else f"run {number}"
