"""Takes out and erases what is stored about a labeler.

The audit log is left as it is: nobody can change it. It says who came by a link, from where and when.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from tercet.accounts.queries import has_contributed
from tercet.accounts.service import end_labeling
from tercet.audit import chain
from tercet.database import Database
from tercet.errors import Conflict, NotFound
from tercet.labeling.decisions import AT_ONCE, LAST, ask_again
from tercet.live import events
from tercet.models import Answer, Decision, Flag, Membership, Project, Role, ShareLink, Skip, Triplet, User, now
from tercet.people import queries
from tercet.people.schemas import (
    AnswerData,
    AnswersOfErased,
    AuditData,
    DecisionData,
    FlagData,
    LabelerData,
    SignInData,
    SkipData,
)
from tercet.runs.queries import lock_project
from tercet.runs.schedule import answers_changed


@dataclass(frozen=True)
class Erased:
    """Who was erased, and what became of their answers: kept under a pseudonym, or removed if there is none."""

    labeler: int
    answers: int
    pseudonym: str | None


def everything_about(session: Session, project: Project, labeler_id: int) -> LabelerData:
    """Return everything that is stored about a labeler in a project."""
    user, member = find(session, project, labeler_id)
    here = (session, project.id, labeler_id)
    browsers = [] if user.has_account else queries.sign_ins(session, user.id)
    chain.record(session, "data of a labeler taken out", project=project, after={"labeler": user.id})
    return LabelerData(
        labeler=user.id,
        name=(member and member.participant) or user.name,
        email=user.email,
        role=member and member.role,
        joined_at=member and member.created_at,
        link=member and member.link_id,
        sign_ins=[
            SignInData(browser=row.browser, address=row.address, since=row.created_at, last_used_at=row.seen_at)
            for row in browsers
        ],
        answers=[_answer(*row) for row in queries.answers(*here)],
        skips=[SkipData(created_at=at, triplet=keys) for at, *keys in queries.skips(*here)],
        flags=[
            FlagData(item=key, reason=flag.reason, note=flag.note, created_at=flag.created_at)
            for flag, key in queries.flags(*here)
        ],
        decisions=[DecisionData.model_validate(row, from_attributes=True) for row in queries.decisions(*here)],
        audit=[
            AuditData.model_validate(row, from_attributes=True) for row in queries.audit(session, project.key, user.id)
        ],
    )


def _answer(*row: object) -> AnswerData:
    names = ("id", "number", "answer", "response_ms", "comment", "created_at", "withdrawn_at")
    return AnswerData.model_validate({**dict(zip(names, row, strict=False)), "triplet": row[len(names) :]})


def find(session: Session, project: Project, labeler_id: int) -> tuple[User, Membership | None]:
    """Find somebody who labels or has labeled in the project, or raise NotFound."""
    row = queries.labeler_of_project(session, project.id, labeler_id)
    if row is None:
        raise NotFound(f"Nobody with the number {labeler_id} labels in the project '{project.key}'.")
    return row


def erase(session: Session, project: Project, labeler_id: int, answers: AnswersOfErased) -> Erased:
    """Take away everything by which a labeler can be known in a project, and their answers too if these are to go."""
    lock_project(session, project.id)
    user, member = find(session, project, labeler_id)
    if user.is_pseudonym and answers == AnswersOfErased.KEEP:
        raise Conflict(f"{user.name} stands for somebody who was erased already.")
    if member is not None and member.role != Role.LABELER:
        raise Conflict(f"{user.name} is {member.role} of this project: remove them from it first.")
    end_labeling(session, project, user)
    project.erased_labelers += 1
    forget = _keep_answers if answers == AnswersOfErased.KEEP else _remove_answers
    erased = forget(session, project, user)
    _forget_questions(session, project, user)
    _leave(session, project, user, member)
    result = {"answers": erased.answers, "kept_as": erased.pseudonym}
    chain.record(session, "labeler erased", project=project, before={"labeler": labeler_id}, after=result)
    return erased


def _keep_answers(session: Session, project: Project, user: User) -> Erased:
    """Give answers, flags and decisions to somebody new without a name; what was written goes."""
    stand_in = _stand_in(session)
    count = len(_change_answers(session, project, user, labeler_id=stand_in.id, comment=""))
    for table, changes in ((Decision, {}), (Flag, {"note": ""})):
        theirs = update(table).where(table.project_id == project.id, table.labeler_id == user.id)
        session.execute(theirs.values(labeler_id=stand_in.id, **changes))
    return Erased(user.id, count, stand_in.name)


def _remove_answers(session: Session, project: Project, user: User) -> Erased:
    """Take from answers what they say, and remove flags and decisions; a run does without them.

    The rows stay, withdrawn: numbers without answers would look like lost ones. Their questions are asked again.
    """
    empty = {"value": "dnk", "response_ms": None, "comment": "", "known_at": None, "set_aside_id": None, "erased": True}
    withdrawn_at = func.coalesce(Answer.withdrawn_at, now())
    triplets = _change_answers(
        session, project, user, labeler_id=_stand_in(session).id, withdrawn_at=withdrawn_at, **empty
    )
    for table in (Decision, Flag):
        session.execute(delete(table).where(table.project_id == project.id, table.labeler_id == user.id))
    for start in range(0, len(triplets), AT_ONCE):
        ask_again(session, project, triplets[start : start + AT_ONCE], LAST)
    events.record(session, project.id, ("project", {"changed": "answers"}))
    answers_changed(session, project)
    return Erased(user.id, len(triplets), None)


def _stand_in(session: Session) -> User:
    """Make a user whom nobody can be, and whose name says so."""
    user = User(name="Erased labeler", is_pseudonym=True)
    session.add(user)
    session.flush()
    user.name = f"Erased labeler {user.id}"
    return user


def _change_answers(session: Session, project: Project, user: User, **changes: Any) -> Sequence[int]:
    """Change all answers of a labeler; return the ids of their triplets."""
    of_user = update(Answer).where(Answer.project_id == project.id, Answer.labeler_id == user.id)
    changed = of_user.values(changes).returning(Answer.triplet_id).execution_options(synchronize_session=False)
    return session.scalars(changed).all()


def _forget_questions(session: Session, project: Project, user: User) -> None:
    """Forget what somebody skipped, and ask anybody what was reserved for them."""
    of_project = select(Triplet.id).where(Triplet.project_id == project.id)
    session.execute(delete(Skip).where(Skip.labeler_id == user.id, Skip.triplet_id.in_(of_project)))
    reserved = update(Triplet).where(Triplet.project_id == project.id, Triplet.asked_of == user.id)
    session.execute(reserved.values(asked_of=None))


def _leave(session: Session, project: Project, user: User, member: Membership | None) -> None:
    """End the membership and, of those who label here alone, the user with every link that was theirs."""
    if member is not None:
        session.delete(member)
    session.execute(delete(ShareLink).where(ShareLink.project_id == project.id, ShareLink.user_id == user.id))
    session.flush()
    elsewhere = session.scalar(select(Membership.id).where(Membership.user_id == user.id).limit(1))
    if elsewhere is None and not user.has_account and not has_contributed(session, user.id):
        session.delete(user)
        session.flush()


def erase_silent(database: Database) -> None:
    """Erase the labelers who have not answered for longer than their project keeps names; their answers stay."""
    with database.reading() as session:
        silent = queries.silent_for_long(session)
    for project_id, labeler_id in silent:
        with database.transaction() as session:
            erase(session, session.get_one(Project, project_id), labeler_id, AnswersOfErased.KEEP)
