"""Gathers the figures of a project for the dashboard page and its JSON."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

from tercet.catalogue import forms
from tercet.dashboard import queries, suggestions
from tercet.dashboard.preparation import Preparation, preparation
from tercet.dashboard.queries import Labeler
from tercet.dashboard.schemas import (
    AnswerFigures,
    LabelerFigures,
    MapItems,
    NextRun,
    Outlook,
    ProjectFigures,
    Suggestion,
    SuggestionList,
    Summary,
)
from tercet.dashboard.trust import Trust, trust_of
from tercet.errors import FieldError, Invalid
from tercet.items import filtering
from tercet.items.filtering import ItemFilter
from tercet.items.queries import count_in_use, item_count, items_by_position, latest_features, tags_by_position
from tercet.jobs.wording import waiting
from tercet.labeling import holds
from tercet.models import Project, Purpose, Run, RunStatus, now
from tercet.runs import outlook
from tercet.runs import service as runs
from tercet.runs.queries import last_done, page_of_runs
from tercet.runs.schemas import ClusterOut, MapItem, RunOut
from tercet.storage import Storage
from tercet.tags import service as tags
from tercet.tags.schemas import TagCount

PREDICTED_RUNS = 5
MOST_RUNS = 50


@dataclass(frozen=True)
class Prediction:
    """The share of the newest answers that earlier runs predicted, and the share after each run, oldest first."""

    share: float
    answers: int
    history: list[float]


@dataclass(frozen=True)
class Tally:
    """Answers per labeler among the answer numbers up to `until`, when so many labelers had been erased."""

    until: int
    answers: Counter[int]
    erased_labelers: int


@dataclass(frozen=True)
class Dashboard:
    """What the dashboard page shows."""

    project: Project
    summary: Summary
    prediction: Prediction | None
    clusters: list[ClusterOut]
    items: ItemFilter
    n_passing: int
    cards: list[ClusterOut]  # the clusters as far as their items pass the filter
    tags: list[TagCount]
    parameters: dict[str, str]
    resolutions: list[runs.Resolution]
    preparation: Preparation
    outlook: Outlook
    trust: Trust
    held: int  # labelers on hold
    suggestions: list[Suggestion]


# Per database and project, which is named by its id and the time of its creation, as SQLite reuses ids.
_tallies: WeakKeyDictionary[Engine | Connection, dict[tuple[int, datetime], Tally]] = WeakKeyDictionary()


def dashboard(session: Session, storage: Storage, project: Project, items: ItemFilter) -> Dashboard:
    """Gather what the dashboard page shows, its cards of the items that pass a filter."""
    summary = summarize(session, project)
    clusters: list[ClusterOut] = []
    cards: list[ClusterOut] = []
    passing: list[int] = []
    resolutions: list[runs.Resolution] = []
    if summary.latest:
        run, key = runs.find_result(session, project, str(summary.latest.number))
        clusters = runs.clusters(session, storage, project, run, key)
        resolutions = runs.resolutions(storage, summary.latest, key)
        cards = clusters
        if items.is_set:
            passing = filtering.positions(session, project.id, items)
            cards = runs.clusters(session, storage, project, run, key, passing)
    parameters = forms.texts(project.algorithm, project.parameters)
    ready = preparation(session, storage, project)
    return Dashboard(
        project,
        summary,
        prediction(summary.runs),
        clusters,
        items,
        len(passing),
        cards,
        tags.counts(session, project.id),
        parameters,
        resolutions,
        ready,
        summary.outlook,
        trust_of(summary.latest, summary.runs),
        len(holds.reasons_by_labeler(session, project.id)),
        suggestions.work_list(session, project, summary.latest, clusters),
    )


def suggest(session: Session, storage: Storage, project: Project) -> SuggestionList:
    """Return what is to be done next: labelers to look at, and what the newest run suggests."""
    held = len(holds.reasons_by_labeler(session, project.id))
    latest = last_done(session, project.id)
    if latest is None or latest.result is None:
        return SuggestionList(held=held, suggestions=[])
    clusters = runs.clusters(session, storage, project, latest, latest.result)
    return SuggestionList(held=held, suggestions=suggestions.work_list(session, project, RunOut.of(latest), clusters))


def map_items(session: Session, project: Project, positions: list[int]) -> MapItems:
    """Return the items at these rows of the map; raise Invalid if there is no such row."""
    beyond = [position for position in positions if not 0 <= position < item_count(session, project.id)]
    if beyond:
        raise Invalid("There is no such row in the map.", [FieldError("at", f"no item has the position {beyond[0]}")])
    items = items_by_position(session, project.id, positions)
    tags = tags_by_position(session, project.id, positions)
    return MapItems(items=[MapItem.of(project.key, item, tags=tags.get(item.position, [])) for item in items])


def summarize(session: Session, project: Project) -> Summary:
    """Return the project's figures, from a few statements whose cost does not grow with the project."""
    newest = page_of_runs(session, project.id, None, MOST_RUNS)
    latest = last_done(session, project.id)
    people = labelers(session, project)
    features = latest_features(session, project.id)
    withdrawn = sum(person.withdrawn for person in people)
    return Summary(
        project=ProjectFigures(
            key=project.key,
            name=project.name,
            question_kind=project.question_kind,
            n_clusters=project.n_clusters,
            items=count_in_use(session, project.id),
            features=features.version if features else None,
        ),
        answers=AnswerFigures(
            total=project.answer_number - withdrawn,
            last_hour=sum(person.last_hour for person in people),
            withdrawn=withdrawn,
            labelers=[LabelerFigures.model_validate(person) for person in people if person.answers],
        ),
        next_run=next_run(session, project, newest),
        latest=RunOut.of(latest) if latest else None,
        outlook=outlook_of(latest.metrics if latest else {}),
        runs=[RunOut.of(run) for run in newest],
    )


def outlook_of(metrics: dict[str, Any]) -> Outlook:
    """Return what a run's metrics say of its clusters and of further answers, in words."""
    return Outlook(
        shown=outlook.of_first_clusters(metrics),
        supported=outlook.of_supported_clusters(metrics),
        gain=outlook.of_gain(metrics),
        ceiling=outlook.of_ceiling(metrics),
        errors=outlook.of_errors(metrics),
    )


def labelers(session: Session, project: Project) -> list[Labeler]:
    """Return the figures of every labeler, the busiest first."""
    return queries.labelers(session, project, count_answers(session, project))


def count_answers(session: Session, project: Project) -> Counter[int]:
    """Count the answers of every labeler, withdrawn or not; only those since the last call are read.

    The counts are exact: answers are never removed, only marked, and their numbers are in the order of commits. Only
    where a labeler is erased do answers become another's.
    """
    tallies = _tallies.setdefault(session.get_bind(), {})
    nothing = Tally(0, Counter(), project.erased_labelers)
    before = tallies.get((project.id, project.created_at), nothing)
    if before.erased_labelers != project.erased_labelers:
        before = nothing
    answers = before.answers
    if project.answer_number > before.until:
        new = queries.answers_by_labeler(session, project.id, before.until, project.answer_number)
        answers = before.answers + Counter(new)
        tallies[project.id, project.created_at] = Tally(project.answer_number, answers, project.erased_labelers)
    return answers


def next_run(session: Session, project: Project, newest: list[Run]) -> NextRun:
    """Return what happens next: the running run, else the queued one, else how many answers start one.

    Alternatives and comparisons use no new answers, so they are not what people wait for.
    """
    current = [run for run in newest if run.purpose == Purpose.CURRENT]
    served = next((run.answers_to for run in current if run.answers_to is not None), 0)
    after = max(0, project.rerun_answers - (project.answer_number - served))
    active = {run.status: run for run in current if run.status in (RunStatus.RUNNING, RunStatus.QUEUED)}
    if running := active.get(RunStatus.RUNNING):
        now_at = {"progress": running.progress, "starved": running.starved}
        return NextRun(state="running", number=running.number, after_answers=after, **now_at)
    if queued := active.get(RunStatus.QUEUED):
        note = waiting(session, queued.due_at) if queued.due_at <= now() else ""
        return NextRun(state="queued", number=queued.number, after_answers=after, due_at=queued.due_at, note=note)
    return NextRun(state="waiting", after_answers=after)


def prediction(newest: list[RunOut]) -> Prediction | None:
    """Return the share of new answers that the run before them predicted, averaged over the newest runs.

    The history has the same average as of each earlier run: the few answers of a single run say little.
    """
    tested = [
        (run.metrics["prequential_accuracy"], run.metrics["prequential_answers"])
        for run in reversed(newest)
        if run.status == RunStatus.DONE and run.metrics.get("prequential_answers")
    ]
    if not tested:
        return None
    windows = [tested[max(0, end - PREDICTED_RUNS) : end] for end in range(1, len(tested) + 1)]
    shares = [sum(share * count for share, count in w) / sum(count for _, count in w) for w in windows]
    return Prediction(shares[-1], sum(count for _, count in windows[-1]), shares)
