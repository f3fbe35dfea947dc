"""Creates users, one-time sign-in links, share links and API tokens, and lets people join by a share link.

Every secret is 256 random bits, returned to the caller once and stored only as its hash.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from tercet.accounts import queries
from tercet.accounts.access import hash_token
from tercet.accounts.queries import HeldToken
from tercet.audit import chain
from tercet.errors import Conflict, FieldError, Invalid, NotFound
from tercet.models import (
    ApiToken,
    BrowserSession,
    Lease,
    Membership,
    Project,
    Role,
    Scope,
    ShareLink,
    SignInLink,
    Triplet,
    User,
    now,
)
from tercet.translatable import to_translate

SECRET_BYTES = 32
NAME_LENGTH = 200
TOKEN_DAYS = 3650
LINK_OVER = to_translate("This sign-in link was used already or has expired: each works once.")
SHARE_OVER = to_translate(
    "This labeling link is not known here, has expired, or its owner has revoked it. Ask for the new one."
)


@dataclass(frozen=True)
class Visitor:
    """Who opens a share link: the user signed in in the browser, if there is one, and the secret in its cookie."""

    user: User | None
    browser: str


@dataclass(frozen=True)
class Joined:
    """The user who joined by a share link, the project, and when the link expires."""

    project: Project
    user: User
    until: datetime | None


@dataclass(frozen=True)
class AccountView:
    """What the account page shows."""

    user: User
    sessions: list[BrowserSession]
    tokens: list[HeldToken]
    projects: list[str]


def view_account(session: Session, user: User) -> AccountView:
    """Collect what the account page shows to its user."""
    tokens = queries.api_tokens(session, ApiToken.user_id == user.id)
    return AccountView(user, queries.sessions(session, user.id), tokens, queries.keys_of_projects(session, user))


def make_secret() -> str:
    """Return 256 random bits as text."""
    return secrets.token_urlsafe(SECRET_BYTES)


def make_user(session: Session, name: str, *, email: str | None = None, is_admin: bool = False) -> User:
    """Add a user; an address belongs to one user only."""
    if email is not None and queries.user_by_email(session, email) is not None:
        raise Conflict(f"There is a user with the address {email} already.")
    user = User(name=checked_name(name, "name"), email=email and checked_email(email), is_admin=is_admin)
    session.add(user)
    session.flush()
    if user.has_account:
        chain.record(session, "account made", after={"user": user.name, "email": user.email, "admin": is_admin})
    return user


def checked_name(name: str, field: str) -> str:
    """Return a name without surrounding space; raise Invalid if it cannot be one."""
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        detail = to_translate("expected 1 to %(most)s printable characters", most=NAME_LENGTH)
        sentence = to_translate("The %(field)s is not usable: %(detail)s.", field=field, detail=detail)
        raise Invalid(sentence, [FieldError(field, detail)])
    return name


def checked_email(email: str) -> str:
    """Return the address in lower case; raise Invalid if it is none."""
    email = email.strip().lower()
    local, _, domain = email.partition("@")
    if not local or not domain or len(email) > 254 or not email.isprintable() or " " in email:
        detail = to_translate("expected something like ada@example.org")
        raise Invalid(to_translate("'%(text)s' is no address.", text=email), [FieldError("email", detail)])
    return email


def make_sign_in_link(session: Session, user: User, hours: float = 24.0) -> str:
    """Make a link that signs the user in once; return its token."""
    token = make_secret()
    expires_at = now() + timedelta(hours=hours)
    session.add(SignInLink(user_id=user.id, token_hash=hash_token(token), expires_at=expires_at))
    session.flush()
    return token


def use_sign_in_link(session: Session, token: str) -> User:
    """Mark a link as used and return its user; one statement decides, so of two requests at once one succeeds."""
    moment = now()
    unused = (
        SignInLink.token_hash == hash_token(token),
        SignInLink.used_at.is_(None),
        SignInLink.expires_at > moment,
    )
    user_id = session.scalar(update(SignInLink).where(*unused).values(used_at=moment).returning(SignInLink.user_id))
    if user_id is None:
        raise NotFound(LINK_OVER)
    user = session.get_one(User, user_id)
    if user.disabled_at is not None:
        raise NotFound(LINK_OVER)
    chain.act_as(user)
    chain.record(session, "signed in")
    return user


def make_share_link(
    session: Session, project: Project, *, days: int | None = None, most: int | None = None, labeler: str = ""
) -> str:
    """Make a labeling link; return its token.

    It is open to anyone who has it, to `most` people at most, or that of one new labeler if a name is given. It
    expires after `days`.
    """
    token = make_secret()
    expires_at = None if days is None else now() + timedelta(days=days)
    link = ShareLink(project_id=project.id, token_hash=hash_token(token), expires_at=expires_at, most=most)
    session.add(link)
    session.flush()
    if labeler:
        user = make_user(session, checked_name(labeler, "labeler"))
        link.user_id = user.id
        _add_labeler(session, project, user, _free_name(session, project, user.name), link=link)
    bounds = {"link": link.id, "labeler": labeler, "most": most, "expires_at": expires_at}
    chain.record(session, "labeling link made", project=project, after=bounds)
    return token


def find_share_link(session: Session, project: Project, link_id: int) -> ShareLink:
    """Find a labeling link of the project, or raise NotFound."""
    link = session.scalar(select(ShareLink).where(ShareLink.id == link_id, ShareLink.project_id == project.id))
    if link is None:
        raise NotFound(f"The project '{project.key}' has no share link {link_id}.")
    return link


def renew_share_link(session: Session, project: Project, link_id: int) -> str:
    """Give a link another address, so that it can be sent again; the old one ends. Return its token."""
    link = find_share_link(session, project, link_id)
    if link.revoked_at is not None:
        raise Conflict("This link was revoked: make another one.")
    token = make_secret()
    link.token_hash = hash_token(token)
    chain.record(session, "labeling link renewed", project=project, after={"link": link.id})
    return token


def revoke_share_link(session: Session, project: Project, link_id: int) -> ShareLink:
    """End a share link and, at once, the sessions and leases of everybody who came by it; their answers stay.

    People with an account stay signed in, but are no longer members by this link.
    """
    link = find_share_link(session, project, link_id)
    link.revoked_at = link.revoked_at or now()
    for member in queries.came_by(session, link.id):
        user = session.get_one(User, member.user_id)
        end_labeling(session, project, user)
        if user.has_account and member.role == Role.LABELER:
            session.delete(member)
    chain.record(session, "labeling link revoked", project=project, before={"link": link.id})
    return link


def end_labeling(session: Session, project: Project, user: User) -> None:
    """End the leases of a labeler in a project and, of one without an account, the sessions."""
    of_project = select(Triplet.id).where(Triplet.project_id == project.id)
    session.execute(delete(Lease).where(Lease.labeler_id == user.id, Lease.triplet_id.in_(of_project)))
    if not user.has_account:
        session.execute(delete(BrowserSession).where(BrowserSession.user_id == user.id))


def join(session: Session, token: str, visitor: Visitor, *, participant: str = "", name: str = "") -> Joined:
    """Join by a share link: as its labeler, the user signed in, the labeler of this browser, or a new one.

    A new labeler is a user of this project alone, named by the participant name, the name they typed or "Labeler N".
    """
    working = queries.working_link(session, token)
    if working is None:
        raise NotFound(SHARE_OVER)
    link, project = working
    # People who join at the same moment take turns here: nobody is added twice, and numbers differ.
    session.scalars(select(Project.id).where(Project.id == project.id).with_for_update()).one()
    user = labeler_of_link(session, link) if link.user_id else find_returning(session, project, visitor, participant)
    if user is None:
        _check_room(session, link)
        user = _make_link_labeler(session, link, project, visitor, participant, name)
        chain.act_as(user)
        chain.record(session, "came by a labeling link", project=project, after={"link": link.id, "user": user.id})
    elif queries.membership(session, project.id, user.id) is None:
        _check_room(session, link)
        _add_labeler(session, project, user, link=link)
    return Joined(project, user, link.expires_at)


def view_link(session: Session, token: str, visitor: Visitor, participant: str) -> tuple[Project | None, User | None]:
    """Return the project of a share link that works, and who the visitor would go on as, if not as somebody new."""
    working = queries.working_link(session, token)
    if working is None:
        return None, None
    link, project = working
    if link.user_id:
        return project, labeler_of_link(session, link)
    return project, find_returning(session, project, visitor, participant)


def labeler_of_link(session: Session, link: ShareLink) -> User:
    """Return the labeler of a personal link; raise NotFound if they were removed from the project."""
    user = session.get_one(User, link.user_id)
    if queries.membership(session, link.project_id, user.id) is None or user.disabled_at is not None:
        raise NotFound(SHARE_OVER)
    return user


def _check_room(session: Session, link: ShareLink) -> None:
    if link.most is not None and len(queries.came_by(session, link.id)) >= link.most:
        raise Conflict(
            to_translate(
                "This labeling link has let %(most)s people in, as many as it may. Ask its owner for more.",
                most=link.most,
            )
        )


def find_returning(session: Session, project: Project, visitor: Visitor, participant: str) -> User | None:
    """Return the user that a visitor of a share link continues as; None for a new one.

    A name in an address proves nothing, so a participant is looked up only among the labelers of this browser. Without
    a participant name, people who are signed in with an account join as themselves.
    """
    participant, user = participant.strip(), visitor.user
    if user is not None:
        is_member = queries.membership(session, project.id, user.id) is not None
        if (is_member and participant in ("", user.name)) or (user.has_account and not participant):
            return user
    return queries.labeler_of_browser(session, project.id, visitor.browser, participant)


def _make_link_labeler(
    session: Session, link: ShareLink, project: Project, visitor: Visitor, participant: str, typed_name: str
) -> User:
    if participant:
        user = make_user(session, checked_name(participant, "participant"))
        participant = _free_name(session, project, user.name)
    else:
        number = queries.member_count(session, project.id, Role.LABELER) + 1
        user = make_user(session, typed_name.strip() or f"Labeler {number}")
    _add_labeler(session, project, user, participant or None, hash_token(visitor.browser), link)
    return user


def imported_labeler(session: Session, project: Project, name: str) -> User:
    """Add a labeler that an import names; nobody can sign in as them."""
    user = make_user(session, name)
    _add_labeler(session, project, user, _free_name(session, project, name))
    return user


def _free_name(session: Session, project: Project, name: str) -> str:
    """Return the name, numbered if a member of the project is shown under it already."""
    if not queries.is_name_taken(session, project.id, name):
        return name
    start = name[: NAME_LENGTH - len(" (1000000)")]
    taken = queries.names_like(session, project.id, start)
    return next(free for n in range(2, len(taken) + 3) if (free := f"{start} ({n})") not in taken)


def _add_labeler(
    session: Session,
    project: Project,
    user: User,
    participant: str | None = None,
    browser_hash: str | None = None,
    link: ShareLink | None = None,
) -> None:
    row = Membership(project_id=project.id, user_id=user.id, role=Role.LABELER)
    row.participant, row.browser_hash = participant, browser_hash
    row.link_id = None if link is None else link.id
    session.add(row)
    session.flush()


def disable_user(session: Session, user: User) -> None:
    """Keep a user out: sessions and sign-in links end at once, and API tokens are refused."""
    user.disabled_at = user.disabled_at or now()
    end_sessions(session, user)
    chain.record(session, "account disabled", after=_named(user))


def set_disabled(session: Session, administrator: User, user_id: int, *, disabled: bool) -> User:
    """Keep somebody with an account out, or let them come in again; administrators cannot keep themselves out."""
    user = user_with_account(session, user_id)
    if user.id == administrator.id and disabled:
        raise Conflict("You would keep yourself out: another administrator can.")
    (disable_user if disabled else enable_user)(session, user)
    return user


def user_with_account(session: Session, user_id: int) -> User:
    """Find somebody with an account, or raise NotFound."""
    user = session.get(User, user_id)
    if user is None or not user.has_account:
        raise NotFound(f"There is nobody with an account and the number {user_id}.")
    return user


def enable_user(session: Session, user: User) -> None:
    """Let a disabled user come in again, by a new sign-in link or the API tokens of before."""
    user.disabled_at = None
    chain.record(session, "account enabled", after=_named(user))


def _named(user: User) -> dict[str, object]:
    return {"user": user.id, "name": user.name, "email": user.email}


def set_administrator(session: Session, user: User, is_admin: bool) -> None:
    """Make somebody an administrator or a plain user; one administrator stays."""
    if not is_admin and user.is_admin and queries.administrators(session) == 1:
        raise Conflict("This is the only administrator: promote somebody else first.")
    chain.record(session, "administrator", before={"admin": user.is_admin}, after={**_named(user), "admin": is_admin})
    user.is_admin = is_admin


def end_sessions(session: Session, user: User) -> None:
    """Sign a user out everywhere; sign-in links that were not used yet end too."""
    session.execute(delete(BrowserSession).where(BrowserSession.user_id == user.id))
    session.execute(delete(SignInLink).where(SignInLink.user_id == user.id, SignInLink.used_at.is_(None)))
    chain.record(session, "signed out everywhere", after=_named(user))


def delete_user(session: Session, user: User) -> None:
    """Remove a user who has answered and decided nothing; raise Conflict for one whose answers would go too."""
    if user.is_admin and queries.administrators(session) == 1:
        raise Conflict("This is the only administrator: promote somebody else first.")
    if project := queries.owned_alone(session, user.id):
        raise Conflict(f"{user.name} is the only owner of '{project}': give it another owner first.")
    if queries.has_contributed(session, user.id):
        raise Conflict(f"{user.name} has answered or decided something, which would go too: disable them instead.")
    chain.record(session, "account removed", before=_named(user))
    session.delete(user)


def make_api_token(
    session: Session,
    user: User,
    name: str,
    scope: Scope,
    days: int | None = None,
    *,
    project: Project | None = None,
) -> str:
    """Make an API token that is valid for a number of days or until revoked; return it, once.

    It may do what its user may in one project, or in all of theirs if none is named.
    """
    if days is not None and not 1 <= days <= TOKEN_DAYS:
        detail = f"expected 1 to {TOKEN_DAYS} days, or nothing for a token without an end"
        raise Invalid(f"The number of days is not usable: {detail}.", [FieldError("days", detail)])
    token = f"tercet_{make_secret()}"
    expires_at = None if days is None else now() + timedelta(days=days)
    name = checked_name(name, "name")
    row = ApiToken(user_id=user.id, name=name, token_hash=hash_token(token), scope=scope, expires_at=expires_at)
    row.project_id = None if project is None else project.id
    session.add(row)
    session.flush()
    made = {"token": row.id, "user": user.id, "name": name, "scope": scope, "expires_at": expires_at}
    chain.record(session, "API token made", project=project, after=made)
    return token


def revoke_project_token(session: Session, project: Project, token_id: int) -> ApiToken:
    """End somebody's API token that is for this project alone."""
    row = session.scalar(select(ApiToken).where(ApiToken.id == token_id, ApiToken.project_id == project.id))
    if row is None:
        raise NotFound(f"There is no API token {token_id} for the project '{project.key}' alone.")
    row.revoked_at = row.revoked_at or now()
    chain.record(session, "API token revoked", project=project, before={"token": row.id, "name": row.name})
    return row


def revoke_api_token(session: Session, user: User, token_id: int) -> ApiToken:
    """End one of the user's API tokens."""
    row = session.scalar(select(ApiToken).where(ApiToken.id == token_id, ApiToken.user_id == user.id))
    if row is None:
        raise NotFound(f"You have no API token {token_id}.")
    row.revoked_at = row.revoked_at or now()
    chain.record(session, "API token revoked", before={"token": row.id, "name": row.name})
    return row
