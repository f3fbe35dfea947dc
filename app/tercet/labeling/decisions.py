"""Decisions about stored answers, and their effects: answers are set aside, put back, or held for an analyst.

An answer that is set aside is not withdrawn: it stays in its labeler's progress, but runs do not use it, and its
question may be asked again, of others.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, String, and_, cast, exists, func, select, update
from sqlalchemy.orm import Session, aliased

from tercet.audit import chain
from tercet.labeling import queue
from tercet.live import events
from tercet.models import Answer, Decision, Project, Source, Triplet, Verdict
from tercet.runs.schedule import answers_changed

AT_ONCE = 500
# The name beside decisions that no person made.
AUTOMATIC = "Tercet"
# Priorities of questions that are asked again: one whose answer an analyst set aside comes soon; those of a labeler who
# cannot be trusted may be hundreds, and come after everything else.
SOON, LAST = 1.0, 0.0

# The labeling page once took answers to questions whose pictures it had not shown yet. Such answers have no response
# time. Nor have those that were imported, but their ids are not random, or their questions came with them.
_RANDOM_ID = func.substr(func.replace(cast(Answer.id, String), "-", ""), 13, 1) == "4"
_question = aliased(Triplet)
_QUEUED = exists().where(_question.id == Answer.triplet_id, _question.source != Source.CLIENT)
MAY_BE_UNSEEN = and_(Answer.response_ms.is_(None), _RANDOM_ID, _QUEUED)

# Of an answer that was withdrawn: its labeler has answered the question again.
_other = aliased(Answer)
ANSWERED_AGAIN = exists().where(
    _other.triplet_id == Answer.triplet_id,
    _other.labeler_id == Answer.labeler_id,
    _other.withdrawn_at.is_(None) | (_other.number > Answer.number),
)


def log(
    session: Session, project: Project, verdict: Verdict, labeler_id: int, by_id: int | None, reason: str
) -> Decision:
    """Record a decision about all answers of a labeler; for one answer the caller adds its number."""
    decision = Decision(
        project_id=project.id, verdict=verdict, labeler_id=labeler_id, answers=0, by_id=by_id, reason=reason.strip()
    )
    session.add(decision)
    session.flush()
    if by_id is not None:
        about = {"decision": decision.id, "labeler": labeler_id, "reason": decision.reason}
        chain.record(session, f"answers: {verdict}", project=project, after=about)
    return decision


def apply_to_some(session: Session, project: Project, decision: Decision) -> Sequence[int]:
    """Apply a decision about a labeler to the next `AT_ONCE` answers; return the ids of their triplets."""
    aside = decision.verdict != Verdict.PUT_BACK
    triplet_ids = session.scalars(
        update(Answer)
        .where(Answer.id.in_(_undecided(project, decision).order_by(Answer.number).limit(AT_ONCE)))
        .values(**_marks(decision))
        .returning(Answer.triplet_id)
        .execution_options(synchronize_session=False)
    ).all()
    decision.answers += len(triplet_ids)
    if decision.withdrawn:
        queue.end_leases(session, triplet_ids, decision.labeler_id)
    if aside:
        ask_again(session, project, triplet_ids, LAST)
    else:
        queue.close(session, project, triplet_ids)
    return triplet_ids


def _marks(decision: Decision) -> dict[str, Any]:
    """Return what answers get by a decision about several."""
    if decision.withdrawn:
        return {"withdrawn_at": None}
    return {"set_aside_id": None if decision.verdict == Verdict.PUT_BACK else decision.id}


def _undecided(project: Project, decision: Decision) -> Select[*tuple[object, ...]]:
    of_project = (Decision.project_id == project.id) & (Decision.labeler_id == decision.labeler_id)
    at_once = select(Decision.id).where(
        of_project, Decision.answer_number.is_(None), Decision.unseen == decision.unseen
    )
    answers = select(Answer.id).where(Answer.project_id == project.id, Answer.labeler_id == decision.labeler_id)
    return answers.where(_is_undecided(decision, at_once))


def _is_undecided(decision: Decision, at_once: Select[*tuple[object, ...]]) -> ColumnElement[bool]:
    match decision.verdict:
        case Verdict.HELD:
            # Answers sent by a program have no response time: holds are about answers on the page. Those that an
            # analyst has put back one by one are not held again, nor is what came before the newest one on hold.
            reached = select(func.coalesce(func.max(Answer.number), 0)).where(Answer.set_aside_id == decision.id)
            put_back = select(Decision.answer_number).where(
                Decision.project_id == decision.project_id,
                Decision.labeler_id == decision.labeler_id,
                Decision.verdict == Verdict.PUT_BACK,
                Decision.answer_number.is_not(None),
            )
            later = (Answer.number > reached.scalar_subquery()) & Answer.number.not_in(put_back)
            return Answer.counts & Answer.response_ms.is_not(None) & later
        case Verdict.SET_ASIDE if decision.unseen:
            return Answer.counts & MAY_BE_UNSEEN
        case Verdict.SET_ASIDE:
            held = at_once.where(Decision.verdict == Verdict.HELD)
            return Answer.counts | (Answer.withdrawn_at.is_(None) & Answer.set_aside_id.in_(held))
        case _ if decision.withdrawn:
            return Answer.withdrawn_at.is_not(None) & ~Answer.erased & ~ANSWERED_AGAIN
        case _:
            return Answer.set_aside_id.in_(at_once)


def ask_again(session: Session, project: Project, triplet_ids: Sequence[int], priority: float) -> None:
    """Queue questions that have too few answers now; those still in the queue keep their place."""
    queue.reopen(session, project, triplet_ids, func.coalesce(Triplet.priority, priority))


def announce(session: Session, project: Project, decision: Decision) -> Decision:
    """Record an event for open pages, and queue a run that uses the answers as they are now."""
    events.record(session, project.id, ("project", {"changed": "answers", decision.verdict: decision.answers}))
    answers_changed(session, project)
    return decision
