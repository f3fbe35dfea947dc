"""Gathers what is shown of views: one run beside another grouping, and the series with what each shares with each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from app.accounts.access import ROLE_MAY, Access, Action
from app.clustering import forms, known
from app.clustering import queries as runs
from app.clustering import service as clustering
from app.clustering.schemas import ClusterOut, RunOut
from app.errors import NotFound
from app.models import Project, Purpose, Run
from app.storage import Storage
from app.views import groupings, queries
from app.views.curve import Curve, curve_of
from app.views.groupings import Grouping
from app.views.relation import Relation, relate, sentence
from app.views.schemas import Contingency, ViewList, ViewOut

# A table of more cells is for programs: nobody reads it.
MOST_CELLS = 2_500


@dataclass(frozen=True)
class Offer:
    """What the form "find another clustering" offers for one run."""

    run: RunOut
    others: list[ViewOut]
    columns: list[str]


@dataclass(frozen=True)
class Beside:
    """A run beside another grouping; `rows` are the other's groups, `columns` the run's."""

    other: Grouping
    run: RunOut | None  # where the other is a run
    relation: Relation
    sentence: str
    rows: list[Any]
    columns: list[Any]
    is_small: bool


@dataclass(frozen=True)
class Seen:
    """What a run's page shows."""

    project: Project
    run: RunOut
    is_current: bool
    current: RunOut | None
    former: RunOut | None  # what was current before this run was adopted
    clusters: list[ClusterOut]
    resolutions: list[clustering.Resolution]
    beside: Beside | None
    sides: list[tuple[str, str]]  # what it can be put beside: address, title
    offer: Offer | None
    curve: Curve | None  # where the number of clusters was chosen
    parameters: list[tuple[str, str]]
    may_write: bool


def contingency(session: Session, storage: Storage, project: Project, run_name: str, other: str) -> Contingency:
    """Compare a run's clusters with those of another run, by its number or `latest`, or with a column of metadata."""
    run, key = clustering.find_result(session, project, run_name)
    mine, theirs = groupings.of_run(session, storage, run, key), grouping(session, storage, project, other)
    found = relate(mine.codes, theirs.codes, (len(mine.groups), len(theirs.groups)))
    return Contingency(
        run=run.number,
        other=other,
        rows=mine.groups,
        columns=theirs.groups,
        counts=found.counts.tolist(),
        items=found.items,
        information_bits=found.information,
        chance_bits=found.chance,
        entropy_bits=found.entropies,
        nmi=found.nmi,
        shared=found.shared,
        sentence=sentence(found),
    )


def grouping(session: Session, storage: Storage, project: Project, name: str) -> Grouping:
    """Give a run's clusters by its number or `latest`, else the values of a column of metadata."""
    if name == "latest" or name.isdecimal():
        found, key = clustering.find_result(session, project, name)
        return groupings.of_run(session, storage, found, key)
    if name not in queries.columns(session, project.id):
        raise NotFound(f"There is neither a run nor a column of metadata '{name}' to compare with.")
    return groupings.of_column(session, project, name)


def series(session: Session, storage: Storage, project: Project) -> ViewList:
    """Give the series of views: each distinct clustering once, oldest first, and what each shares with each."""
    shown = _distinct(session, project)
    all_groups = [groupings.of_run(session, storage, run, str(run.result)) for run in shown]
    size = len(shown)
    bits, nmi, shared = (np.eye(size) for _ in range(3))
    for a in range(size):
        for b in range(a, size):
            one, two = all_groups[a], all_groups[b]
            found = relate(one.codes, two.codes, (len(one.groups), len(two.groups)))
            bits[a, b] = bits[b, a] = found.information
            if a != b:
                nmi[a, b] = nmi[b, a] = found.nmi
                shared[a, b] = shared[b, a] = found.shared
    current = runs.last_done(session, project.id)
    views = [_view(run, current) for run in shown]
    return ViewList(views=views, information_bits=bits.tolist(), nmi=nmi.tolist(), shared=shared.tolist())


def _distinct(session: Session, project: Project) -> list[Run]:
    """The current clustering, views, named runs, and what views are unlike; of runs with one result the first wins,
    but before all others the current one.
    """
    current = runs.last_done(session, project.id)
    listed = queries.series(session, project.id)
    named = {number for run in listed if run.purpose == Purpose.VIEW for number in run.parameters["known_runs"]}
    also = queries.runs_by_number(session, project.id, named - {run.number for run in listed}).values()
    by_number = sorted([*listed, *also], key=lambda run: run.number)
    first = {run.result: run for run in reversed(by_number) if run.result}
    if current is not None and current.result:
        first[current.result] = current
    return sorted(first.values(), key=lambda run: run.number)


def _view(run: Run, current: Run | None) -> ViewOut:
    return ViewOut(
        number=run.number,
        name=run.name,
        current=current is not None and run.id == current.id,
        purpose=run.purpose,
        algorithm=run.algorithm,
        n_clusters=run.metrics.get("n_clusters", 0),
        known=known.names(run.parameters) if "known_runs" in run.parameters else [],
        finished_at=run.finished_at,
    )


def gather(session: Session, storage: Storage, access: Access, run_name: str, beside: str | None) -> Seen:
    """Gather what a run's page shows; `beside` is what it is put beside, where a person chose something."""
    project = access.project
    run = clustering.find_run(session, project, run_name)
    current = runs.last_done(session, project.id)
    others = [_view(one, current) for one in _distinct(session, project) if one.result != run.result]
    columns = queries.columns(session, project.id) if run.result else []
    beside = beside or _first_known(run, current)
    return Seen(
        project=project,
        run=RunOut.of(run),
        is_current=current is not None and current.result == run.result,
        current=RunOut.of(current) if current else None,
        former=_former(session, run) if run.reason == "adopted" else None,
        clusters=clustering.clusters(session, storage, project, run, run.result) if run.result else [],
        resolutions=clustering.resolutions(storage, RunOut.of(run), run.result) if run.result else [],
        beside=_beside(session, storage, project, run, beside) if run.result and beside else None,
        sides=_sides(others, columns),
        offer=Offer(RunOut.of(run), others, columns) if run.result else None,
        curve=curve_of(RunOut.of(run)),
        parameters=parameters(run),
        may_write=Action.WRITE in ROLE_MAY[access.role],
    )


def _sides(others: list[ViewOut], columns: list[str]) -> list[tuple[str, str]]:
    named = [(str(one.number), groupings.title(one.number, one.name)) for one in others]
    return named + [(name, name) for name in columns]


def _former(session: Session, run: Run) -> RunOut | None:
    before = runs.last_done(session, run.project_id, before=run.number)
    return RunOut.of(before) if before is not None and before.result != run.result else None


def _first_known(run: Run, current: Run | None) -> str | None:
    """A view stands beside what it was to be unlike."""
    if run.purpose != Purpose.VIEW:
        return None
    numbers = run.parameters.get("known_runs", [])
    return str(numbers[0]) if numbers else (str(current.number) if current else None)


def _beside(session: Session, storage: Storage, project: Project, run: Run, name: str) -> Beside:
    other = grouping(session, storage, project, name)
    mine = groupings.of_run(session, storage, run, str(run.result))
    found = relate(other.codes, mine.codes, (len(other.groups), len(mine.groups)))
    return Beside(
        other=other,
        run=None if other.run is None else RunOut.of(clustering.find_run(session, project, str(other.run))),
        relation=found,
        sentence=sentence(found),
        rows=other.groups,
        columns=mine.groups,
        is_small=found.counts.size <= MOST_CELLS,
    )


def offer_for_current(session: Session, project: Project) -> Offer | None:
    """Give what the form offers for the current clustering; None while there is none."""
    current = runs.last_done(session, project.id)
    if current is None:
        return None
    others = [_view(one, current) for one in _distinct(session, project) if one.result != current.result]
    return Offer(RunOut.of(current), others, queries.columns(session, project.id))


def parameters(run: Run) -> list[tuple[str, str]]:
    """Give a run's parameters as a person reads them, in the order of its algorithm's form."""
    labels = {
        field.name: field.label
        for choice in forms.CHOICES
        if choice.algorithm.name == run.algorithm
        for field in (*choice.usual, *choice.advanced)
    }
    titled = {"n_clusters": "Clusters", **labels}
    texts = forms.texts("", run.parameters)
    yes_no = dict(forms.YES_NO)
    given = [(label, texts[f".{name}"]) for name, label in titled.items() if f".{name}" in texts]
    return [(label, yes_no.get(text, text)) for label, text in given]
