"""Gathers what the answers page shows: answers in words and pictures, people, decisions, what comes next."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from app.accounts.access import ROLE_MAY, Access, Action
from app.answers import listing, quality, queries
from app.answers.listing import Doubt, Listed
from app.answers.queries import Given, Logged
from app.answers.schemas import Filters, LabelerList
from app.dashboard import service as dashboard
from app.dashboard.queries import recent_runs
from app.dashboard.schemas import NextRun
from app.items.schemas import shown
from app.labeling.canonical import VALUES
from app.models import Project, QuestionKind, Run
from app.storage import Storage

PAGE = 25
PEOPLE = 50
DECISIONS = 50

# Which of the three items an answer points at, by its place; don't know points at none.
PICKED = {"yes": 1, "no": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True)
class Row:
    """One answer as the page shows it."""

    given: Given
    items: list[dict[str, Any]]
    picked: int | None
    doubt: Doubt | None
    others: int
    agree: int


@dataclass(frozen=True)
class Changes:
    """What was decided since the last run began, and so is not in its clusters."""

    set_aside: int
    put_back: int


@dataclass(frozen=True)
class Seen:
    """What the answers page shows."""

    project: Project
    filters: Filters
    values: tuple[str, ...]
    run: Run | None
    rows: list[Row]
    next: str | None
    here: str
    people: LabelerList
    log: list[Logged]
    changes: Changes
    next_run: NextRun
    may_write: bool


def gather(session: Session, storage: Storage, access: Access, filters: Filters) -> Seen:
    """Gather it."""
    project = access.project
    listed = listing.page(session, storage, project, filters, PAGE)
    return Seen(
        project=project,
        filters=filters,
        values=VALUES[QuestionKind(project.question_kind)],
        run=listed.run,
        rows=[_row(project, listed, one) for one in listed.answers],
        next=None if listed.next is None else urlencode({**filters.given(), "after": listed.next}),
        here=urlencode({**filters.given(), **({"after": filters.after} if filters.after else {})}),
        people=quality.page(session, storage, project, 0, PEOPLE),
        log=queries.decisions(session, project.id, DECISIONS),
        changes=_changes(session, project, listed.run),
        next_run=dashboard.next_run(project, recent_runs(session, project.id)),
        may_write=Action.WRITE in ROLE_MAY[access.role],
    )


def _row(project: Project, listed: Listed, one: Given) -> Row:
    items = [listed.items[number] for number in one.triplet]
    return Row(
        one,
        [{"key": item.key, **shown(project.key, item)} for item in items],
        PICKED.get(one.value),
        listed.doubts.get(one.number),
        *listed.others(one),
    )


def _changes(session: Session, project: Project, run: Run | None) -> Changes:
    if run is None or run.started_at is None:
        return Changes(0, 0)
    return Changes(*queries.changed_since(session, project.id, run.started_at))
