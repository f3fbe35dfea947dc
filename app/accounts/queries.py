"""What is read about users, links, memberships and API tokens."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts.access import hash_token
from app.models import ApiToken, Membership, Project, Role, ShareLink, SignInLink, User, now


def user(session: Session, user_id: int | None) -> User | None:
    """Find a user by the number that a session cookie carries, if it carries one."""
    return session.get(User, user_id) if user_id is not None else None


def user_by_email(session: Session, email: str) -> User | None:
    """Find a user by address, however it is capitalised."""
    return session.scalar(select(User).where(User.email == email.strip().lower()))


def link_works(session: Session, token: str) -> bool:
    """Tell whether a sign-in link would still sign somebody in."""
    unused = (SignInLink.token_hash == hash_token(token), SignInLink.used_at.is_(None), SignInLink.expires_at > now())
    return session.scalar(select(SignInLink.id).where(*unused)) is not None


def shared_project(session: Session, token: str) -> Project | None:
    """Find the project that a share link opens; none if the link is unknown or revoked, or the project archived."""
    query = (
        select(Project)
        .join(ShareLink, ShareLink.project_id == Project.id)
        .where(
            ShareLink.token_hash == hash_token(token), ShareLink.revoked_at.is_(None), Project.archived_at.is_(None)
        )
    )
    return session.scalar(query)


def share_links(session: Session, project_id: int) -> list[ShareLink]:
    """List a project's share links that still work, oldest first."""
    query = select(ShareLink).where(ShareLink.project_id == project_id, ShareLink.revoked_at.is_(None))
    return list(session.scalars(query.order_by(ShareLink.id)))


def membership(session: Session, project_id: int, user_id: int) -> Membership | None:
    """Find one user's membership in one project."""
    query = select(Membership).where(Membership.project_id == project_id, Membership.user_id == user_id)
    return session.scalar(query)


def participant_membership(session: Session, project_id: int, participant: str) -> Membership | None:
    """Find the member whom a share link or an import gave this participant name."""
    query = select(Membership).where(Membership.project_id == project_id, Membership.participant == participant)
    return session.scalar(query)


def member_count(session: Session, project_id: int, role: Role) -> int:
    """Count the members with one role."""
    query = select(func.count()).where(Membership.project_id == project_id, Membership.role == role)
    return session.scalar(query) or 0


def api_tokens(session: Session, user_id: int) -> list[ApiToken]:
    """List a user's API tokens that were not revoked, newest first."""
    query = select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(query.order_by(ApiToken.id.desc())))
