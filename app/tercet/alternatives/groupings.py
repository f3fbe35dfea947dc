"""Groupings of a project's items: the clusters of a run, or the values of a column of metadata."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from tercet.alternatives import queries
from tercet.alternatives.contingency import UNKNOWN, Relation, relate
from tercet.alternatives.schemas import Group
from tercet.errors import NotFound
from tercet.items.queries import item_count
from tercet.models import Project, Run
from tercet.runs import results, service
from tercet.runs.known_clusterings import column_codes
from tercet.runs.queries import cluster_notes
from tercet.runs.results import Array
from tercet.storage import Storage


@dataclass(frozen=True)
class Grouping:
    """The code of each item's group, -1 where it has none, and the groups that the codes stand for."""

    title: str
    codes: Array  # (N,)
    groups: list[Group]
    run: int | None = None

    def relate_to(self, columns: "Grouping") -> Relation:
        """Return the relation of this grouping, in rows, to another one, in columns."""
        return relate(self.codes, columns.codes, (len(self.groups), len(columns.groups)))


def find(session: Session, storage: Storage, project: Project, name: str) -> Grouping:
    """Return the clusters of a run by its number or `latest`, or the values of a column; raise NotFound otherwise."""
    if name == "latest" or name.isdecimal():
        return of_run(session, storage, *service.find_result(session, project, name))
    if name not in queries.grouping_columns(session, project.id):
        raise NotFound(f"There is neither a run nor a column of metadata '{name}' to compare with.")
    return of_column(session, project, name)


def of_run(session: Session, storage: Storage, run: Run, key: str) -> Grouping:
    """Return a run's clusters with the names that people gave them."""
    labels = results.clusters_of(storage, key)
    notes = cluster_notes(session, run)
    count = max(int(run.metrics.get("n_clusters", 0)), int(labels.max(initial=0)))
    names = [notes[number].name if number in notes else "" for number in range(1, count + 1)]
    groups = [Group(cluster=number, name=name) for number, name in enumerate(names, start=1)]
    return Grouping(title(run.number, run.name), np.maximum(labels - 1, UNKNOWN), groups, run.number)


def of_column(session: Session, project: Project, name: str) -> Grouping:
    """Return the values of a column of metadata."""
    codes, values = column_codes(session, project.id, name, item_count(session, project.id))
    return Grouping(name, codes, [Group(cluster=None, name=value) for value in values])


def title(number: int, name: str) -> str:
    """Return a run's number and name as a title."""
    return f"run {number}, {name}" if name else f"run {number}"
