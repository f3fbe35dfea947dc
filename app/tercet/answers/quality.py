"""How well people answer: speed, shares of the values, agreement with others, and figures of the last run."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from sqlalchemy.orm import Session

from tercet.answers import queries
from tercet.answers.queries import Habit
from tercet.answers.schemas import LabelerList, LabelerOut
from tercet.dashboard.queries import withdrawn
from tercet.dashboard.service import count_answers
from tercet.labeling import holds, presentation
from tercet.labeling.canonical import VALUES
from tercet.models import Project, QuestionKind
from tercet.runs import results
from tercet.runs.queries import last_done
from tercet.storage import Storage

# A pause of this length is no work.
PAUSE = timedelta(minutes=5)
# What runs learn of how a person answers.
LEARNED = ("quality", "accuracy", "known", "known_right", "unsure", "mixed_up", "invented")


def page(session: Session, storage: Storage, project: Project, after: int, limit: int) -> LabelerList:
    """Describe up to `limit` people, the busiest first, after skipping some."""
    taken_back = withdrawn(session, project.id)
    answers = Counter(count_answers(session, project))
    answers.subtract(taken_back)
    people_here = answers.keys() - queries.stand_ins_of_removed(session, project.id)
    ordered = sorted(people_here, key=lambda person: (-answers[person], person))
    people = ordered[after : after + limit]
    more = after + limit < len(ordered)
    names = queries.names(session, project.id, people)
    aside = queries.set_aside_counts(session, project.id)
    run = last_done(session, project.id)
    reports = {report.labeler: report for report in results.labeler_report(storage, run)} if run else {}
    habits = _habits(session, project, people)
    held = holds.reasons_by_labeler(session, project.id)
    return LabelerList(
        run=run.number if run else None,
        labelers=[
            LabelerOut(
                labeler=person,
                name=names[person],
                answers=answers[person],
                set_aside=aside.get(person, (0, 0))[0],
                set_aside_at_once=aside.get(person, (0, 0))[1],
                withdrawn=taken_back.get(person, 0),
                held=held.get(person),
                expected=reports[person].expected if person in reports else None,
                foreseen=reports[person].foreseen if person in reports else 0,
                doubt=reports[person].doubt if person in reports else None,
                **{name: getattr(reports[person], name) for name in LEARNED if person in reports},
                **habits[person],
            )
            for person in people
        ],
        next=after + limit if more else None,
    )


def _habits(session: Session, project: Project, people: Sequence[int]) -> dict[int, dict[str, Any]]:
    by_person: dict[int, list[Habit]] = {person: [] for person in people}
    for habit in queries.habits(session, project.id, people):
        by_person[habit.labeler_id].append(habit)
    asked = {habit.triplet_id for habits in by_person.values() for habit in habits}
    votes = queries.votes(session, asked)
    return {person: _habits_of(project, person, habits, votes) for person, habits in by_person.items()}


def _habits_of(
    project: Project, person: int, habits: list[Habit], votes: dict[int, list[tuple[int, str]]]
) -> dict[str, Any]:
    times = [habit.response_ms for habit in habits if habit.response_ms is not None]
    alike = [
        others.count(habit.value) / len(others)
        for habit in habits
        if (others := [value for labeler, value in votes.get(habit.triplet_id, []) if labeler != person])
    ]
    return {
        "an_hour": answers_an_hour(habits),
        "median_ms": round(median(times)) if times else None,
        "shares": _shares(project, person, habits),
        "compared": len(alike),
        "agreement": fmean(alike) if alike else None,
    }


def answers_an_hour(habits: Sequence[Habit]) -> float | None:
    """Answers by the time between them, long pauses left out; None where there is no such time, as of imports."""
    gaps = [later.created_at - earlier.created_at for earlier, later in pairwise(habits)]
    worked = [gap for gap in gaps if timedelta() < gap < PAUSE]
    seconds = sum(worked, timedelta()).total_seconds()
    return 3600 * len(worked) / seconds if seconds else None


def _shares(project: Project, person: int, habits: Sequence[Habit]) -> dict[str, float]:
    """The share of each answer as it was on screen, where one who always presses the same key stands out."""
    kind = QuestionKind(project.question_kind)
    counts = Counter(
        presentation.answer(
            kind, person, habit.triplet_id, (habit.anchor_id, habit.left_id, habit.right_id), habit.value
        )
        for habit in habits
    )
    return {value: counts[value] / len(habits) for value in VALUES[kind]} if habits else {}
