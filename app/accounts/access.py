"""Who calls, and the one function that says what they may do: `authorize`.

A caller is known by a session cookie or a bearer token. A stranger to a project hears that it does not
exist; a member whose role is too small hears that they may not.
"""

import enum
import hashlib
from dataclasses import dataclass
from typing import Annotated

from fastapi import BackgroundTasks, Depends, Request
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from app.accounts.usage import TokenUses
from app.errors import Forbidden, NotFound, NotSignedIn
from app.models import ApiToken, Membership, Project, Role, Scope, User, now


class Action(enum.StrEnum):
    """What can be done in a project: see its question and media, label, read what came of it, change it, own it."""

    LOOK = "look"
    LABEL = "label"
    READ = "read"
    WRITE = "write"
    OWN = "own"


ROLE_MAY = {
    Role.LABELER: {Action.LOOK, Action.LABEL},
    Role.ANALYST: {Action.LOOK, Action.LABEL, Action.READ, Action.WRITE},
    Role.OWNER: set(Action),
}
SCOPE_MAY = {
    Scope.LABEL: {Action.LOOK, Action.LABEL},
    Scope.READ: {Action.LOOK, Action.READ},
    Scope.WRITE: {Action.LOOK, Action.LABEL, Action.READ, Action.WRITE},
    Scope.OWN: set(Action),
}

# Every request asks one of these; built once, it costs half of what it does built anew.
_MINE = (Membership.project_id == Project.id) & (Membership.user_id == bindparam("user"))
_KEY = Project.key == bindparam("key")
PROJECT_AND_ROLE = select(Project, Membership.role).outerjoin(Membership, _MINE).where(_KEY)
USER_PROJECT_AND_ROLE = (
    select(User, Project, Membership.role)
    .select_from(User)
    .outerjoin(Project, _KEY)
    .outerjoin(Membership, _MINE)
    .where(User.id == bindparam("user"))
)


@dataclass(frozen=True)
class Caller:
    """The credentials of one request, not yet looked up."""

    user_id: int | None = None
    token: str | None = None


@dataclass(frozen=True)
class Identity:
    """A user who was looked up, and the scope that limits them (None: a session, no limit)."""

    user: User
    scope: Scope | None


@dataclass(frozen=True)
class Access:
    """A user in a project, allowed to do what was asked."""

    project: Project
    user: User
    role: Role


async def get_caller(request: Request, background: BackgroundTasks) -> Caller:
    """Read the credentials: a bearer token if there is one, else the session cookie."""
    header = request.headers.get("authorization", "")
    if not header:
        return Caller(user_id=request.session.get("user"))
    kind, _, rest = header.partition(" ")
    token = rest.strip() if kind.lower() == "bearer" else ""
    uses: TokenUses = request.app.state.token_uses
    if uses.is_due(hash_token(token)):
        background.add_task(uses.note, hash_token(token))
    return Caller(token=token)


Me = Annotated[Caller, Depends(get_caller)]


def hash_token(token: str) -> str:
    """Hash a random token of 256 bits for look-up; its entropy makes a slow hash needless."""
    return hashlib.sha256(token.encode()).hexdigest()


def identify(session: Session, caller: Caller) -> Identity:
    """Look the caller up, or say that nobody is signed in."""
    if caller.token is not None:
        return _identify_token(session, caller.token)
    user = session.get(User, caller.user_id) if caller.user_id is not None else None
    if user is None:
        raise NotSignedIn("Sign in first: open your sign-in link, or send an API token as 'Authorization: Bearer'.")
    return Identity(user, None)


def _identify_token(session: Session, token: str) -> Identity:
    found = session.execute(
        select(ApiToken, User).join(User, User.id == ApiToken.user_id).where(ApiToken.token_hash == hash_token(token))
    ).first()
    if found is None:
        raise NotSignedIn("This API token is not known here.")
    row, user = found
    if row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now()):
        raise NotSignedIn("This API token was revoked or has expired: make a new one on your account page.")
    return Identity(user, Scope(row.scope))


def identify_person(session: Session, me: Caller) -> Identity:
    """Look up who is signed in here in a browser; an API token may not make others like it."""
    identity = identify(session, me)
    if identity.scope is not None:
        raise Forbidden("API tokens are made and revoked in the browser, not with an API token.")
    return identity


def authorize(session: Session, caller: Caller, project_key: str, action: Action) -> Access:
    """Find the project and the caller's role in it, and allow the action or raise."""
    identity, project, stored_role = _find(session, caller, project_key)
    role = Role.OWNER if identity.user.is_admin else Role(stored_role) if stored_role else None
    if project is None or role is None:
        raise NotFound(f"There is no project '{project_key}' that you belong to.")
    if action not in ROLE_MAY[role]:
        raise Forbidden(f"Your role here is {role}: it does not allow this. Ask the project's owner for more.")
    allow_scope(identity, action)
    return Access(project, identity.user, role)


def _find(session: Session, caller: Caller, project_key: str) -> tuple[Identity, Project | None, str | None]:
    """Look up the caller, the project and the caller's role in it; for somebody in a browser in one statement."""
    if caller.token is None and caller.user_id is not None:
        row = session.execute(USER_PROJECT_AND_ROLE, {"key": project_key, "user": caller.user_id}).first()
        if row is not None:
            return Identity(row[0], None), row[1], row[2]
    identity = identify(session, caller)
    found = session.execute(PROJECT_AND_ROLE, {"key": project_key, "user": identity.user.id}).first()
    return identity, *(found or (None, None))


def allow_new_project(identity: Identity) -> None:
    """Refuse new projects of labelers who came by a share link: nobody knows who they are."""
    allow_scope(identity, Action.WRITE)
    if identity.user.email is None and not identity.user.is_admin:
        raise Forbidden("Labelers who came by a link cannot make projects. Ask for an account with your address.")


def allow_scope(identity: Identity, action: Action) -> None:
    """Refuse what the API token's scope does not include."""
    if identity.scope is not None and action not in SCOPE_MAY[identity.scope]:
        raise Forbidden(f"This API token has the scope '{identity.scope}', which does not allow this.")
