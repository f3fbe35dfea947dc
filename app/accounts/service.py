"""Changes to who may come in: users, one-time sign-in links, share links, joining by one, API tokens.

Every secret is 256 random bits, given to the caller once and kept only as its hash.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.accounts import queries
from app.accounts.access import hash_token
from app.errors import Conflict, FieldError, Forbidden, Invalid, NotFound
from app.models import ApiToken, Membership, Project, Role, Scope, ShareLink, SignInLink, User, now

SECRET_BYTES = 32
NAME_LENGTH = 200
TOKEN_DAYS = 3650
LINK_OVER = "This sign-in link was used already or has expired: each works once."
SHARE_OVER = "This labeling link is not known here, or its owner has revoked it. Ask for the new one."


@dataclass(frozen=True)
class Joined:
    """Who came by a share link, and to which project."""

    project: Project
    user: User


def make_user(session: Session, name: str, *, email: str | None = None, is_admin: bool = False) -> User:
    """Add a user; an address belongs to one user only."""
    if email is not None and queries.user_by_email(session, email) is not None:
        raise Conflict(f"There is a user with the address {email} already.")
    user = User(name=checked_name(name, "name"), email=email and checked_email(email), is_admin=is_admin)
    session.add(user)
    session.flush()
    return user


def checked_name(name: str, field: str) -> str:
    """Give a name without surrounding space, or say what is wrong with it."""
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        detail = f"expected 1 to {NAME_LENGTH} printable characters"
        raise Invalid(f"The {field} is not usable: {detail}.", [FieldError(field, detail)])
    return name


def checked_email(email: str) -> str:
    """Give the address in lower case, or say that it is none."""
    email = email.strip().lower()
    local, _, domain = email.partition("@")
    if not local or not domain or len(email) > 254 or not email.isprintable() or " " in email:
        raise Invalid(f"'{email}' is no address.", [FieldError("email", "expected something like ada@example.org")])
    return email


def make_sign_in_link(session: Session, user: User, hours: float = 24.0) -> str:
    """Make a link that signs the user in once; give its token."""
    token = secrets.token_urlsafe(SECRET_BYTES)
    expires_at = now() + timedelta(hours=hours)
    session.add(SignInLink(user_id=user.id, token_hash=hash_token(token), expires_at=expires_at))
    session.flush()
    return token


def use_sign_in_link(session: Session, token: str) -> User:
    """Use a link up and give its user; one statement decides, so of two who try at once one succeeds."""
    moment = now()
    unused = (
        SignInLink.token_hash == hash_token(token),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > moment,
    )
    user_id = session.scalar(update(SignInLink).where(*unused).values(used_at=moment).returning(SignInLink.user_id))
    if user_id is None:
        raise NotFound(LINK_OVER)
    return session.get_one(User, user_id)


def make_share_link(session: Session, project: Project) -> str:
    """Make a link by which anyone who has it may label the project; give its token."""
    token = secrets.token_urlsafe(SECRET_BYTES)
    session.add(ShareLink(project_id=project.id, token_hash=hash_token(token)))
    session.flush()
    return token


def revoke_share_link(session: Session, project: Project, link_id: int) -> ShareLink:
    """End a share link; people who joined by it before stay members."""
    query = select(ShareLink).where(ShareLink.id == link_id, ShareLink.project_id == project.id)
    link = session.scalar(query)
    if link is None:
        raise NotFound(f"The project '{project.key}' has no share link {link_id}.")
    link.revoked_at = link.revoked_at or now()
    return link


def join(session: Session, token: str, *, participant: str = "", name: str = "", me: User | None = None) -> Joined:
    """Come in by a share link: as the named participant, as who is signed in already, or as somebody new.

    The same participant is always the same user. Somebody new without a name is called "Labeler N".
    """
    project = queries.shared_project(session, token)
    if project is None:
        raise NotFound(SHARE_OVER)
    # People who join at the same moment take turns here, so that nobody is made twice and numbers differ.
    session.scalars(select(Project.id).where(Project.id == project.id).with_for_update()).one()
    if participant:
        user = participant_user(session, project, participant)
        _refuse_account(session, project, user)
        return Joined(project, user)
    if me is not None:
        return Joined(project, _add_labeler(session, project, me))
    name = name.strip() or f"Labeler {queries.member_count(session, project.id, Role.LABELER) + 1}"
    return Joined(project, _add_labeler(session, project, make_user(session, name)))


def participant_user(session: Session, project: Project, participant: str) -> User:
    """Give the labeler of this participant name in the project, making one on first sight."""
    participant = checked_name(participant, "participant")
    membership = queries.participant_membership(session, project.id, participant)
    if membership is None:
        return _add_labeler(session, project, make_user(session, participant), participant)
    return session.get_one(User, membership.user_id)


def _refuse_account(session: Session, project: Project, user: User) -> None:
    # A share link proves nothing about who comes: it may never open an account with rights of its own.
    membership = queries.membership(session, project.id, user.id)
    if membership is None or membership.role != Role.LABELER or user.is_admin or user.email is not None:
        raise Forbidden(f"The participant '{user.name}' has an account here: sign in with its own link.")


def _add_labeler(session: Session, project: Project, user: User, participant: str | None = None) -> User:
    if queries.membership(session, project.id, user.id) is None:
        row = Membership(project_id=project.id, user_id=user.id, role=Role.LABELER, participant=participant)
        session.add(row)
        session.flush()
    return user


def make_api_token(session: Session, user: User, name: str, scope: Scope, days: int | None = None) -> str:
    """Make an API token of the user, for so many days or until it is revoked; give it, the only time."""
    if days is not None and not 1 <= days <= TOKEN_DAYS:
        detail = f"expected 1 to {TOKEN_DAYS} days, or nothing for a token without an end"
        raise Invalid(f"The number of days is not usable: {detail}.", [FieldError("days", detail)])
    token = f"tercet_{secrets.token_urlsafe(SECRET_BYTES)}"
    expires_at = None if days is None else now() + timedelta(days=days)
    name = checked_name(name, "name")
    row = ApiToken(user_id=user.id, name=name, token_hash=hash_token(token), scope=scope, expires_at=expires_at)
    session.add(row)
    session.flush()
    return token


def revoke_api_token(session: Session, user: User, token_id: int) -> ApiToken:
    """End one of the user's API tokens."""
    row = session.scalar(select(ApiToken).where(ApiToken.id == token_id, ApiToken.user_id == user.id))
    if row is None:
        raise NotFound(f"You have no API token {token_id}.")
    row.revoked_at = row.revoked_at or now()
    return row
