"""Authentication and authorization: who sends a request, and `authorize`, which says what they may do.

A caller is known by a session cookie or a bearer token. Who is not a member of a project gets 404, as if it did not
exist; a member whose role does not suffice gets 403.
"""

import enum
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, select, true
from sqlalchemy.orm import Session

from tercet.audit import chain
from tercet.errors import Forbidden, NotFound, NotSignedIn
from tercet.models import ApiToken, BrowserSession, Membership, Project, ProjectView, Role, Scope, User, now
from tercet.translatable import to_translate


class Action(enum.StrEnum):
    """What can be done in a project: see its question and media, label, read results, change it, own it."""

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
ROLE_NAMES = {
    Role.LABELER: to_translate("labeler"),
    Role.ANALYST: to_translate("analyst"),
    Role.OWNER: to_translate("owner"),
}
SCOPE_MAY = {
    Scope.LABEL: {Action.LOOK, Action.LABEL},
    Scope.READ: {Action.LOOK, Action.READ},
    Scope.WRITE: {Action.LOOK, Action.LABEL, Action.READ, Action.WRITE},
    Scope.OWN: set(Action),
}


SESSION_COOKIE = "tercet"
SIGN_IN_FIRST = to_translate("Sign in first: open your sign-in link, or send an API token as 'Authorization: Bearer'.")
VIEW_COLUMNS = [getattr(Project, field.name) for field in fields(ProjectView)]


def _in_project(*columns: Any, even_deleted: bool = False) -> Select[*tuple[Any, ...]]:
    """Build the statement that reads users, the project with a key if there is one, and their roles in it."""
    there = true() if even_deleted else Project.deleted_at.is_(None)
    return (
        select(*columns)
        .select_from(User)
        .outerjoin(Project, (Project.key == bindparam("key")) & there)
        .outerjoin(Membership, (Membership.project_id == Project.id) & (Membership.user_id == User.id))
    )


_NOW = bindparam("now", type_=BrowserSession.expires_at.type)
_IS_LIVE = (BrowserSession.expires_at > _NOW) & User.disabled_at.is_(None)


def session_rows(of_those: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    """Build the statement that reads the hash and a `CallerRow` of each live session that meets a condition."""
    columns = (BrowserSession.token_hash, User.id, User.is_admin, Membership.role, *VIEW_COLUMNS)
    return _in_project(*columns).join(BrowserSession, BrowserSession.user_id == User.id).where(of_those, _IS_LIVE)


# Every request runs one of these: building them once halves their cost.
_USER_OF_SESSION = (
    select(User)
    .join(BrowserSession, BrowserSession.user_id == User.id)
    .where(BrowserSession.token_hash == bindparam("session"), _IS_LIVE)
)
_BY_SESSION = User.id == _USER_OF_SESSION.with_only_columns(BrowserSession.user_id).correlate(None).scalar_subquery()
_BY_NUMBER = User.id == bindparam("user")
_USER_IN_PROJECT = {
    (in_browser, even_deleted): _in_project(User, Project, Membership.role, even_deleted=even_deleted).where(condition)
    for in_browser, condition in ((True, _BY_SESSION), (False, _BY_NUMBER))
    for even_deleted in (True, False)
}
_CALLER_ROW = _in_project(User.id, User.is_admin, Membership.role, *VIEW_COLUMNS).where(_BY_NUMBER)


@dataclass(frozen=True)
class Caller:
    """The credentials of one request, not yet looked up."""

    # The hash of the cookie's token; None where there is an API token, which takes precedence.
    session: str | None = None
    token: str | None = None

    @property
    def key(self) -> str:
        """What tells this caller from others."""
        return self.session or hash_token(self.token or "")


@dataclass(frozen=True)
class Identity:
    """A user who was looked up, and what limits them: the scope of an API token, and the project that it is for."""

    user: User
    scope: Scope | None = None  # None: a session, no limit
    project_id: int | None = None  # None: every project

    def reaches(self, project_id: int) -> bool:
        """Return whether a project is within the limits."""
        return self.project_id in (None, project_id)


@dataclass(frozen=True)
class CallerRow:
    """A user, the role stored for them in the project asked for, and that project if there is one."""

    user_id: int
    is_admin: bool
    role: str | None
    project: ProjectView | None

    @classmethod
    def of(cls, row: Sequence[Any]) -> "CallerRow":
        """Convert a row, without the hash of a session."""
        user_id, is_admin, role, *project = row
        return cls(user_id, is_admin, role, None if project[0] is None else ProjectView(*project))


@dataclass(frozen=True)
class LabelerAccess:
    """A user who may label in a project: all that leasing questions and storing answers need, without the ORM."""

    project: ProjectView
    user_id: int


@dataclass(frozen=True)
class Access:
    """A user in a project, allowed to do what was asked."""

    project: Project
    user: User
    role: Role

    @property
    def labeler(self) -> LabelerAccess:
        """This access without ORM objects, for labeling."""
        return LabelerAccess(ProjectView.of(self.project), self.user.id)


def hash_token(token: str) -> str:
    """Hash a random token of 256 bits for look-up; its entropy makes a slow hash needless."""
    return hashlib.sha256(token.encode()).hexdigest()


def identify(session: Session, caller: Caller) -> Identity:
    """Look up the caller; raise NotSignedIn where there is none."""
    if caller.token is not None:
        identity = _identify_token(session, caller.token)
    elif (user := user_of_session(session, caller)) is not None:
        identity = Identity(user)
    else:
        raise NotSignedIn(SIGN_IN_FIRST)
    chain.act_as(identity.user)
    return identity


def identify_administrator(session: Session, me: Caller) -> Identity:
    """Look up the caller, who has to be an administrator."""
    identity = identify(session, me)
    _allow_scope(identity.scope, Action.OWN)
    _demand_every_project(identity)
    if not identity.user.is_admin:
        raise Forbidden("This is for administrators: 'tercet user promote ADDRESS' makes one.")
    return identity


def user_of_session(session: Session, caller: Caller) -> User | None:
    """Return who is signed in in the browser, if anybody is."""
    if caller.session is None:
        return None
    return session.scalar(_USER_OF_SESSION, {"session": caller.session, "now": now()})


def _identify_token(session: Session, token: str) -> Identity:
    row = session.execute(
        select(ApiToken, User).join(User, User.id == ApiToken.user_id).where(ApiToken.token_hash == hash_token(token))
    ).first()
    if row is None:
        raise NotSignedIn("This API token is not known here.")
    api_token, user = row
    if api_token.revoked_at is not None or (api_token.expires_at is not None and api_token.expires_at <= now()):
        raise NotSignedIn("This API token was revoked or has expired: make a new one on your account page.")
    if user.disabled_at is not None:
        raise NotSignedIn("This API token belongs to somebody who may not come in any more.")
    if not user.has_account:
        raise NotSignedIn("This API token belongs to a labeler who came by a link, where none is accepted.")
    return Identity(user, Scope(api_token.scope), api_token.project_id)


def identify_person(session: Session, me: Caller) -> Identity:
    """Look up who is signed in in a browser: API tokens cannot create further tokens."""
    identity = identify(session, me)
    if identity.scope is not None:
        raise Forbidden("API tokens are made and revoked in the browser, not with an API token.")
    return identity


def identify_holder(session: Session, me: Caller) -> Identity:
    """Look up who is signed in in a browser with an account, which may have API tokens."""
    identity = identify_person(session, me)
    if not identity.user.has_account:
        raise Forbidden(
            to_translate("Labelers who came by a link have no API tokens. Ask for an account with your address.")
        )
    return identity


def authorize(
    session: Session, caller: Caller, project_key: str, action: Action, *, even_deleted: bool = False
) -> Access:
    """Look up the caller, the project and the caller's role in it; return them if the action is allowed, or raise.

    A deleted project counts as missing unless `even_deleted`.
    """
    identity: Identity | None = None
    parameters: dict[str, object] = {"key": project_key, "session": caller.session, "now": now()}
    if caller.session is None:
        identity = identify(session, caller)
        parameters = {"key": project_key, "user": identity.user.id}
    row = session.execute(_USER_IN_PROJECT[caller.session is not None, even_deleted], parameters).first()
    if row is None:
        raise NotSignedIn(SIGN_IN_FIRST)
    user, project, stored_role = row
    exists = project is not None and (identity is None or identity.reaches(project.id))
    role = _role(project_key, stored_role, is_admin=user.is_admin, exists=exists)
    _allow(role, None if identity is None else identity.scope, action)
    chain.act_as(user)
    return Access(project, user, role)


def authorize_labeler(
    session: Session, caller: Caller, project_key: str, rows: Mapping[str, CallerRow]
) -> LabelerAccess:
    """Do what `authorize` does for labeling, without the ORM.

    Callers with a session are looked up in `rows`, which are read for many requests at once.
    """
    identity = None
    if caller.session is None:
        identity = identify(session, caller)
        row = _caller_row(session, identity.user.id, project_key)
    elif caller.session in rows:
        row = rows[caller.session]
    else:
        raise NotSignedIn(SIGN_IN_FIRST)
    exists = row.project is not None and (identity is None or identity.reaches(row.project.id))
    role = _role(project_key, row.role, is_admin=row.is_admin, exists=exists)
    _allow(role, None if identity is None else identity.scope, Action.LABEL)
    assert row.project is not None, "a role is one in a project"
    return LabelerAccess(row.project, row.user_id)


def in_browsers(callers: Iterable[Caller]) -> set[str]:
    """Return the hashes of session cookies."""
    return {caller.session for caller in callers if caller.session is not None}


def _caller_row(session: Session, user_id: int, project_key: str) -> CallerRow:
    row = session.execute(_CALLER_ROW, {"key": project_key, "user": user_id}).first()
    if row is None:
        raise NotSignedIn(SIGN_IN_FIRST)
    return CallerRow.of(row)


def _role(project_key: str, stored_role: str | None, *, is_admin: bool, exists: bool) -> Role:
    """Return the caller's role in the project; an administrator owns every one."""
    role = Role.OWNER if is_admin else Role(stored_role) if stored_role else None
    if not exists or role is None:
        raise NotFound(to_translate("There is no project '%(key)s' that you belong to.", key=project_key))
    return role


def _allow(role: Role, scope: Scope | None, action: Action) -> None:
    if action not in ROLE_MAY[role]:
        raise Forbidden(
            to_translate(
                "Your role here is %(role)s: it does not allow this. Ask the project's owner for more.",
                role=ROLE_NAMES[role],
            )
        )
    _allow_scope(scope, action)


def allow_new_project(identity: Identity) -> None:
    """Raise Forbidden for labelers without an account, who joined by a share link, and for tokens of one project."""
    _allow_scope(identity.scope, Action.WRITE)
    _demand_every_project(identity)
    if not identity.user.has_account:
        raise Forbidden(
            to_translate("Labelers who came by a link cannot make projects. Ask for an account with your address.")
        )


def _demand_every_project(identity: Identity) -> None:
    if identity.project_id is not None:
        raise Forbidden("This API token is for one project, which does not allow this.")


def _allow_scope(scope: Scope | None, action: Action) -> None:
    """Raise Forbidden where the API token's scope does not include the action."""
    if scope is not None and action not in SCOPE_MAY[scope]:
        raise Forbidden(f"This API token has the scope '{scope}', which does not allow this.")
