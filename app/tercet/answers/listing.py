"""Pages of answers, each with its question, the probability that the last run gives it, and the answers of others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from tercet.answers import queries
from tercet.answers.queries import ListedAnswer
from tercet.answers.schemas import AnswerList, AnswerOut, Filters, Order, SetAside
from tercet.errors import FieldError, Invalid
from tercet.labeling.canonical import VALUES
from tercet.labeling.queries import DisplayedItem, displayed_items
from tercet.models import Project, QuestionKind, Run
from tercet.runs import results
from tercet.runs.queries import find_run, last_done
from tercet.runs.results import AnswerReport, Array
from tercet.storage import Storage

ENOUGH = 500  # numbers looked up at once


class Doubt(NamedTuple):
    """The probability of an answer under the last run, and before any run used it; rank among suspects (0: none)."""

    probability: float  # under the run, the answer itself left out
    suspect: int
    foreseen: float | None = None  # under the last run that had not used it; None where there was none


@dataclass(frozen=True)
class Listing:
    """A page of answers, with their probabilities, all counting answers to the same questions, and the items."""

    run: Run | None
    answers: list[ListedAnswer]
    doubts: dict[int, Doubt]
    votes: dict[int, list[tuple[int, str]]]
    items: dict[int, DisplayedItem]
    next: str | None

    def others(self, answer: ListedAnswer) -> tuple[int, int]:
        """Return how many others answered the same question, and how many of them said the same."""
        others = [value for labeler, value in self.votes.get(answer.triplet_id, []) if labeler != answer.labeler_id]
        return len(others), others.count(answer.value)


class AnswerPage(NamedTuple):
    """The answers of one page and where the next one begins."""

    answers: list[ListedAnswer]
    next: str | None


def page(session: Session, storage: Storage, project: Project, filters: Filters, limit: int) -> Listing:
    """Return a page of answers that pass the filters."""
    _check(project, filters)
    run, place = _place(session, project, filters)
    report = results.answer_report(storage, run) if run else None
    if filters.order == Order.SUSPECT and report:
        assert run is not None, "a report is a run's"
        answers, following = _most_suspect(session, project, filters, run, report, place, limit)
    else:
        answers, following = _newest(session, project, filters, place, limit)
    return Listing(
        run,
        answers,
        _doubts(report, answers),
        queries.votes(session, [answer.triplet_id for answer in answers]),
        displayed_items(session, {item_id for answer in answers for item_id in answer.triplet}),
        following,
    )


def as_json(listing: Listing) -> AnswerList:
    """Return the page as REST gives it."""
    answers = [_answer_out(listing, answer) for answer in listing.answers]
    return AnswerList(run=listing.run.number if listing.run else None, answers=answers, next=listing.next)


def _answer_out(listing: Listing, answer: ListedAnswer) -> AnswerOut:
    doubt = listing.doubts.get(answer.number)
    others, agree = listing.others(answer)
    aside = None
    if answer.set_aside_at is not None:
        aside = SetAside(at=answer.set_aside_at, by=answer.set_aside_by or "", reason=answer.reason or "")
    return AnswerOut(
        id=answer.id,
        number=answer.number,
        triplet=[listing.items[item_id].key for item_id in answer.triplet],
        answer=answer.value,
        labeler=answer.labeler_id,
        labeler_name=answer.labeler,
        response_ms=answer.response_ms,
        comment=answer.comment,
        created_at=answer.created_at,
        withdrawn_at=answer.withdrawn_at,
        known_at=answer.known_at,
        set_aside=aside,
        probability=round(doubt.probability, 4) if doubt else None,
        foreseen=round(doubt.foreseen, 4) if doubt and doubt.foreseen is not None else None,
        suspect=doubt.suspect or None if doubt else None,
        others=others,
        others_agree=agree,
    )


def _check(project: Project, filters: Filters) -> None:
    allowed = VALUES[QuestionKind(project.question_kind)]
    if filters.answer is not None and filters.answer not in allowed:
        detail = f"'{filters.answer}' is no answer to this project's question: expected one of {', '.join(allowed)}"
        raise Invalid("There can be no such answers.", [FieldError("answer", detail)])


def _place(session: Session, project: Project, filters: Filters) -> tuple[Run | None, int | None]:
    """Parse the position in the list: an answer number or, ordered by suspicion, a run and a rank.

    The pages of one list are all of one run: the next run orders the answers anew.
    """
    if filters.after is None:
        return last_done(session, project.id), None
    parts = filters.after.split(".")
    n_parts = 2 if filters.order == Order.SUSPECT else 1
    plain = all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
    run = find_run(session, project.id, parts[0] if n_parts == 2 else "latest")
    if len(parts) != n_parts or not plain or (n_parts == 2 and run is None):
        detail = f"'{filters.after}' is not the `next` of a page in this order"
        raise Invalid("There is no such place in the list.", [FieldError("after", detail)])
    return run, int(parts[-1])


def _newest(session: Session, project: Project, filters: Filters, before: int | None, limit: int) -> AnswerPage:
    rows = queries.newest(session, project.id, filters, before, limit + 1)
    return AnswerPage(rows[:limit], str(rows[limit - 1].number) if len(rows) > limit else None)


def _most_suspect(
    session: Session,
    project: Project,
    filters: Filters,
    run: Run,
    report: AnswerReport,
    start: int | None,
    limit: int,
) -> AnswerPage:
    """Go through the run's order of suspicion until a page is full; of skipped answers only numbers are read."""
    order = by_suspicion(report)
    open_places = np.arange(start or 0, len(order))
    if filters.given().keys() - {"order"}:
        passing = queries.numbers(session, project.id, filters)
        open_places = open_places[np.isin(order[open_places], passing)]
    page: list[tuple[int, ListedAnswer]] = []
    for first in range(0, len(open_places), ENOUGH):
        places = open_places[first : first + ENOUGH]
        numbers = order[places].tolist()
        rows = queries.by_number(session, project.id, filters, numbers)
        page += [(place, rows[number]) for place, number in zip(places, numbers, strict=True) if number in rows]
        if len(page) > limit:
            break
    following = f"{run.number}.{page[limit][0]}" if len(page) > limit else None
    return AnswerPage([answer for _, answer in page[:limit]], following)


def by_suspicion(report: AnswerReport) -> Array:
    """Order the numbers: suspect answers by rank, then the others, the least probable first."""
    rank = np.where(report.suspicion > 0, report.suspicion, len(report.suspicion) + 1)
    ordered: Array = report.numbers[np.lexsort((report.numbers, report.probabilities, rank))]
    return ordered


def _doubts(report: AnswerReport | None, answers: list[ListedAnswer]) -> dict[int, Doubt]:
    if report is None or not len(report.numbers):
        return {}
    listed = np.array([answer.number for answer in answers], dtype=np.int64)
    # Numbers are in order, so each is found by bisection.
    places = np.minimum(np.searchsorted(report.numbers, listed), len(report.numbers) - 1)
    values = {answer.number: answer.value for answer in answers}
    return {
        int(number): Doubt(
            float(report.probabilities[place]),
            int(report.suspicion[place]),
            _foreseen(report, place, values[int(number)]),
        )
        for number, place in zip(listed, places, strict=True)
        if report.numbers[place] == number
    }


def _foreseen(report: AnswerReport, place: int, value: str) -> float | None:
    """Return how probable the answer was before any run used it; None where no run had an expectation."""
    if report.foreseen is None:
        return None
    values = next(values for values in VALUES.values() if value in values and len(values) == report.foreseen.shape[1])
    probability = float(report.foreseen[place, values.index(value)])
    return None if np.isnan(probability) else probability
