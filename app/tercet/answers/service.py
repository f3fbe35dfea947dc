"""Sets aside or puts back one answer, or all of one labeler or of a labeling link; each decision is logged.

Answers that Tercet put on hold are decided on in the same way: to set them aside is to agree.
"""

from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.accounts.queries import came_by
from tercet.accounts.service import find_share_link
from tercet.answers import queries
from tercet.answers.queries import UnseenAnswers
from tercet.database import Database
from tercet.errors import Conflict, NotFound
from tercet.labeling import decisions, queue
from tercet.labeling.queries import answer_of_project
from tercet.models import Answer, Decision, Project, User, Verdict, now
from tercet.runs.queries import lock_project

NOTHING = {
    Verdict.SET_ASIDE: "None of this labeler's answers is used: there is nothing to set aside.",
    Verdict.PUT_BACK: "This labeler's answers were not set aside all at once: there is nothing to put back.",
}

NO_WITHDRAWN = "This labeler has withdrawn nothing that they have not answered again: there is nothing to put back."
NOTHING_OF_LINK = {
    Verdict.SET_ASIDE: "Nobody who came by this link has answers that are used: there is nothing to set aside.",
    Verdict.PUT_BACK: "No answers of those who came by this link were set aside all at once.",
}
NO_UNSEEN = {
    Verdict.SET_ASIDE: "Every answer that runs use has a response time: there is nothing to set aside.",
    Verdict.PUT_BACK: "No answer is set aside for having no response time: there is nothing to put back.",
}
UNSEEN = "no response time: perhaps given before the pictures were there"


class LinkDecision(NamedTuple):
    """A decision about everybody who came by a link: how many labelers it was about, and answers."""

    verdict: Verdict
    labelers: int
    answers: int


def set_aside(session: Session, access: Access, answer_id: UUID, reason: str) -> Decision:
    """Set one answer aside: runs do not use it until it is put back."""
    project = lock_project(session, access.project.id)
    answer = _find(session, project, answer_id)
    if answer.withdrawn_at is not None:
        raise Conflict(f"Answer {answer.number} was withdrawn by its labeler: runs do not use it anyway.")
    if answer.set_aside_id is not None:
        raise Conflict(f"Answer {answer.number} is set aside already, {_whose(session, answer.set_aside_id)}.")
    decision = _log_one(session, access, Verdict.SET_ASIDE, answer, reason)
    answer.set_aside_id = decision.id
    session.flush()
    decisions.ask_again(session, project, [answer.triplet_id], decisions.SOON)
    return decisions.announce(session, project, decision)


def put_back(session: Session, access: Access, answer_id: UUID) -> Decision:
    """Put one answer back that was set aside or withdrawn: runs use it again."""
    project = lock_project(session, access.project.id)
    answer = _find(session, project, answer_id)
    if answer.counts:
        raise Conflict(f"Answer {answer.number} is used: it is neither set aside nor withdrawn.")
    if answer.erased:
        raise Conflict(f"Answer {answer.number} was removed with its labeler: there is nothing to put back.")
    was_withdrawn = answer.withdrawn_at is not None
    if was_withdrawn:
        _check_not_replaced(session, answer)
        queue.end_leases(session, [answer.triplet_id], answer.labeler_id)
    answer.set_aside_id = answer.withdrawn_at = None
    session.flush()
    queue.close(session, project, [answer.triplet_id])
    decision = _log_one(session, access, Verdict.PUT_BACK, answer)
    decision.withdrawn = was_withdrawn
    return decisions.announce(session, project, decision)


def _check_not_replaced(session: Session, answer: Answer) -> None:
    same = (Answer.triplet_id == answer.triplet_id) & (Answer.labeler_id == answer.labeler_id)
    standing = select(Answer.number).where(same, Answer.withdrawn_at.is_(None))
    if (number := session.scalar(standing)) is not None:
        raise Conflict(f"Its labeler has answered this question again since: answer {number} stands.")


def mark_right(session: Session, access: Access, answer_id: UUID) -> Answer:
    """Say that an answer is right: its question is asked of others, at the project's share, to see how they answer."""
    project = lock_project(session, access.project.id)
    answer = _find(session, project, answer_id)
    if not answer.counts:
        raise Conflict(
            f"Answer {answer.number} is not used: one that was withdrawn or set aside cannot be the right one."
        )
    to_same = (Answer.triplet_id == answer.triplet_id) & Answer.known_at.is_not(None)
    if (other := session.scalar(select(Answer).where(to_same, Answer.value != answer.value))) is not None:
        raise Conflict(f"Answer {other.number} says otherwise and is marked as right: take that back first.")
    answer.known_at = answer.known_at or now()
    return answer


def unmark_right(session: Session, access: Access, answer_id: UUID) -> Answer:
    """Take back that an answer is right."""
    answer = _find(session, lock_project(session, access.project.id), answer_id)
    if answer.known_at is None:
        raise Conflict(f"Answer {answer.number} is not marked as right.")
    answer.known_at = None
    return answer


def set_labeler_aside(database: Database, access: Access, labeler_id: int, reason: str) -> Decision:
    """Set all answers of a labeler aside that are used now; those that they give later are used."""
    return _decide_all(database, access, Verdict.SET_ASIDE, labeler_id, reason)


def put_labeler_back(database: Database, access: Access, labeler_id: int) -> Decision:
    """Put a labeler's answers back that were set aside all at once; those set aside one by one stay so."""
    return _decide_all(database, access, Verdict.PUT_BACK, labeler_id, "")


def put_withdrawn_back(database: Database, access: Access, labeler_id: int) -> Decision:
    """Put back what a labeler withdrew, but for answers that they have replaced by another."""
    return _decide_all(database, access, Verdict.PUT_BACK, labeler_id, "", withdrawn=True)


def decide_link(database: Database, access: Access, link_id: int, verdict: Verdict, reason: str) -> LinkDecision:
    """Set all answers aside, or put them back, of everybody who came by a labeling link."""
    with database.reading() as session:
        came = [member.user_id for member in came_by(session, find_share_link(session, access.project, link_id).id)]
    decided = []
    for labeler_id in came:
        with suppress(Conflict, NotFound):  # of those who have not answered, or whose answers are so already
            decided.append(_decide_all(database, access, verdict, labeler_id, reason))
    if not decided:
        raise Conflict(NOTHING_OF_LINK[verdict])
    return LinkDecision(verdict, len(decided), sum(decision.answers for decision in decided))


def set_unseen_aside(database: Database, access: Access) -> UnseenAnswers:
    """Set aside what may have been answered before its pictures were seen, whoever answered."""
    return _decide_unseen(database, access, Verdict.SET_ASIDE)


def put_unseen_back(database: Database, access: Access) -> UnseenAnswers:
    """Put back what was set aside because it may have been answered unseen."""
    return _decide_unseen(database, access, Verdict.PUT_BACK)


def _decide_unseen(database: Database, access: Access, verdict: Verdict) -> UnseenAnswers:
    with database.reading() as session:
        people = queries.labelers_of_unseen(session, access.project.id, verdict)
    if not people:
        raise Conflict(NO_UNSEEN[verdict])
    for person in people:
        _decide_all(database, access, verdict, person, UNSEEN if verdict == Verdict.SET_ASIDE else "", unseen=True)
    with database.reading() as session:
        return queries.unseen(session, access.project.id)


def _decide_all(
    database: Database,
    access: Access,
    verdict: Verdict,
    labeler_id: int,
    reason: str,
    *,
    unseen: bool = False,
    withdrawn: bool = False,
) -> Decision:
    """Decide in short transactions, so that labelers need not wait; to resume one that was cut off, send it again."""
    decision_id: int | None = None
    while True:
        with database.transaction() as session:
            project = lock_project(session, access.project.id)
            if decision_id is None:
                person = _labeler(session, project, labeler_id)
                decision = decisions.log(session, project, verdict, person, access.user.id, reason)
                decision.unseen, decision.withdrawn = unseen, withdrawn
            else:
                decision = session.get_one(Decision, decision_id)
            triplet_ids = decisions.apply_to_some(session, project, decision)
            if not decision.answers:
                raise Conflict(NO_WITHDRAWN if withdrawn else NOTHING[verdict])
            if len(triplet_ids) < decisions.AT_ONCE:
                return decisions.announce(session, project, decision)
            decision_id = decision.id


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
    statement = select(User.name, Decision.created_at).join_from(
        Decision, User, Decision.by_id == User.id, isouter=True
    )
    name, at = session.execute(statement.where(Decision.id == decision_id)).one()
    return f"by {name or decisions.AUTOMATIC}, at {at:%Y-%m-%d %H:%M} UTC"


def _log_one(session: Session, access: Access, verdict: Verdict, answer: Answer, reason: str = "") -> Decision:
    decision = decisions.log(session, access.project, verdict, answer.labeler_id, access.user.id, reason)
    decision.answer_number, decision.answers = answer.number, 1
    session.flush()
    return decision
