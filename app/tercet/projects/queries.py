"""Reads projects, their members and links."""

from datetime import datetime

from sqlalchemy import case, select
from sqlalchemy.orm import Session

from tercet.accounts.access import Identity
from tercet.models import Import, Membership, Project, Role, Run, User


def page_of_projects(session: Session, identity: Identity, after: str, limit: int) -> list[Project]:
    """Return up to `limit` projects of the user after a key, in the order of keys; of an administrator, all."""
    user, statement = identity.user, select(Project).where(Project.key > after, Project.deleted_at.is_(None))
    if identity.project_id is not None:
        statement = statement.where(Project.id == identity.project_id)
    if not user.is_admin:
        memberships = select(Membership.project_id).where(Membership.user_id == user.id)
        statement = statement.where(Project.id.in_(memberships))
    return list(session.scalars(statement.order_by(Project.key).limit(limit)))


def project_by_key(session: Session, key: str) -> Project | None:
    """Return the project without checking rights: for the command line."""
    return session.scalar(select(Project).where(Project.key == key, Project.deleted_at.is_(None)))


def holder_of_key(session: Session, key: str) -> Project | None:
    """Return the project that has a key, even if deleted: until it is removed, the key is taken."""
    return session.scalar(select(Project).where(Project.key == key))


def deleted_before(session: Session, moment: datetime) -> list[Project]:
    """Return the projects that were deleted before a moment."""
    return list(session.scalars(select(Project).where(Project.deleted_at < moment).order_by(Project.id)))


def keys_like(session: Session, start: str) -> set[str]:
    """Return the keys that begin with a prefix."""
    return set(session.scalars(select(Project.key).where(Project.key.startswith(start, autoescape=True))))


def members(session: Session, project_id: int) -> list[tuple[User, Membership]]:
    """Return the members with their roles, owners first, then by name."""
    order = case({Role.OWNER: 0, Role.ANALYST: 1}, value=Membership.role, else_=2)
    statement = (
        select(User, Membership)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.project_id == project_id)
        .order_by(order, User.name, User.id)
    )
    return [(user, member) for user, member in session.execute(statement)]


def import_ids(session: Session, project_id: int) -> list[int]:
    """Return the ids of all imports: their files are stored under them."""
    return list(session.scalars(select(Import.id).where(Import.project_id == project_id)))


def run_ids(session: Session, project_id: int) -> list[int]:
    """Return the ids of all runs: their blobs are stored under them."""
    return list(session.scalars(select(Run.id).where(Run.project_id == project_id)))
