"""What the answers page shows: answers in words and pictures, people, decisions, and the next run."""

from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from tercet.accounts.access import ROLE_MAY, Access, Action
from tercet.answers import flagged, listing, quality, queries
from tercet.answers.flagged import FlaggedItems
from tercet.answers.listing import Doubt, Listing
from tercet.answers.queries import ListedAnswer, LoggedDecision, UnseenAnswers
from tercet.answers.schemas import Filters, LabelerList
from tercet.dashboard import service as dashboard
from tercet.dashboard.schemas import NextRun
from tercet.edits import service as edits
from tercet.edits.schemas import EditOut
from tercet.items.schemas import shown
from tercet.labeling.canonical import VALUES
from tercet.models import Project, QuestionKind, Run
from tercet.runs.queries import page_of_runs
from tercet.storage import Storage
from tercet.tags import service as tags
from tercet.tags.schemas import TagCount

PAGE = 25
PEOPLE = 50
DECISIONS = 50
EDITS = 20

# Which of the three items an answer points at, by its place; don't know points at none.
PICKED = {"yes": 1, "no": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True)
class AnswerRow:
    """One answer as the page shows it."""

    answer: ListedAnswer
    items: list[dict[str, Any]]
    picked: int | None
    doubt: Doubt | None
    others: int
    agree: int


class Changes(NamedTuple):
    """What was decided since the last run began, and so is not in its clusters."""

    set_aside: int
    put_back: int


@dataclass(frozen=True)
class AnswersOverview:
    """What the answers page shows."""

    project: Project
    filters: Filters
    values: tuple[str, ...]
    run: Run | None
    rows: list[AnswerRow]
    next: str | None
    here: str
    people: LabelerList
    log: list[LoggedDecision]
    edits: list[EditOut]
    changes: Changes
    unseen: UnseenAnswers
    flagged: FlaggedItems
    next_run: NextRun
    tags: list[TagCount]
    may_write: bool


def gather(session: Session, storage: Storage, access: Access, filters: Filters) -> AnswersOverview:
    """Return what the page shows to this analyst."""
    project = access.project
    page = listing.page(session, storage, project, filters, PAGE)
    return AnswersOverview(
        project=project,
        filters=filters,
        values=VALUES[QuestionKind(project.question_kind)],
        run=page.run,
        rows=[_row(project, page, answer) for answer in page.answers],
        next=None if page.next is None else urlencode({**filters.given(), "after": page.next}),
        here=urlencode({**filters.given(), **({"after": filters.after} if filters.after else {})}),
        people=quality.page(session, storage, project, 0, PEOPLE),
        log=queries.decisions(session, project.id, DECISIONS),
        edits=edits.page(session, storage, project, None, EDITS).edits,
        unseen=queries.unseen(session, project.id),
        flagged=flagged.on_page(session, project),
        changes=_changes(session, project, page.run),
        next_run=dashboard.next_run(session, project, page_of_runs(session, project.id, None, dashboard.MOST_RUNS)),
        tags=tags.counts(session, project.id),
        may_write=Action.WRITE in ROLE_MAY[access.role],
    )


def _row(project: Project, page: Listing, answer: ListedAnswer) -> AnswerRow:
    rows = [page.items[item_id] for item_id in answer.triplet]
    return AnswerRow(
        answer,
        [{"key": row.key, **shown(project.key, row)} for row in rows],
        PICKED.get(answer.value),
        page.doubts.get(answer.number),
        *page.others(answer),
    )


def _changes(session: Session, project: Project, run: Run | None) -> Changes:
    if run is None or run.started_at is None:
        return Changes(0, 0)
    return Changes(*queries.changed_since(session, project.id, run.started_at))
