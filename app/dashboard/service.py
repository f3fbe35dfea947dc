"""Puts the figures of one project together, once for the page and for its JSON."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

from app.clustering import forms
from app.clustering import service as clustering
from app.clustering.queries import last_done
from app.clustering.schemas import ClusterOut, RunOut
from app.clustering.service import Resolution
from app.dashboard import queries
from app.dashboard.queries import Labeler
from app.dashboard.schemas import (
    AnswerFigures,
    LabelerFigures,
    NextRun,
    Place,
    Places,
    ProjectFigures,
    Summary,
)
from app.errors import FieldError, Invalid
from app.items.queries import item_count, items_by_position, latest_features
from app.models import Project, Purpose, Run, RunStatus
from app.storage import Storage

PREDICTED_RUNS = 5


@dataclass(frozen=True)
class Prediction:
    """The share of the newest answers that earlier runs foretold, and how it stood after each run, oldest first."""

    share: float
    answers: int
    history: list[float]


@dataclass(frozen=True)
class Tally:
    """Answers per labeler among the numbers up to `until`."""

    until: int
    answers: Counter[int]


@dataclass(frozen=True)
class Board:
    """What the dashboard page shows."""

    project: Project
    summary: Summary
    prediction: Prediction | None
    clusters: list[ClusterOut]
    parameters: dict[str, str]
    resolutions: list[Resolution]


# Per database and project (its id and when it was made: SQLite gives ids again): answers per labeler, up to a number.
_tallies: WeakKeyDictionary[Engine | Connection, dict[tuple[int, datetime], Tally]] = WeakKeyDictionary()


def board(session: Session, storage: Storage, project: Project) -> Board:
    """Gather what the dashboard page shows."""
    summary = summarize(session, project)
    clusters: list[ClusterOut] = []
    resolutions: list[Resolution] = []
    if summary.latest:
        run, key = clustering.find_result(session, project, str(summary.latest.number))
        clusters = clustering.clusters(session, storage, project, run, key)
        resolutions = clustering.resolutions(storage, summary.latest, key)
    parameters = forms.texts(project.algorithm, project.parameters)
    return Board(project, summary, prediction(summary.runs), clusters, parameters, resolutions)


def places(session: Session, project: Project, positions: list[int]) -> Places:
    """Describe the items at rows of the map."""
    beyond = [position for position in positions if not 0 <= position < item_count(session, project.id)]
    if beyond:
        raise Invalid("There is no such row in the map.", [FieldError("at", f"no item has the position {beyond[0]}")])
    items = items_by_position(session, project.id, positions)
    return Places(items=[Place.of(project.key, item) for item in items])


def summarize(session: Session, project: Project) -> Summary:
    """Gather the figures: a handful of small statements whatever the size of the project."""
    runs = queries.recent_runs(session, project.id)
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
            items=item_count(session, project.id),
            features=features.version if features else None,
        ),
        answers=AnswerFigures(
            total=project.answer_number - withdrawn,
            last_hour=sum(person.last_hour for person in people),
            withdrawn=withdrawn,
            labelers=[LabelerFigures.model_validate(person) for person in people if person.answers],
        ),
        next_run=next_run(project, runs),
        latest=RunOut.of(latest) if latest else None,
        runs=[RunOut.of(run) for run in runs],
    )


def labelers(session: Session, project: Project) -> list[Labeler]:
    """Give everyone's figures."""
    return queries.labelers(session, project, given_by_labeler(session, project))


def given_by_labeler(session: Session, project: Project) -> Counter[int]:
    """Count everyone's answers, withdrawn or not; of a million only those that came since the last look are counted.

    That is exact: answers are never removed, only marked, and their numbers are in the order of commits.
    """
    kept = _tallies.setdefault(session.get_bind(), {})
    before = kept.get((project.id, project.created_at), Tally(0, Counter()))
    answers = before.answers
    if project.answer_number > before.until:
        new = queries.answers_by_labeler(session, project.id, before.until, project.answer_number)
        answers = before.answers + Counter(new)
        kept[project.id, project.created_at] = Tally(project.answer_number, answers)
    return answers


def next_run(project: Project, runs: list[Run]) -> NextRun:
    """Say what happens next: the running run, else the queued one, else how many answers start one.

    Views and comparisons take up no answers, so they are not what people wait for.
    """
    runs = [run for run in runs if run.purpose == Purpose.CURRENT]
    served = next((run.answers_to for run in runs if run.answers_to is not None), 0)
    after = max(0, project.rerun_answers - (project.answer_number - served))
    active = {run.status: run for run in runs if run.status in (RunStatus.RUNNING, RunStatus.QUEUED)}
    if running := active.get(RunStatus.RUNNING):
        return NextRun(state="running", number=running.number, after_answers=after, progress=running.progress)
    if queued := active.get(RunStatus.QUEUED):
        return NextRun(state="queued", number=queued.number, after_answers=after, due_at=queued.due_at)
    return NextRun(state="waiting", after_answers=after)


def prediction(runs: list[RunOut]) -> Prediction | None:
    """Average the share of new answers that the run before each run foretold, over the newest runs; and the
    same as of each earlier run, because the few answers of a single run say little.
    """
    tested = [
        (run.metrics["prequential_accuracy"], run.metrics["prequential_answers"])
        for run in reversed(runs)
        if run.status == RunStatus.DONE and run.metrics.get("prequential_answers")
    ]
    if not tested:
        return None
    windows = [tested[max(0, end - PREDICTED_RUNS) : end] for end in range(1, len(tested) + 1)]
    shares = [sum(share * count for share, count in w) / sum(count for _, count in w) for w in windows]
    return Prediction(shares[-1], sum(count for _, count in windows[-1]), shares)
