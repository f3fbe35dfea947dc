"""Puts pages of answers together: each with its question, what the last run thinks of it, and what others said."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from app.answers import queries
from app.answers.queries import Given
from app.answers.schemas import AnswerList, AnswerOut, Filters, Order, SetAside
from app.clustering import results
from app.clustering.queries import find_run, last_done
from app.clustering.results import AnswerReport, Array
from app.errors import FieldError, Invalid
from app.labeling.canonical import VALUES
from app.labeling.queries import Look, looks
from app.models import Project, QuestionKind, Run
from app.storage import Storage

ENOUGH = 500  # numbers looked up at once


class Doubt(NamedTuple):
    """What a run says of one answer: its probability, and its rank among the suspect ones (0: none)."""

    probability: float
    suspect: int


@dataclass(frozen=True)
class Listed:
    """A page of answers, the items of their questions by id, and where the next page begins."""

    run: Run | None
    answers: list[Given]
    doubts: dict[int, Doubt]
    said: dict[int, list[tuple[int, str]]]
    items: dict[int, Look]
    next: str | None

    def others(self, answer: Given) -> tuple[int, int]:
        """Count the others who answered the same question, and those of them who said the same."""
        others = [value for person, value in self.said.get(answer.triplet_id, []) if person != answer.labeler_id]
        return len(others), others.count(answer.value)


class Found(NamedTuple):
    """The answers of one page and where the next one begins."""

    answers: list[Given]
    next: str | None


def page(session: Session, storage: Storage, project: Project, filters: Filters, limit: int) -> Listed:
    """Give a page of answers that pass the filters."""
    _check(project, filters)
    run, place = _place(session, project, filters)
    report = results.answer_report(storage, run) if run else None
    if filters.order == Order.SUSPECT and report:
        assert run is not None, "a report is a run's"
        found = _most_suspect(session, project, filters, run, report, place, limit)
    else:
        found = _newest(session, project, filters, place, limit)
    given = found.answers
    return Listed(
        run,
        given,
        _doubts(report, given),
        queries.said_by_all(session, [one.triplet_id for one in given]),
        looks(session, {item for one in given for item in one.triplet}),
        found.next,
    )


def as_json(listed: Listed) -> AnswerList:
    """Say the same to programs."""
    answers = [_answer_out(listed, one) for one in listed.answers]
    return AnswerList(run=listed.run.number if listed.run else None, answers=answers, next=listed.next)


def _answer_out(listed: Listed, one: Given) -> AnswerOut:
    doubt = listed.doubts.get(one.number)
    others, agree = listed.others(one)
    aside = None
    if one.set_aside_at is not None:
        aside = SetAside(at=one.set_aside_at, by=one.set_aside_by or "", reason=one.reason or "")
    return AnswerOut(
        id=one.id,
        number=one.number,
        triplet=[listed.items[item].key for item in one.triplet],
        answer=one.value,
        labeler=one.labeler_id,
        labeler_name=one.labeler,
        response_ms=one.response_ms,
        created_at=one.created_at,
        withdrawn_at=one.withdrawn_at,
        set_aside=aside,
        probability=round(doubt.probability, 4) if doubt else None,
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
    """Read the place in the list: a number, in the order of suspicion behind the number of the run that it is of.

    The pages of one list are all of one run: the next run orders the answers anew.
    """
    if filters.after is None:
        return last_done(session, project.id), None
    parts = filters.after.split(".")
    wanted = 2 if filters.order == Order.SUSPECT else 1
    plain = all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)
    run = find_run(session, project.id, parts[0] if wanted == 2 else "latest")
    if len(parts) != wanted or not plain or (wanted == 2 and run is None):
        detail = f"'{filters.after}' is not the `next` of a page in this order"
        raise Invalid("There is no such place in the list.", [FieldError("after", detail)])
    return run, int(parts[-1])


def _newest(session: Session, project: Project, filters: Filters, before: int | None, limit: int) -> Found:
    rows = queries.newest(session, project.id, filters, before, limit + 1)
    return Found(rows[:limit], str(rows[limit - 1].number) if len(rows) > limit else None)


def _most_suspect(
    session: Session,
    project: Project,
    filters: Filters,
    run: Run,
    report: AnswerReport,
    place: int | None,
    limit: int,
) -> Found:
    """Walk down the run's order of suspicion until a page is full; only numbers are read of what is passed over."""
    order = by_suspicion(report)
    open_places = np.arange(place or 0, len(order))
    if filters.labeler is not None or filters.answer is not None or filters.state is not None:
        passing = queries.numbers(session, project.id, filters)
        open_places = open_places[np.isin(order[open_places], passing)]
    found: list[tuple[int, Given]] = []
    for start in range(0, len(open_places), ENOUGH):
        places = open_places[start : start + ENOUGH]
        numbers = order[places].tolist()
        rows = queries.by_number(session, project.id, filters, numbers)
        found += [(at, rows[number]) for at, number in zip(places, numbers, strict=True) if number in rows]
        if len(found) > limit:
            break
    after = f"{run.number}.{found[limit][0]}" if len(found) > limit else None
    return Found([row for _, row in found[:limit]], after)


def by_suspicion(report: AnswerReport) -> Array:
    """Order the numbers: suspect answers by rank, then the others, the least probable first."""
    rank = np.where(report.suspicion > 0, report.suspicion, len(report.suspicion) + 1)
    ordered: Array = report.numbers[np.lexsort((report.numbers, report.probabilities, rank))]
    return ordered


def _doubts(report: AnswerReport | None, given: list[Given]) -> dict[int, Doubt]:
    if report is None or not len(report.numbers):
        return {}
    wanted = np.array([one.number for one in given], dtype=np.int64)
    # Numbers are in order, so each is found by bisection.
    places = np.minimum(np.searchsorted(report.numbers, wanted), len(report.numbers) - 1)
    return {
        int(number): Doubt(float(report.probabilities[at]), int(report.suspicion[at]))
        for number, at in zip(wanted, places, strict=True)
        if report.numbers[at] == number
    }
