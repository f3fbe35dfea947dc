"""Reads what is stored about a labeler, and who has not answered for long."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from tercet.models import (
    Answer,
    AuditEntry,
    BrowserSession,
    Decision,
    Flag,
    Item,
    Membership,
    Project,
    Role,
    Skip,
    Triplet,
    User,
    now,
)


def labeler_of_project(session: Session, project_id: int, labeler_id: int) -> tuple[User, Membership | None] | None:
    """Find somebody who is a member of the project or has answered in it, with their membership if they have one."""
    of_project = (Membership.user_id == User.id) & (Membership.project_id == project_id)
    answered = select(Answer.id).where(Answer.project_id == project_id, Answer.labeler_id == User.id).exists()
    query = select(User, Membership).outerjoin(Membership, of_project).where(User.id == labeler_id)
    row = session.execute(query.where(Membership.id.is_not(None) | answered)).first()
    return None if row is None else (row[0], row[1])


def sign_ins(session: Session, user_id: int) -> Sequence[BrowserSession]:
    """List the browsers in which somebody is signed in."""
    query = select(BrowserSession).where(BrowserSession.user_id == user_id, BrowserSession.expires_at > now())
    return session.scalars(query.order_by(BrowserSession.id)).all()


def _with_keys(*columns: Any) -> Select[Any]:
    """Build a statement that reads the keys of a triplet's items after the columns."""
    anchor, left, right = aliased(Item), aliased(Item), aliased(Item)
    return (
        select(*columns, anchor.key, left.key, right.key)
        .join(Triplet, Triplet.id == columns[0].class_.triplet_id)
        .join(anchor, anchor.id == Triplet.anchor_id)
        .join(left, left.id == Triplet.left_id)
        .join(right, right.id == Triplet.right_id)
    )


def answers(session: Session, project_id: int, labeler_id: int) -> Sequence[Any]:
    """List somebody's answers, each with the keys of its items."""
    query = _with_keys(
        Answer.id,
        Answer.number,
        Answer.value,
        Answer.response_ms,
        Answer.comment,
        Answer.created_at,
        Answer.withdrawn_at,
    )
    return session.execute(query.where(_by(Answer, project_id, labeler_id)).order_by(Answer.number)).all()


def skips(session: Session, project_id: int, labeler_id: int) -> Sequence[Any]:
    """List the questions that somebody skipped: when, and the keys of the items."""
    query = _with_keys(Skip.created_at).where(Triplet.project_id == project_id, Skip.labeler_id == labeler_id)
    return session.execute(query.order_by(Skip.id)).all()


def flags(session: Session, project_id: int, labeler_id: int) -> Sequence[Any]:
    """List what somebody flagged, each with the key of the item."""
    query = select(Flag, Item.key).join(Item, Item.id == Flag.item_id).where(_by(Flag, project_id, labeler_id))
    return session.execute(query.order_by(Flag.id)).all()


def decisions(session: Session, project_id: int, labeler_id: int) -> Sequence[Decision]:
    """List what was decided about somebody's answers."""
    return session.scalars(select(Decision).where(_by(Decision, project_id, labeler_id)).order_by(Decision.id)).all()


def audit(session: Session, project_key: str, user_id: int) -> Sequence[AuditEntry]:
    """List what somebody did, as the project's audit log has it."""
    query = select(AuditEntry).where(AuditEntry.project == project_key, AuditEntry.by_id == user_id)
    return session.scalars(query.order_by(AuditEntry.number)).all()


def _by(table: type[Answer] | type[Flag] | type[Decision], project_id: int, labeler_id: int) -> ColumnElement[bool]:
    return (table.project_id == project_id) & (table.labeler_id == labeler_id)


def silent_for_long(session: Session) -> Sequence[tuple[int, int]]:
    """List project and labeler of those without an account whose last answer is older than their project keeps names.

    Who was removed from a project is among them; who stands for somebody erased is not.
    """
    projects = select(Project).where(Project.retention_days > 0, Project.deleted_at.is_(None))
    silent: list[tuple[int, int]] = []
    for project in session.scalars(projects):
        oldest = now() - timedelta(days=project.retention_days)
        nameless = (User.email.is_(None), User.is_admin.is_(False), User.is_pseudonym.is_(False))
        last = select(func.max(Answer.created_at)).where(_by_user(project.id)).scalar_subquery()
        of_project = (Membership.user_id == User.id) & (Membership.project_id == project.id)
        query = select(User.id).outerjoin(Membership, of_project).where(*nameless)
        here = (Membership.role == Role.LABELER) | (Membership.id.is_(None) & last.is_not(None))
        newest = func.coalesce(last, Membership.created_at)
        silent += [(project.id, user_id) for user_id in session.scalars(query.where(here, newest < oldest))]
    return silent


def _by_user(project_id: int) -> ColumnElement[bool]:
    return (Answer.project_id == project_id) & (Answer.labeler_id == User.id)
