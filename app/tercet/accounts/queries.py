"""Reads users, links, memberships and API tokens."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, false, func, select
from sqlalchemy.orm import Session, aliased

from tercet.accounts.access import hash_token
from tercet.errors import NotFound
from tercet.models import (
    Answer,
    ApiToken,
    BrowserSession,
    Decision,
    Membership,
    Project,
    Role,
    ShareLink,
    SignInLink,
    User,
    now,
)


def user_by_email(session: Session, email: str) -> User | None:
    """Find a user by address, however it is capitalised."""
    return session.scalar(select(User).where(User.email == email.strip().lower()))


def user_with_address(session: Session, email: str) -> User:
    """Find a user by address, or raise NotFound with the command that adds one."""
    user = user_by_email(session, email)
    if user is None:
        raise NotFound(f"There is no user with the address {email}. 'tercet user add {email}' adds one.")
    return user


def users(session: Session) -> list[tuple[User, int, datetime | None]]:
    """List the users with an account, with the number of their sessions and when they were last seen."""
    live = (BrowserSession.user_id == User.id) & (BrowserSession.expires_at > now())
    query = (
        select(User, func.count(BrowserSession.id), func.max(BrowserSession.seen_at))
        .outerjoin(BrowserSession, live)
        .where(User.email.is_not(None) | User.is_admin)
        .group_by(User.id)
        .order_by(User.email)
    )
    return [(user, count, seen) for user, count, seen in session.execute(query)]


def administrators(session: Session) -> int:
    """Count the administrators who may come in."""
    return session.scalar(select(func.count()).where(User.is_admin, User.disabled_at.is_(None))) or 0


def owned_alone(session: Session, user_id: int) -> str | None:
    """Return the key of a project that has no other owner."""
    other = aliased(Membership)
    others = select(other.id).where(
        other.project_id == Membership.project_id, other.role == Role.OWNER, other.user_id != user_id
    )
    query = (
        select(Project.key)
        .join(Membership, Membership.project_id == Project.id)
        .where(Membership.user_id == user_id, Membership.role == Role.OWNER, ~others.exists())
    )
    return session.scalar(query.limit(1))


def has_contributed(session: Session, user_id: int) -> bool:
    """Return whether there are answers or decisions of the user."""
    tables = (
        select(Answer.id).where(Answer.labeler_id == user_id),
        select(Decision.id).where(Decision.by_id == user_id),
    )
    return any(session.scalar(rows.limit(1)) is not None for rows in tables)


def link_works(session: Session, token: str) -> bool:
    """Return whether a sign-in link would still sign somebody in."""
    unused = (SignInLink.token_hash == hash_token(token), SignInLink.used_at.is_(None), SignInLink.expires_at > now())
    return session.scalar(select(SignInLink.id).where(*unused)) is not None


def working_link(session: Session, token: str) -> tuple[ShareLink, Project] | None:
    """Find a share link and its project; none if it is unknown, revoked or expired, or the project archived."""
    row = session.execute(
        select(ShareLink, Project)
        .join(Project, ShareLink.project_id == Project.id)
        .where(ShareLink.token_hash == hash_token(token), ShareLink.revoked_at.is_(None))
        .where(ShareLink.expires_at.is_(None) | (ShareLink.expires_at > now()))
        .where(Project.archived_at.is_(None), Project.deleted_at.is_(None))
    ).first()
    return None if row is None else (row[0], row[1])


def came_by(session: Session, link_id: int) -> list[Membership]:
    """List the members who came by a share link."""
    return list(session.scalars(select(Membership).where(Membership.link_id == link_id)))


@dataclass(frozen=True)
class LinkInUse:
    """A share link: its labeler's name if it is personal, and how many came by it."""

    link: ShareLink
    name: str | None
    arrived: int


_ARRIVED = select(func.count()).where(Membership.link_id == ShareLink.id).scalar_subquery()
_LINKS = select(ShareLink, User.name, _ARRIVED).outerjoin(User, User.id == ShareLink.user_id)


def share_links(session: Session, project_id: int, *, revoked_too: bool = False) -> list[LinkInUse]:
    """List a project's share links, oldest first; of those that were revoked, only the ones that somebody came by."""
    used = _ARRIVED > 0 if revoked_too else false()
    query = _LINKS.where(ShareLink.project_id == project_id, ShareLink.revoked_at.is_(None) | used)
    return [LinkInUse(*row) for row in session.execute(query.order_by(ShareLink.id))]


def share_link(session: Session, token: str) -> LinkInUse:
    """Find a share link by its token."""
    return LinkInUse(*session.execute(_LINKS.where(ShareLink.token_hash == hash_token(token))).one())


def in_use(session: Session, link: ShareLink) -> LinkInUse:
    """Return a share link with who came by it."""
    return LinkInUse(*session.execute(_LINKS.where(ShareLink.id == link.id)).one())


def membership(session: Session, project_id: int, user_id: int) -> Membership | None:
    """Find one user's membership in one project."""
    query = select(Membership).where(Membership.project_id == project_id, Membership.user_id == user_id)
    return session.scalar(query)


def member_with_address(session: Session, project_id: int, email: str) -> bool:
    """Return whether somebody with this address is a member of the project."""
    query = select(Membership.id).join(User, User.id == Membership.user_id)
    return session.scalar(query.where(Membership.project_id == project_id, User.email == email)) is not None


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


def sessions(session: Session, user_id: int) -> list[BrowserSession]:
    """List the browsers that a user is signed in with, the last used first."""
    query = select(BrowserSession).where(BrowserSession.user_id == user_id, BrowserSession.expires_at > now())
    return list(session.scalars(query.order_by(BrowserSession.seen_at.desc(), BrowserSession.id.desc())))


@dataclass(frozen=True)
class HeldToken:
    """An API token with its user's name and the key of the project that it is for, if it is for one."""

    token: ApiToken
    user: str
    project: str | None


def api_tokens(session: Session, whose: ColumnElement[bool]) -> list[HeldToken]:
    """List the API tokens that meet a condition and were not revoked, newest first."""
    query = (
        select(ApiToken, User.name, Project.key)
        .join(User, User.id == ApiToken.user_id)
        .outerjoin(Project, Project.id == ApiToken.project_id)
        .where(whose, ApiToken.revoked_at.is_(None))
    )
    return [HeldToken(*row) for row in session.execute(query.order_by(ApiToken.id.desc()))]


def keys_of_projects(session: Session, user: User) -> list[str]:
    """List the keys of the projects that a user is a member of."""
    query = select(Project.key).join(Membership, Membership.project_id == Project.id)
    return list(
        session.scalars(query.where(Membership.user_id == user.id, Project.deleted_at.is_(None)).order_by("key"))
    )


def project_of(session: Session, user: User, key: str) -> Project:
    """Find a project of the user, or raise NotFound."""
    query = select(Project).join(Membership, Membership.project_id == Project.id)
    project = session.scalar(query.where(Membership.user_id == user.id, Project.key == key))
    if project is None:
        raise NotFound(f"{user.name} belongs to no project '{key}'.")
    return project
