"""What an analyst decides about answers: set aside, put back, one answer or all of one labeler; each is logged.

An answer set aside is not withdrawn: it stays its labeler's and counts as theirs, but runs do not use it, and its
question may be asked of others again.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app import events
from app.accounts.access import Access
from app.clustering.queries import lock_project
from app.clustering.schedule import answers_changed
from app.database import Database
from app.errors import Conflict, NotFound
from app.labeling import statements
from app.labeling.queries import answer_of_project
from app.models import Answer, Decision, Project, Triplet, User, Verdict

AT_ONCE = 500
NOTHING = {
    Verdict.SET_ASIDE: "None of this labeler's answers is used: there is nothing to set aside.",
    Verdict.PUT_BACK: "This labeler's answers were not set aside all at once: there is nothing to put back.",
}
# Where questions stand that are asked again: one that was looked at comes soon, those of a labeler who cannot be
# trusted, who may have answered hundreds, come after everything else.
SOON, LAST = 1.0, 0.0


def set_aside(session: Session, access: Access, answer_id: UUID, reason: str) -> Decision:
    """Keep one answer from being used."""
    project = lock_project(session, access.project.id)
    answer = _find(session, project, answer_id)
    if answer.withdrawn_at is not None:
        raise Conflict(f"Answer {answer.number} was withdrawn by its labeler: runs do not use it anyway.")
    if answer.set_aside_id is not None:
        raise Conflict(f"Answer {answer.number} is set aside already, {_whose(session, answer.set_aside_id)}.")
    decision = _log(session, access, Verdict.SET_ASIDE, answer.labeler_id, answer.number, 1, reason)
    answer.set_aside_id = decision.id
    session.flush()
    _ask_again(session, project, [answer.triplet_id], SOON)
    return _tell(session, project, decision)


def put_back(session: Session, access: Access, answer_id: UUID) -> Decision:
    """Let one answer be used again."""
    project = lock_project(session, access.project.id)
    answer = _find(session, project, answer_id)
    if answer.set_aside_id is None:
        raise Conflict(f"Answer {answer.number} is not set aside.")
    answer.set_aside_id = None
    session.flush()
    _close(session, project, [answer.triplet_id])
    return _tell(session, project, _log(session, access, Verdict.PUT_BACK, answer.labeler_id, answer.number, 1))


def set_labeler_aside(database: Database, access: Access, labeler_id: int, reason: str) -> Decision:
    """Keep every answer that a labeler has given from being used; those that they will give are."""
    return _decide_all(database, access, Verdict.SET_ASIDE, labeler_id, reason)


def put_labeler_back(database: Database, access: Access, labeler_id: int) -> Decision:
    """Undo that: those answers of a labeler that were set aside one by one stay so."""
    return _decide_all(database, access, Verdict.PUT_BACK, labeler_id, "")


def _decide_all(database: Database, access: Access, verdict: Verdict, labeler_id: int, reason: str) -> Decision:
    """Decide in short transactions, so that labelers need not wait; one that is cut off is taken up by the next."""
    begun: int | None = None
    while True:
        with database.transaction() as session:
            project = lock_project(session, access.project.id)
            if begun is None:
                decision = _log(session, access, verdict, _known(session, project, labeler_id), None, 0, reason)
            else:
                decision = session.get_one(Decision, begun)
            asked = _decide_some(session, project, decision)
            decision.answers += len(asked)
            if not decision.answers:
                raise Conflict(NOTHING[verdict])
            if len(asked) < AT_ONCE:
                return _tell(session, project, decision)
            begun = decision.id


def _decide_some(session: Session, project: Project, decision: Decision) -> Sequence[int]:
    """Apply a decision about a labeler to some answers that it has not reached; give their questions."""
    aside = decision.verdict == Verdict.SET_ASIDE
    left = select(Answer.id).limit(AT_ONCE)
    if aside:
        of_labeler = (Answer.project_id == project.id) & (Answer.labeler_id == decision.labeler_id)
        left = left.where(of_labeler, Answer.withdrawn_at.is_(None), Answer.set_aside_id.is_(None))
    else:
        of_labeler = (Decision.project_id == project.id) & (Decision.labeler_id == decision.labeler_id)
        left = left.join(Decision, Decision.id == Answer.set_aside_id)
        left = left.where(of_labeler, Decision.answer_number.is_(None))
    asked = session.scalars(
        update(Answer)
        .where(Answer.id.in_(left))
        .values(set_aside_id=decision.id if aside else None)
        .returning(Answer.triplet_id)
        .execution_options(synchronize_session=False)
    ).all()
    if aside:
        _ask_again(session, project, asked, LAST)
    else:
        _close(session, project, asked)
    return asked


def _find(session: Session, project: Project, answer_id: UUID) -> Answer:
    answer = answer_of_project(session, project.id, answer_id)
    if answer is None:
        raise NotFound(f"There is no answer {answer_id} in this project.")
    return answer


def _known(session: Session, project: Project, labeler_id: int) -> int:
    answered = select(Answer.id).where(Answer.project_id == project.id, Answer.labeler_id == labeler_id)
    if session.scalar(answered.limit(1)) is None:
        raise NotFound(f"Nobody with the number {labeler_id} has answered in this project.")
    return labeler_id


def _whose(session: Session, decision_id: int) -> str:
    statement = select(User.name, Decision.created_at).join(Decision, Decision.by_id == User.id)
    name, at = session.execute(statement.where(Decision.id == decision_id)).one()
    return f"by {name}, at {at:%Y-%m-%d %H:%M} UTC"


def _log(
    session: Session,
    access: Access,
    verdict: Verdict,
    labeler_id: int,
    answer_number: int | None,
    answers: int,
    reason: str = "",
) -> Decision:
    decision = Decision(
        project_id=access.project.id,
        verdict=verdict,
        labeler_id=labeler_id,
        answer_number=answer_number,
        answers=answers,
        by_id=access.user.id,
        reason=reason.strip(),
    )
    session.add(decision)
    session.flush()
    return decision


def _ask_again(session: Session, project: Project, triplet_ids: Sequence[int], priority: float) -> None:
    """Queue questions that have too few answers now; those still in the queue keep their place."""
    session.execute(
        update(Triplet)
        .where(Triplet.id.in_(triplet_ids), project.redundancy > statements.COUNTED_ANSWERS)
        .values(priority=func.coalesce(Triplet.priority, priority))
        .execution_options(synchronize_session=False)
    )


def _close(session: Session, project: Project, triplet_ids: Sequence[int]) -> None:
    """Take questions that have enough answers again out of the queue."""
    session.execute(statements.CLOSE_ANSWERED, {"ids": list(triplet_ids), "redundancy": project.redundancy})


def _tell(session: Session, project: Project, decision: Decision) -> Decision:
    """Let open pages know, and have a run look at the answers anew."""
    events.record(session, project.id, ("project", {"changed": "answers", decision.verdict: decision.answers}))
    answers_changed(session, project)
    return decision
