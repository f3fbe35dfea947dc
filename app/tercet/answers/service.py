"""What an analyst decides about answers: to set aside or put back one answer, or all of one labeler. Each is logged.

An answer set aside is not withdrawn: it stays its labeler's and counts as theirs, but runs do not use it, and its
question may be asked of others again.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.database import Database
from tercet.labeling import queue
from tercet.labeling.queries import answer_of_project
from tercet.live import events
from tercet.models import Answer, Decision, Project, Triplet, User, Verdict
from tercet.runs.queries import lock_project
from tercet.runs.schedule import answers_changed
from tercet.web.errors import Conflict, NotFound

AT_ONCE = 500
NOTHING = {
    Verdict.SET_ASIDE: "None of this labeler's answers is used: there is nothing to set aside.",
    Verdict.PUT_BACK: "This labeler's answers were not set aside all at once: there is nothing to put back.",
}
# Where questions stand that are asked again: one that was looked at comes soon, those of a labeler who cannot be
# trusted, who may have answered hundreds, come after everything else.
SOON, LAST = 1.0, 0.0


def set_aside(session: Session, access: Access, answer_id: UUID, reason: str) -> Decision:
    """Set one answer aside: runs do not use it until it is put back."""
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
    return _announce(session, project, decision)


def put_back(session: Session, access: Access, answer_id: UUID) -> Decision:
    """Put one answer back: runs use it again."""
    project = lock_project(session, access.project.id)
    answer = _find(session, project, answer_id)
    if answer.set_aside_id is None:
        raise Conflict(f"Answer {answer.number} is not set aside.")
    answer.set_aside_id = None
    session.flush()
    queue.close(session, project, [answer.triplet_id])
    return _announce(session, project, _log(session, access, Verdict.PUT_BACK, answer.labeler_id, answer.number, 1))


def set_labeler_aside(database: Database, access: Access, labeler_id: int, reason: str) -> Decision:
    """Set all answers of a labeler aside that are used now; those that they give later are used."""
    return _decide_all(database, access, Verdict.SET_ASIDE, labeler_id, reason)


def put_labeler_back(database: Database, access: Access, labeler_id: int) -> Decision:
    """Put a labeler's answers back that were set aside all at once; those set aside one by one stay so."""
    return _decide_all(database, access, Verdict.PUT_BACK, labeler_id, "")


def _decide_all(database: Database, access: Access, verdict: Verdict, labeler_id: int, reason: str) -> Decision:
    """Decide in short transactions, so that labelers need not wait; sent again, a decision that was cut off goes on."""
    decision_id: int | None = None
    while True:
        with database.transaction() as session:
            project = lock_project(session, access.project.id)
            if decision_id is None:
                decision = _log(session, access, verdict, _labeler(session, project, labeler_id), None, 0, reason)
            else:
                decision = session.get_one(Decision, decision_id)
            triplet_ids = _decide_some(session, project, decision)
            decision.answers += len(triplet_ids)
            if not decision.answers:
                raise Conflict(NOTHING[verdict])
            if len(triplet_ids) < AT_ONCE:
                return _announce(session, project, decision)
            decision_id = decision.id


def _decide_some(session: Session, project: Project, decision: Decision) -> Sequence[int]:
    """Apply a decision about a labeler to some answers that it has not reached; return the ids of their triplets."""
    aside = decision.verdict == Verdict.SET_ASIDE
    undecided = select(Answer.id).limit(AT_ONCE)
    if aside:
        of_labeler = (Answer.project_id == project.id) & (Answer.labeler_id == decision.labeler_id)
        undecided = undecided.where(of_labeler, Answer.counts)
    else:
        of_labeler = (Decision.project_id == project.id) & (Decision.labeler_id == decision.labeler_id)
        undecided = undecided.join(Decision, Decision.id == Answer.set_aside_id)
        undecided = undecided.where(of_labeler, Decision.answer_number.is_(None))
    triplet_ids = session.scalars(
        update(Answer)
        .where(Answer.id.in_(undecided))
        .values(set_aside_id=decision.id if aside else None)
        .returning(Answer.triplet_id)
        .execution_options(synchronize_session=False)
    ).all()
    if aside:
        _ask_again(session, project, triplet_ids, LAST)
    else:
        queue.close(session, project, triplet_ids)
    return triplet_ids


def _find(session: Session, project: Project, answer_id: UUID) -> Answer:
    answer = answer_of_project(session, project.id, answer_id)
    if answer is None:
        raise NotFound(f"There is no answer {answer_id} in this project.")
    return answer


def _labeler(session: Session, project: Project, labeler_id: int) -> int:
    """Return the labeler if they have answered in the project, or raise."""
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
    queue.reopen(session, project, triplet_ids, func.coalesce(Triplet.priority, priority))


def _announce(session: Session, project: Project, decision: Decision) -> Decision:
    """Let open pages know, and queue a run that uses the answers as they are now."""
    events.record(session, project.id, ("project", {"changed": "answers", decision.verdict: decision.answers}))
    answers_changed(session, project)
    return decision
