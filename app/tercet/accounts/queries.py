"""Reads users, links, memberships and API tokens."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tercet.accounts.access import hash_token
from tercet.models import ApiToken, Membership, Project, Role, ShareLink, SignInLink, User, now
from tercet.web.errors import NotFound


def user(session: Session, user_id: int | None) -> User | None:
    """Find a user by the number that a session cookie carries, if it carries one."""
    return session.get(User, user_id) if user_id is not None else None


def user_by_email(session: Session, email: str) -> User | None:
    """Find a user by address, however it is capitalised."""
    return session.scalar(select(User).where(User.email == email.strip().lower()))


def user_with_address(session: Session, email: str) -> User:
    """Find a user by address, or raise NotFound with the command that adds one."""
    user = user_by_email(session, email)
    if user is None:
        raise NotFound(f"There is no user with the address {email}. 'tercet user add {email}' adds one.")
    return user


def link_works(session: Session, token: str) -> bool:
    """Return whether a sign-in link would still sign somebody in."""
    unused = (SignInLink.token_hash == hash_token(token), SignInLink.used_at.is_(None), SignInLink.expires_at > now())
    return session.scalar(select(SignInLink.id).where(*unused)) is not None


def shared_project(session: Session, token: str) -> Project | None:
    """Find the project that a share link opens; none if the link is unknown or revoked, or the project archived."""
    query = (
        select(Project)
        .join(ShareLink, ShareLink.project_id == Project.id)
        .where(ShareLink.token_hash == hash_token(token), ShareLink.revoked_at.is_(None))
        .where(Project.archived_at.is_(None), Project.deleted_at.is_(None))
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
    """Find the member with this participant name, from a share link or an import."""
    query = select(Membership).where(Membership.project_id == project_id, Membership.participant == participant)
    return session.scalar(query)


def labeler_of_browser(session: Session, project_id: int, browser: str, name: str) -> User | None:
    """Find the labeler who joined by a share link in this browser, by name or, if empty, the latest."""
    query = (
        select(User)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.project_id == project_id, Membership.role == Role.LABELER)
        .where(Membership.browser_hash == hash_token(browser))
    )
    if name:
        query = query.where(User.name == name)
    return session.scalar(query.order_by(Membership.id.desc()).limit(1))


def is_name_taken(session: Session, project_id: int, name: str) -> bool:
    """Return whether a member of the project has this name."""
    if participant_membership(session, project_id, name) is not None:
        return True
    unnamed = select(Membership.id).join(User, User.id == Membership.user_id)
    query = unnamed.where(Membership.project_id == project_id, Membership.participant.is_(None), User.name == name)
    return session.scalar(query.limit(1)) is not None


def names_like(session: Session, project_id: int, start: str) -> set[str]:
    """Return the names of members of the project that begin with a prefix."""
    name = func.coalesce(Membership.participant, User.name)
    query = select(name).join(User, User.id == Membership.user_id).where(Membership.project_id == project_id)
    return set(session.scalars(query.where(name.startswith(start, autoescape=True))))


def member_count(session: Session, project_id: int, role: Role) -> int:
    """Count the members with one role."""
    query = select(func.count()).where(Membership.project_id == project_id, Membership.role == role)
    return session.scalar(query) or 0


def api_tokens(session: Session, user_id: int) -> list[ApiToken]:
    """List a user's API tokens that were not revoked, newest first."""
    query = select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(query.order_by(ApiToken.id.desc())))
