"""Who calls, and the one function that says what they may do: `authorize`.

A caller is known by a session cookie or a bearer token. A stranger to a project hears that it does not
exist; a member whose role is too small hears that they may not.
"""

import enum
import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from fastapi import BackgroundTasks, Depends, Request
from sqlalchemy import ColumnElement, Select, bindparam, inspect, select
from sqlalchemy.orm import Session

from app.accounts.usage import TokenUses
from app.errors import Forbidden, NotFound, NotSignedIn, Problem
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


def users_in_project(of_those: ColumnElement[bool]) -> Select[User, Project, str]:
    """Build the question who some users are in the project with a key."""
    return (
        select(User, Project, Membership.role)
        .select_from(User)
        .outerjoin(Project, Project.key == bindparam("key"))
        .outerjoin(Membership, (Membership.project_id == Project.id) & (Membership.user_id == User.id))
        .where(of_those)
    )


# Every request asks this; built once, it costs half of what it does built anew.
USERS_IN_PROJECT = users_in_project(User.id.in_(bindparam("users", expanding=True)))
USER_COLUMNS = inspect(User).columns.keys()
PROJECT_COLUMNS = inspect(Project).columns.keys()


@dataclass(frozen=True)
class Caller:
    """The credentials of one request, not yet looked up."""

    user_id: int | None = None
    token: str | None = None

    @property
    def in_browser(self) -> int | None:
        """The user whom a session names; a token goes before it."""
        return self.user_id if self.token is None else None


@dataclass(frozen=True)
class Identity:
    """A user who was looked up, and the scope that limits them (None: a session, no limit)."""

    user: User
    scope: Scope | None


class Found(NamedTuple):
    """A user, the project asked for if there is one, and the role that is stored for the user in it."""

    user: User
    project: Project | None
    role: str | None

    @classmethod
    def in_row(cls, row: Sequence[Any]) -> "Found":
        """Make of a row that was read past SQLAlchemy what it makes of it."""
        *of_project, role = row[len(USER_COLUMNS) :]
        user = User(**dict(zip(USER_COLUMNS, row, strict=False)))
        there_is_one = any(value is not None for value in of_project)
        return cls(
            user, Project(**dict(zip(PROJECT_COLUMNS, of_project, strict=True))) if there_is_one else None, role
        )


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


def authorize(
    session: Session, caller: Caller, project_key: str, action: Action, people: dict[int, Found] | None = None
) -> Access:
    """Find the project and the caller's role in it, and allow the action or raise; `people` as below."""
    [outcome] = authorize_each(session, [caller], project_key, action, people)
    if isinstance(outcome, Problem):
        raise outcome
    return outcome


def authorize_each(
    session: Session,
    callers: Sequence[Caller],
    project_key: str,
    action: Action,
    people: dict[int, Found] | None = None,
) -> list[Access | Problem]:
    """Give each caller's access, or what is in its way.

    Who is in a browser is looked up with all others who are, unless `people` says what was found of them already.
    """
    if people is None:
        people = _look_up(session, in_browsers(callers), project_key)
    outcomes: list[Access | Problem] = []
    for caller in callers:
        try:
            user_id = caller.in_browser
            known = None if user_id is None else people.get(user_id)
            identity = Identity(known.user, None) if known else identify(session, caller)
            found = known or _look_up(session, {identity.user.id}, project_key)[identity.user.id]
            outcomes.append(_allow(identity, found, project_key, action))
        except Problem as problem:
            outcomes.append(problem)
    return outcomes


def in_browsers(callers: Iterable[Caller]) -> set[int]:
    """Give the users who are known by their session."""
    return {caller.in_browser for caller in callers if caller.in_browser is not None}


def _look_up(session: Session, user_ids: Collection[int], project_key: str) -> dict[int, Found]:
    if not user_ids:
        return {}
    rows = session.execute(USERS_IN_PROJECT, {"key": project_key, "users": list(user_ids)})
    return {user.id: Found(user, project, role) for user, project, role in rows}


def _allow(identity: Identity, found: Found, project_key: str, action: Action) -> Access:
    role = Role.OWNER if identity.user.is_admin else Role(found.role) if found.role else None
    if found.project is None or role is None:
        raise NotFound(f"There is no project '{project_key}' that you belong to.")
    if action not in ROLE_MAY[role]:
        raise Forbidden(f"Your role here is {role}: it does not allow this. Ask the project's owner for more.")
    allow_scope(identity, action)
    return Access(found.project, identity.user, role)


def allow_new_project(identity: Identity) -> None:
    """Refuse new projects of labelers who came by a share link: nobody knows who they are."""
    allow_scope(identity, Action.WRITE)
    if identity.user.email is None and not identity.user.is_admin:
        raise Forbidden("Labelers who came by a link cannot make projects. Ask for an account with your address.")


def allow_scope(identity: Identity, action: Action) -> None:
    """Refuse what the API token's scope does not include."""
    if identity.scope is not None and action not in SCOPE_MAY[identity.scope]:
        raise Forbidden(f"This API token has the scope '{identity.scope}', which does not allow this.")
