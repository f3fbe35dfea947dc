"""What is read about projects: those a user belongs to, their members, their links."""

from sqlalchemy import case, select
from sqlalchemy.orm import Session

from app.models import Membership, Project, Role, Run, User


def page_of_projects(session: Session, user: User, after: str, limit: int) -> list[Project]:
    """Give up to `limit` projects of the user behind a key, in the order of keys; an admin's are all."""
    statement = select(Project).where(Project.key > after)
    if not user.is_admin:
        mine = select(Membership.project_id).where(Membership.user_id == user.id)
        statement = statement.where(Project.id.in_(mine))
    return list(session.scalars(statement.order_by(Project.key).limit(limit)))


def project_by_key(session: Session, key: str) -> Project | None:
    """Give the project, whoever asks: for the command line."""
    return session.scalar(select(Project).where(Project.key == key))


def keys_like(session: Session, start: str) -> set[str]:
    """Give the keys that begin so."""
    return set(session.scalars(select(Project.key).where(Project.key.startswith(start, autoescape=True))))


def members(session: Session, project_id: int) -> list[tuple[User, Membership]]:
    """Give the members with their roles, owners first, then by name."""
    order = case({Role.OWNER: 0, Role.ANALYST: 1}, value=Membership.role, else_=2)
    statement = (
        select(User, Membership)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.project_id == project_id)
        .order_by(order, User.name, User.id)
    )
    return [(user, member) for user, member in session.execute(statement)]


def run_ids(session: Session, project_id: int) -> list[int]:
    """Give the ids of all runs: their blobs are stored under them."""
    return list(session.scalars(select(Run.id).where(Run.project_id == project_id)))
