"""Who answers without looking: signs in speed, keys and what the answers say, and the hold that follows.

A hold is a decision that nobody has made yet: runs leave out what the labeler answered on the page, and will answer,
until an analyst puts it back or sets it aside. Who was put back once is not held again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling import decisions, presentation
from tercet.models import Answer, Decision, Project, QuestionKind, Triplet, Verdict
from tercet.runs.queries import lock_project
from tercet.runs.results import Array

NEWEST = 40  # answers of a labeler that show speed and keys
# Nobody hears or sees three items in this time.
FAST_MS, FEWEST_TIMED, FAST_SHARE = 500, 20, 0.5
# Sides are drawn anew for every question, so that a person who looks presses each key about as often.
FEWEST_DECIDED, ONE_KEY_SHARE = 25, 0.95
# Answers foreseen, and the share of what others' answers show, by so many standard errors, that a labeler's stay below.
FEWEST_FORESEEN, LEAST_SHARE, ERRORS_BELOW = 40, 0.5, 3.0
MOST_FORESEEN = 20_000  # the newest; more change no sentence


@dataclass(frozen=True)
class Dependence:
    """How far answers go with what was foreseen of them: 0 for answers by chance, with its standard error."""

    slope: float
    error: float


def dependence(foreseen: Array, columns: Array) -> Dependence:
    """Measure answers (n,), as columns of what was foreseen (n, A), against the same answers in any other order.

    The slope of what was answered on what was foreseen, both less their means over the labeler's answers: zero in
    expectation for whoever does not look at the items, whatever keys they like; its error is robust (White 1980).
    """
    answered = np.eye(foreseen.shape[1])[columns]
    y, x = answered - answered.mean(axis=0), foreseen - foreseen.mean(axis=0)
    spread = float((x**2).sum())
    if spread < 1e-12 * x.size:
        return Dependence(0.0, np.inf)
    slope = float((x * y).sum()) / spread
    scores = (x * (y - slope * x)).sum(axis=1)
    return Dependence(slope, float(np.sqrt((scores**2).sum())) / spread)


def uninformed(labelers: Array, foreseen: Array, columns: Array) -> dict[int, str]:
    """Return the labelers whose answers clearly depend on the items less than half as far as others' do.

    Parameters
    ----------
    labelers : array of shape (M,)
        Who gave each answer.
    foreseen : array of shape (M, A)
        P of each possible answer under a run that had not used the answer; NaN where there was none.
    columns : array of shape (M,)
        The column of the answer that was given.
    """
    known = np.flatnonzero(np.isfinite(foreseen).all(axis=1))[-MOST_FORESEEN:]
    labelers, foreseen, columns = labelers[known], foreseen[known], columns[known]
    everybody, counts = np.unique(labelers, return_counts=True)
    reasons = {}
    for labeler in everybody[(counts >= FEWEST_FORESEEN) & (len(labelers) - counts >= FEWEST_FORESEEN)].tolist():
        own = labelers == labeler
        theirs, others = dependence(foreseen[own], columns[own]), dependence(foreseen[~own], columns[~own])
        apart = ERRORS_BELOW * np.hypot(theirs.error, others.error)
        if others.slope > 0 and theirs.slope < min(LEAST_SHARE * others.slope, others.slope - apart):
            reasons[labeler] = (
                f"The last {own.sum()} answers hardly depend on the items: they go with what was expected "
                f"{max(0.0, theirs.slope) / others.slope:.0%} as far as the answers of others do."
            )
    return reasons


def careless(pressed: Sequence[str], milliseconds: Sequence[int]) -> str | None:
    """Say what is wrong with the speed or the keys of a labeler's newest answers; None where nothing is."""
    fast = sum(time < FAST_MS for time in milliseconds)
    if len(milliseconds) >= FEWEST_TIMED and fast >= FAST_SHARE * len(milliseconds):
        return f"{fast} of the newest {len(milliseconds)} answers took less than half a second."
    decided = [value for value in pressed if value != "dnk"]
    same = max(map(decided.count, decided), default=0)
    if len(decided) >= FEWEST_DECIDED and same >= ONE_KEY_SHARE * len(decided):
        return f"{same} of the newest {len(decided)} answers that decide are the same key, whatever was on its side."
    return None


def check(database: Database, project_id: int, labelers: Collection[int], uninformed: dict[int, str]) -> None:
    """Hold the answers of those of the labelers who show a sign; `uninformed` says what their answers show."""
    reasons = dict(uninformed)
    with database.reading() as session:
        project = session.get_one(Project, project_id)
        decided = _last_verdicts(session, project_id)
        for labeler in sorted(labelers):
            reason = careless(*_newest_pressed(session, project, labeler))
            if reason is not None:
                reasons[labeler] = reason
    for labeler in reasons.keys() - {person for person in decided if decided[person] != Verdict.SET_ASIDE}:
        with database.transaction() as session:
            project = lock_project(session, project_id)
            _hold(session, project, decisions.log(session, project, Verdict.HELD, labeler, None, reasons[labeler]))


def extend(database: Database, project_id: int) -> None:
    """Hold also what labelers who are on hold have answered since."""
    with database.transaction() as session:
        held = [person for person, verdict in _last_verdicts(session, project_id).items() if verdict == Verdict.HELD]
        if held:
            project = lock_project(session, project_id)
            for decision in _newest(session, project_id, held):
                _hold(session, project, decision)


def reasons_by_labeler(session: Session, project_id: int) -> dict[int, str]:
    """Return why labelers are on hold, by labeler."""
    held = [person for person, verdict in _last_verdicts(session, project_id).items() if verdict == Verdict.HELD]
    return {decision.labeler_id: decision.reason for decision in _newest(session, project_id, held)}


def _hold(session: Session, project: Project, decision: Decision) -> None:
    before = decision.answers
    while len(decisions.apply_to_some(session, project, decision)) == decisions.AT_ONCE:
        pass
    if decision.answers > before:
        decisions.announce(session, project, decision)


def _last_verdicts(session: Session, project_id: int) -> dict[int, str]:
    """Return the newest verdict about all answers of a labeler, by labeler."""
    newest = _newest_ids(project_id)
    statement = select(Decision.labeler_id, Decision.verdict).where(Decision.id.in_(newest))
    return dict(session.execute(statement).all())


def _newest(session: Session, project_id: int, people: Sequence[int]) -> Sequence[Decision]:
    newest = _newest_ids(project_id).where(Decision.labeler_id.in_(people))
    return session.scalars(select(Decision).where(Decision.id.in_(newest)).order_by(Decision.id)).all()


def _newest_ids(project_id: int) -> Select[int]:
    about_all = (Decision.project_id == project_id) & Decision.answer_number.is_(None)
    return select(func.max(Decision.id)).where(about_all).group_by(Decision.labeler_id)


def _newest_pressed(session: Session, project: Project, labeler: int) -> tuple[list[str], list[int]]:
    """Return what the labeler pressed last on the page, as it stood on their screen, and how long each took."""
    of_page = (Answer.project_id == project.id) & (Answer.labeler_id == labeler) & Answer.response_ms.is_not(None)
    items = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
    columns = (Triplet.id, *items, Answer.value, Answer.response_ms)
    statement = select(*columns).join(Triplet, Triplet.id == Answer.triplet_id).where(of_page, Answer.counts)
    rows = session.execute(statement.order_by(Answer.number.desc()).limit(NEWEST)).all()
    kind = QuestionKind(project.question_kind)
    pressed = [
        presentation.answer(kind, labeler, triplet_id, (anchor, left, right), value)
        for triplet_id, anchor, left, right, value, _ in rows
    ]
    return pressed, [row.response_ms or 0 for row in rows]
