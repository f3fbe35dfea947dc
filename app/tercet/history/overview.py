"""What the pages of the history show."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from tercet.history import queries, service
from tercet.history.drawing import Drawing, draw
from tercet.history.service import RunPair
from tercet.history.timeline import Timeline, share_foreseen, timeline_of
from tercet.models import Project, Run
from tercet.runs.queries import cluster_notes, last_done, page_of_runs
from tercet.runs.schemas import RunOut
from tercet.storage import Storage

PAGE = 50
MOST_CHOICES = 200


@dataclass(frozen=True)
class RunLine:
    """A run of the list, with the share of answers foreseen by the time it ended."""

    run: RunOut
    foreseen: float | None
    is_current: bool
    has_clusters: bool


@dataclass(frozen=True)
class RunsPage:
    """What the page of all runs shows."""

    project: Project
    runs: list[RunLine]
    timeline: Timeline | None
    current: int | None
    next: int | None
    after: int | None


@dataclass(frozen=True)
class ChangesPage:
    """What the page of two runs shows."""

    project: Project
    changes: RunPair
    before: RunOut
    now: RunOut
    drawing: Drawing
    names: dict[int, str]  # of the later run's clusters
    names_before: dict[int, str]
    choices: list[RunOut]
    current: int | None  # the number of the run whose clusters are the current ones


def runs_page(session: Session, project: Project, after: int | None) -> RunsPage:
    """Gather a page of runs, newest first."""
    rows = page_of_runs(session, project.id, after, PAGE + 1)
    current = last_done(session, project.id)
    result = None if current is None else current.result
    lines = [_line(row, result) for row in rows[:PAGE]]
    return RunsPage(
        project=project,
        runs=lines,
        timeline=timeline_of([line.run for line in lines]),
        current=None if current is None else current.number,
        next=rows[PAGE - 1].number if len(rows) > PAGE else None,
        after=after,
    )


def _line(row: Run, current_result: str | None) -> RunLine:
    run = RunOut.of(row)
    return RunLine(run, share_foreseen(run), row.result is not None and row.result == current_result, bool(row.result))


def changes_page(session: Session, storage: Storage, project: Project, run: str, since: str | None) -> ChangesPage:
    """Gather how two runs differ, with the names of their clusters and the runs to choose from."""
    changes = service.changes(session, storage, project, run, since)
    current = last_done(session, project.id)
    return ChangesPage(
        project=project,
        changes=changes,
        before=RunOut.of(changes.before),
        now=RunOut.of(changes.now),
        drawing=draw(changes.flows),
        names=_names(session, changes.now),
        names_before=_names(session, changes.before),
        choices=[RunOut.of(row) for row in queries.runs_with_clusters(session, project.id, MOST_CHOICES)],
        current=None if current is None else current.number,
    )


def _names(session: Session, run: Run) -> dict[int, str]:
    return {number: note.name for number, note in cluster_notes(session, run).items()}
