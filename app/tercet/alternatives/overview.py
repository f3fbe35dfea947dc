"""Gathers the data of the run page, its contingency table with another grouping, and the list of alternatives."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from tercet.accounts.access import ROLE_MAY, Access, Action
from tercet.alternatives import groupings, queries
from tercet.alternatives.contingency import Relation, sentence
from tercet.alternatives.groupings import Grouping
from tercet.alternatives.schemas import AlternativeList, AlternativeOut, Contingency
from tercet.alternatives.score_curve import Curve, curve_of
from tercet.catalogue import forms
from tercet.models import FeatureSet, Project, Purpose, Run
from tercet.runs import known_clusterings
from tercet.runs import service as runs
from tercet.runs.queries import last_done
from tercet.runs.schemas import ClusterOut, RunOut
from tercet.storage import Storage

# A table with more cells is not drawn: nobody would read it.
MOST_CELLS = 2_500


@dataclass(frozen=True)
class AnotherForm:
    """The form "find another clustering" of a run: further runs and columns of metadata to be unlike."""

    run: RunOut
    others: list[AlternativeOut]
    columns: list[str]


@dataclass(frozen=True)
class ContingencyTable:
    """The relation of a grouping, in rows, to a run's clusters, in columns, as the run's page draws it."""

    grouping: Grouping
    run: RunOut | None  # where the grouping is that of a run
    relation: Relation
    sentence: str
    rows: list[Any]
    columns: list[Any]
    is_small: bool


@dataclass(frozen=True)
class RunPage:
    """What a run's page shows."""

    project: Project
    run: RunOut
    is_current: bool
    current: RunOut | None
    former: RunOut | None  # what was current before this run was adopted
    clusters: list[ClusterOut]
    resolutions: list[runs.Resolution]
    contingency: ContingencyTable | None
    groupings: list[tuple[str, str]]  # what it can be related to: name in the address, title
    another: AnotherForm | None
    curve: Curve | None  # where the number of clusters was chosen
    parameters: list[tuple[str, str]]
    features: FeatureSet | None  # what it was made from
    may_write: bool


def contingency(session: Session, storage: Storage, project: Project, run_name: str, grouping: str) -> Contingency:
    """Relate a run's clusters to those of another run, by its number or `latest`, or to a column of metadata."""
    run, key = runs.find_result(session, project, run_name)
    rows, columns = groupings.of_run(session, storage, run, key), groupings.find(session, storage, project, grouping)
    relation = rows.relate_to(columns)
    return Contingency(
        run=run.number,
        grouping=grouping,
        rows=rows.groups,
        columns=columns.groups,
        counts=relation.counts.tolist(),
        items=relation.items,
        information_bits=relation.information,
        chance_bits=relation.chance,
        entropy_bits=relation.entropies,
        nmi=relation.nmi,
        shared=relation.shared,
        sentence=sentence(relation),
    )


def list_alternatives(session: Session, storage: Storage, project: Project) -> AlternativeList:
    """Return each distinct clustering once, oldest first, and what each shares with each."""
    distinct = _distinct_runs(session, project)
    clusterings = [groupings.of_run(session, storage, run, str(run.result)) for run in distinct]
    size = len(distinct)
    bits, nmi, shared = (np.eye(size) for _ in range(3))
    for a in range(size):
        for b in range(a, size):
            relation = clusterings[a].relate_to(clusterings[b])
            bits[a, b] = bits[b, a] = relation.information
            if a != b:
                nmi[a, b] = nmi[b, a] = relation.nmi
                shared[a, b] = shared[b, a] = relation.shared
    current = last_done(session, project.id)
    listed = [_alternative(run, current) for run in distinct]
    return AlternativeList(clusterings=listed, information_bits=bits.tolist(), nmi=nmi.tolist(), shared=shared.tolist())


def _distinct_runs(session: Session, project: Project) -> list[Run]:
    """Return the current clustering, alternatives, named runs and the runs that alternatives differ from, oldest first.

    Of runs with the same result the first one stands for all, but the current one before any other.
    """
    current = last_done(session, project.id)
    listed = queries.listed_runs(session, project.id)
    unlike = {number for run in listed if run.purpose == Purpose.ALTERNATIVE for number in run.parameters["known_runs"]}
    further = queries.runs_by_number(session, project.id, unlike - {run.number for run in listed}).values()
    by_number = sorted([*listed, *further], key=lambda run: run.number)
    run_of_result = {run.result: run for run in reversed(by_number) if run.result}
    if current is not None and current.result:
        run_of_result[current.result] = current
    return sorted(run_of_result.values(), key=lambda run: run.number)


def _alternative(run: Run, current: Run | None) -> AlternativeOut:
    return AlternativeOut(
        number=run.number,
        name=run.name,
        current=current is not None and run.id == current.id,
        purpose=run.purpose,
        algorithm=run.algorithm,
        n_clusters=run.metrics.get("n_clusters", 0),
        known=known_clusterings.names(run.parameters) if "known_runs" in run.parameters else [],
        finished_at=run.finished_at,
    )


def run_page(session: Session, storage: Storage, access: Access, run_name: str, grouping: str | None) -> RunPage:
    """Gather what a run's page shows; `grouping` is the one that a person chose to relate it to."""
    project = access.project
    run = runs.find_run(session, project, run_name)
    out = RunOut.of(run)
    current = last_done(session, project.id)
    others = _others(session, project, run, current)
    columns = queries.grouping_columns(session, project.id) if run.result else []
    grouping = grouping or _first_known(run, current)
    return RunPage(
        project=project,
        run=out,
        is_current=current is not None and current.result == run.result,
        current=RunOut.of(current) if current else None,
        former=_former(session, run) if run.reason == "adopted" else None,
        clusters=runs.clusters(session, storage, project, run, run.result) if run.result else [],
        resolutions=runs.resolutions(storage, out, run.result) if run.result else [],
        contingency=_contingency_table(session, storage, project, run, grouping) if run.result and grouping else None,
        groupings=_groupings(others, columns),
        another=AnotherForm(out, others, columns) if run.result else None,
        curve=curve_of(out),
        parameters=forms.describe(run.algorithm, run.parameters),
        features=session.get(FeatureSet, run.feature_set_id) if run.feature_set_id else None,
        may_write=Action.WRITE in ROLE_MAY[access.role],
    )


def _groupings(others: list[AlternativeOut], columns: list[str]) -> list[tuple[str, str]]:
    runs = [(str(other.number), groupings.title(other.number, other.name)) for other in others]
    return runs + [(name, name) for name in columns]


def _others(session: Session, project: Project, run: Run, current: Run | None) -> list[AlternativeOut]:
    """Return the distinct clusterings other than that of the run."""
    return [_alternative(row, current) for row in _distinct_runs(session, project) if row.result != run.result]


def _former(session: Session, run: Run) -> RunOut | None:
    before = last_done(session, run.project_id, before=run.number)
    return RunOut.of(before) if before is not None and before.result != run.result else None


def _first_known(run: Run, current: Run | None) -> str | None:
    """Return the first run that an alternative was to differ from, else the current one."""
    if run.purpose != Purpose.ALTERNATIVE:
        return None
    numbers = run.parameters.get("known_runs", [])
    return str(numbers[0]) if numbers else (str(current.number) if current else None)


def _contingency_table(session: Session, storage: Storage, project: Project, run: Run, name: str) -> ContingencyTable:
    grouping = groupings.find(session, storage, project, name)
    clusters = groupings.of_run(session, storage, run, str(run.result))
    relation = grouping.relate_to(clusters)
    return ContingencyTable(
        grouping=grouping,
        run=None if grouping.run is None else RunOut.of(runs.find_run(session, project, str(grouping.run))),
        relation=relation,
        sentence=sentence(relation),
        rows=grouping.groups,
        columns=clusters.groups,
        is_small=relation.counts.size <= MOST_CELLS,
    )


def another_form_for_current(session: Session, project: Project) -> AnotherForm | None:
    """Return the form that finds an alternative to the current clustering; None while there is none."""
    current = last_done(session, project.id)
    if current is None:
        return None
    columns = queries.grouping_columns(session, project.id)
    return AnotherForm(RunOut.of(current), _others(session, project, current, current), columns)
