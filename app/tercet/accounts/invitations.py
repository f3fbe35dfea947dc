"""Invites people to a project by a link, which they accept themselves, with their own account or a new one.

Nobody is added without having said so, and an owner learns nothing of who has an account here: an invitation is made
in the same way for every address.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tercet.accounts import queries
from tercet.accounts.access import hash_token
from tercet.accounts.service import checked_email, make_secret, make_user
from tercet.audit import chain
from tercet.errors import Conflict, NotFound
from tercet.models import Invitation, Membership, Project, Role, User, now
from tercet.translatable import to_translate

INVITATION_OVER = to_translate(
    "This invitation was accepted or revoked, or has expired. Ask whoever sent it for a new one."
)
SIGN_IN_FIRST = to_translate("Sign in first, then open this link again: with your account you join as yourself.")
RANKS = (Role.LABELER, Role.ANALYST, Role.OWNER)


@dataclass(frozen=True)
class Accepted:
    """The project, who joined it, and the role they have."""

    project: Project
    user: User
    role: Role


def invite(session: Session, project: Project, *, email: str, role: Role, days: int) -> tuple[Invitation, str]:
    """Make an invitation and the token of its link; one made earlier for the same address ends.

    Raise Conflict for the address of a member, who is given another role instead.
    """
    email = checked_email(email)
    if queries.member_with_address(session, project.id, email):
        raise Conflict(f"{email} is a member already: give them another role.")
    earlier = select(Invitation).where(Invitation.project_id == project.id, Invitation.email == email)
    invitation, token = session.scalar(earlier) or Invitation(project_id=project.id, email=email), make_secret()
    invitation.role, invitation.token_hash = role, hash_token(token)
    invitation.created_at, invitation.expires_at = now(), now() + timedelta(days=days)
    session.add(invitation)
    session.flush()
    after = {"email": email, "role": role, "expires_at": invitation.expires_at}
    chain.record(session, "invited", project=project, after=after)
    return invitation, token


def revoke(session: Session, project: Project, invitation_id: int) -> None:
    """End an invitation; who has accepted it stays a member."""
    of_project = (Invitation.id == invitation_id, Invitation.project_id == project.id)
    invitation = session.scalar(select(Invitation).where(*of_project))
    if invitation is None:
        raise NotFound(f"The project '{project.key}' has no invitation {invitation_id}.")
    chain.record(session, "invitation revoked", project=project, before={"email": invitation.email})
    session.delete(invitation)


def waiting(session: Session, project_id: int) -> list[Invitation]:
    """List the invitations of a project that can still be accepted, oldest first."""
    of_project = (Invitation.project_id == project_id, Invitation.expires_at > now())
    return list(session.scalars(select(Invitation).where(*of_project).order_by(Invitation.id)))


def view(session: Session, token: str) -> tuple[Invitation, Project] | None:
    """Find the invitation of a link and its project; None if it does not work any more."""
    query = (
        select(Invitation, Project)
        .join(Project, Project.id == Invitation.project_id)
        .where(Invitation.token_hash == hash_token(token), Invitation.expires_at > now())
        .where(Project.deleted_at.is_(None))
    )
    row = session.execute(query).first()
    return None if row is None else (row[0], row[1])


def accept(session: Session, token: str, user: User | None, name: str = "") -> Accepted:
    """Give who is signed in, or else a new account with the invitation's address, its role in the project.

    A link lets nobody in as somebody who has an account already: for such an address Conflict is raised until they
    have signed in. Members keep a role that may do more.
    """
    viewed = view(session, token)
    if viewed is None or not _delete(session, viewed[0]):
        raise NotFound(INVITATION_OVER)
    invitation, project = viewed
    if user is None or not user.has_account:
        if queries.user_by_email(session, invitation.email) is not None:
            raise Conflict(SIGN_IN_FIRST)
        user = make_user(session, name.strip() or invitation.email.partition("@")[0], email=invitation.email)
    chain.act_as(user)
    member, role = queries.membership(session, project.id, user.id), Role(invitation.role)
    if member is None:
        session.add(Membership(project_id=project.id, user_id=user.id, role=role))
    else:
        member.role = max(Role(member.role), role, key=RANKS.index)
    session.flush()
    after = {"user": user.id, "email": invitation.email, "role": role}
    chain.record(session, "invitation accepted", project=project, after=after)
    return Accepted(project, user, role if member is None else Role(member.role))


def _delete(session: Session, invitation: Invitation) -> bool:
    """Delete the row; of two requests at once, one does."""
    deleted = delete(Invitation).where(Invitation.id == invitation.id).returning(Invitation.id)
    return session.scalar(deleted.execution_options(synchronize_session=False)) is not None
