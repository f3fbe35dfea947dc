"""Holds the answers of labelers who seem to answer without looking, by their speed, their keys or the answers.

Runs do not use answers on hold. A hold covers what the labeler has answered on the page and will answer, until an
analyst puts the answers back or sets them aside. A labeler whose answers were put back is not held again.
"""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling import decisions, presentation
from tercet.models import Answer, Decision, Project, QuestionKind, Triplet, Verdict
from tercet.runs.queries import lock_project
from tercet.runs.results import LabelerReport

NEWEST = 40  # answers of a labeler from which speed and keys are judged
# Nobody looks at or listens to three items in less than this time.
FAST_MS, FEWEST_TIMED, FAST_SHARE = 500, 20, 0.5
# Sides are random in every question, so a labeler who looks presses each key about equally often.
FEWEST_DECIDED, ONE_KEY_SHARE = 25, 0.95
# Answers are held where the probability that they are independent of the items is at least this.
HELD_FROM = 0.9


def uninformed(reports: Iterable[LabelerReport]) -> dict[int, str]:
    """Return the labelers whose answers are almost surely independent of the items, each with a reason to hold them."""
    return {
        report.labeler: (
            f"With a probability of more than {HELD_FROM:.0%} these {report.answers:,} answers have nothing to do "
            "with the items: all the other answers predict them hardly better than chance."
        )
        for report in reports
        if report.doubt is not None and report.doubt >= HELD_FROM
    }


def careless(pressed: Sequence[str], milliseconds: Sequence[int]) -> str | None:
    """Return a sentence on what is wrong with the speed or the keys of a labeler's newest answers; None if nothing."""
    fast = sum(time < FAST_MS for time in milliseconds)
    if len(milliseconds) >= FEWEST_TIMED and fast >= FAST_SHARE * len(milliseconds):
        return f"{fast} of the newest {len(milliseconds)} answers took less than half a second."
    decided = [value for value in pressed if value != "dnk"]
    same = max(map(decided.count, decided), default=0)
    if len(decided) >= FEWEST_DECIDED and same >= ONE_KEY_SHARE * len(decided):
        return f"{same} of the newest {len(decided)} answers that decide are the same key, whatever was on its side."
    return None


def check(database: Database, project_id: int, labelers: Collection[int], uninformed: dict[int, str]) -> None:
    """Hold the answers of labelers who answer too fast or with one key, and of those in `uninformed`, with reasons."""
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
    """Extend holds to answers that came after them."""
    with database.transaction() as session:
        held = [person for person, verdict in _last_verdicts(session, project_id).items() if verdict == Verdict.HELD]
        if held:
            project = lock_project(session, project_id)
            for decision in _newest(session, project_id, held):
                _hold(session, project, decision)


def put_back(session: Session, project_id: int) -> set[int]:
    """Return the labelers whose answers an analyst has put back; they count in full."""
    return {person for person, verdict in _last_verdicts(session, project_id).items() if verdict == Verdict.PUT_BACK}


def reasons_by_labeler(session: Session, project_id: int) -> dict[int, str]:
    """Return the labelers who are on hold, each with the reason."""
    held = [person for person, verdict in _last_verdicts(session, project_id).items() if verdict == Verdict.HELD]
    newest = _newest(session, project_id, held) if held else ()
    return {decision.labeler_id: decision.reason for decision in newest}


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
    of_project = Decision.project_id == project_id
    return select(func.max(Decision.id)).where(of_project, Decision.about_all).group_by(Decision.labeler_id)


def _newest_pressed(session: Session, project: Project, labeler: int) -> tuple[list[str], list[int]]:
    """Return the labeler's newest answers on the page, as they pressed them, and their times in milliseconds."""
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
