"""How people answer, told from their newest answers, from what others said, and from the last run."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from sqlalchemy.orm import Session

from app.answers import queries
from app.answers.queries import Habit
from app.answers.schemas import LabelerList, LabelerOut
from app.clustering import results
from app.clustering.queries import last_done
from app.dashboard.queries import withdrawn
from app.dashboard.service import given_by_labeler
from app.labeling import showing
from app.labeling.canonical import VALUES
from app.models import Project, QuestionKind
from app.storage import Storage

# A pause of this length is no work.
PAUSE = timedelta(minutes=5)


def page(session: Session, storage: Storage, project: Project, after: int, limit: int) -> LabelerList:
    """Describe up to `limit` people, the busiest first, behind so many of them."""
    answers = given_by_labeler(session, project) - Counter(withdrawn(session, project.id))
    ordered = sorted(answers, key=lambda person: (-answers[person], person))
    people = ordered[after : after + limit]
    more = after + limit < len(ordered)
    names = queries.names(session, project.id, people)
    aside = queries.set_aside_counts(session, project.id)
    run = last_done(session, project.id)
    said_of = {one.labeler: one for one in results.labeler_report(storage, run)} if run else {}
    habits = _habits(session, project, people)
    return LabelerList(
        run=run.number if run else None,
        labelers=[
            LabelerOut(
                labeler=person,
                name=names[person],
                answers=answers[person],
                set_aside=aside.get(person, (0, 0))[0],
                set_aside_at_once=aside.get(person, (0, 0))[1],
                expected=said_of[person].predicted if person in said_of else None,
                quality=said_of[person].quality if person in said_of else None,
                accuracy=said_of[person].accuracy if person in said_of else None,
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
    said = queries.said_by_all(session, asked)
    return {person: _habits_of(project, person, habits, said) for person, habits in by_person.items()}


def _habits_of(
    project: Project, person: int, habits: list[Habit], said: dict[int, list[tuple[int, str]]]
) -> dict[str, Any]:
    times = [habit.response_ms for habit in habits if habit.response_ms is not None]
    alike = [
        others.count(habit.value) / len(others)
        for habit in habits
        if (others := [value for other, value in said.get(habit.triplet_id, []) if other != person])
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
    """How often each answer was given, as it was on screen: whoever always presses the same key stands out."""
    given = Counter(
        showing.answer(project, person, one.triplet_id, (one.anchor_id, one.left_id, one.right_id), one.value)
        for one in habits
    )
    values = VALUES[QuestionKind(project.question_kind)]
    return {value: given[value] / len(habits) for value in values} if habits else {}
