"""Gathers how two runs of a project differ, for the page and for programs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from tercet.answers import queries as answers
from tercet.answers.queries import ListedAnswer
from tercet.answers.schemas import Filters
from tercet.catalogue import forms
from tercet.errors import Conflict, FieldError, Invalid
from tercet.history import queries
from tercet.history.flows import Flow, Flows, flows_between
from tercet.history.schemas import FlowOut, MovedItem, ParameterChange, RunChanges, TellingAnswerOut
from tercet.items.queries import items_by_position
from tercet.items.schemas import shown
from tercet.labeling.queries import displayed_items
from tercet.models import Project, Run
from tercet.runs import results
from tercet.runs import service as runs
from tercet.runs.in_use import labels_in_use
from tercet.runs.results import Array
from tercet.storage import Storage

MOST_MOVED = 500  # items that are described
MOST_OF_FLOW = 60
MOST_ANSWERS = 100
MOST_READ = 50_000  # of the new answers, to find those that name items that moved


@dataclass(frozen=True)
class TellingAnswer:
    """A new answer that names items that moved, and how many of its three items did."""

    answer: ListedAnswer
    looks: list[dict[str, Any]]  # key and media of each item
    moved: int


@dataclass(frozen=True)
class RunPair:
    """How two runs differ."""

    before: Run
    now: Run
    flows: Flows
    moved: dict[tuple[int, int], list[MovedItem]]  # the surest of each flow of items that moved, the largest flow first
    new_answers: int
    answers: list[TellingAnswer]
    edits: int
    parameters: list[ParameterChange]


def changes(session: Session, storage: Storage, project: Project, run_name: str, since: str | None) -> RunPair:
    """Compare a run with an earlier one, by default the one before; raise Conflict if there is no other one.

    They are compared in the order of their numbers, however they are named.
    """
    now, key = runs.find_result(session, project, run_name)
    before, key_before = _run_before(session, project, now, since)
    if before.number > now.number:
        before, key_before, now, key = now, key, before, key_before
    stored = (results.load_cached(storage, name).labels for name in (key_before, key))
    labels_before, labels_now = (labels_in_use(session, project.id, labels) for labels in stored)
    flows = flows_between(labels_before, labels_now)
    after, until = sorted(_answers_used(session, project, run) for run in (before, now))
    placed = queries.new_answers(session, project.id, after, until, MOST_READ)
    return RunPair(
        before=before,
        now=now,
        flows=flows,
        moved=_moved_items(session, storage, project, flows, (labels_before, labels_now), key),
        new_answers=len(placed),
        answers=_telling(session, project, placed, flows.moved),
        edits=queries.count_edits(session, project.id, before.started_at, now.started_at),
        parameters=_parameters(before, now),
    )


def _run_before(session: Session, project: Project, now: Run, since: str | None) -> tuple[Run, str]:
    if since is None:
        before = queries.with_clusters_before(session, now)
        if before is None or before.result is None:
            raise Conflict(f"There is no run with clusters before run {now.number} to compare it with.")
        return before, before.result
    before, key = runs.find_result(session, project, since)
    if before.id == now.id:
        raise Invalid("Two runs are needed.", [FieldError("since", f"is run {now.number} itself")])
    return before, key


def _answers_used(session: Session, project: Project, run: Run) -> int:
    """Return the answer number up to which a run's clusters know answers: a restored run knows those of its source."""
    while (number := run.metrics.get("adopted_from")) is not None:
        run = runs.find_run(session, project, str(number))
    return run.answers_to or 0


def _moved_items(
    session: Session, storage: Storage, project: Project, flows: Flows, labels: tuple[Array, Array], key: str
) -> dict[tuple[int, int], list[MovedItem]]:
    """Describe the surest items of each flow of items that moved, the largest flow first."""
    before, now = labels
    confidence = results.load_cached(storage, key).confidence
    sure = flows.moved[np.argsort(-confidence[flows.moved], kind="stable")]
    largest = sorted(
        (flow for flow in flows.flows if flow.moved), key=lambda flow: (-flow.items, flow.before, flow.now)
    )
    chosen: list[tuple[Flow, Array]] = []
    left = MOST_MOVED
    for flow in largest:
        of_flow = sure[(before[sure] == flow.before) & (now[sure] == flow.now)][: min(MOST_OF_FLOW, left)]
        chosen.append((flow, of_flow))
        left -= len(of_flow)
    positions = [int(position) for _, of_flow in chosen for position in of_flow]
    items = {item.position: item for item in items_by_position(session, project.id, positions)}

    def describe(position: int) -> MovedItem:
        values = {"before": int(before[position]), "now": int(now[position])}
        return MovedItem.of(project.key, items[position], **values, confidence=round(float(confidence[position]), 4))

    return {(flow.before, flow.now): [describe(int(position)) for position in of_flow] for flow, of_flow in chosen}


def _telling(
    session: Session, project: Project, placed: list[queries.PlacedAnswer], moved: Array
) -> list[TellingAnswer]:
    """Return the new answers about items that moved: those about most of them first, "don't know" last of as many."""
    about = np.array(placed, dtype=np.int64).reshape(-1, 5)
    counts = np.isin(about[:, 2:], moved).sum(axis=1)
    order = np.lexsort((-about[:, 0], -about[:, 1], -counts))[: min(MOST_ANSWERS, np.count_nonzero(counts))]
    numbers = about[order, 0].tolist()
    listed = answers.by_number(session, project.id, Filters(), numbers)
    rows = displayed_items(session, {item_id for answer in listed.values() for item_id in answer.triplet})
    looks = {item_id: {"key": row.key, **shown(project.key, row)} for item_id, row in rows.items()}
    return [
        TellingAnswer(listed[number], [looks[item_id] for item_id in listed[number].triplet], int(count))
        for number, count in zip(numbers, counts[order].tolist(), strict=True)
        if number in listed
    ]


def _parameters(before: Run, now: Run) -> list[ParameterChange]:
    """Return the parameters that differ, as people read them, the algorithm and the features among them."""
    earlier, later = (dict(_described(run)) for run in (before, now))
    return [
        ParameterChange(name=name, before=earlier.get(name), now=later.get(name))
        for name in dict.fromkeys([*earlier, *later])
        if earlier.get(name) != later.get(name)
    ]


def _described(run: Run) -> list[tuple[str, str]]:
    return [("Algorithm", run.algorithm), *forms.describe(run.algorithm, run.parameters)]


def as_json(compared: RunPair) -> RunChanges:
    """Return the changes as REST gives them."""
    return RunChanges(
        since=compared.before.number,
        run=compared.now.number,
        items=compared.flows.items,
        moved=len(compared.flows.moved),
        matched=sorted(compared.flows.matched.items()),
        flows=[FlowOut.model_validate(flow) for flow in compared.flows.flows],
        moved_items=[item for items in compared.moved.values() for item in items],
        new_answers=compared.new_answers,
        answers=[
            TellingAnswerOut(
                id=str(telling.answer.id),
                number=telling.answer.number,
                triplet=[item["key"] for item in telling.looks],
                answer=telling.answer.value,
                moved=telling.moved,
            )
            for telling in compared.answers
        ],
        edits=compared.edits,
        parameters=compared.parameters,
    )
