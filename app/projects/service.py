"""What happens to projects: made, changed, shared, deleted."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app import events
from app.accounts import queries as accounts
from app.accounts.access import ROLE_MAY, Access, Action
from app.accounts.service import make_user
from app.clustering import algorithms, forms, needs
from app.errors import Conflict, FieldError, NotFound
from app.items.queries import item_count
from app.models import (
    Answer,
    Bag,
    ClusterNote,
    FeatureSet,
    Item,
    Membership,
    Project,
    Role,
    Run,
    ShareLink,
    Triplet,
    User,
    now,
)
from app.projects import queries
from app.storage import Storage

# Children before parents. Deleting the project alone would look for the triplets of each item in turn.
OWNED = (Answer, Triplet, ClusterNote, Run, FeatureSet, Item, Bag)
LONGEST_KEY = 80


@dataclass(frozen=True)
class SettingsView:
    """What the settings page shows."""

    project: Project
    parameters: dict[str, str]
    items: int
    links: list[ShareLink]
    members: list[tuple[User, Membership]]
    me: User
    may_write: bool
    may_own: bool


def view_settings(session: Session, access: Access) -> SettingsView:
    """Collect what the settings page shows to this member."""
    project = access.project
    return SettingsView(
        project=project,
        parameters=forms.texts(project.algorithm, project.parameters),
        items=item_count(session, project.id),
        links=accounts.share_links(session, project.id),
        members=queries.members(session, project.id),
        me=access.user,
        may_write=Action.WRITE in ROLE_MAY[access.role],
        may_own=Action.OWN in ROLE_MAY[access.role],
    )


def create_project(session: Session, user: User, *, name: str, key: str | None = None, **settings: Any) -> Project:
    """Make a project that the user owns; without a key, one is made from the name."""
    if key is not None and queries.project_by_key(session, key) is not None:
        raise Conflict(f"There is already a project '{key}': choose another key.", [FieldError("key", "is taken")])
    chosen = key or _free_key(session, name)
    project = Project(key=chosen, name=name, **settings)
    session.add(project)
    try:
        session.flush()
    except IntegrityError as error:
        raise Conflict(f"Someone made a project '{chosen}' at the same moment: send it again.") from error
    session.add(Membership(project_id=project.id, user_id=user.id, role=Role.OWNER))
    session.flush()
    check_clustering(session, project)
    return project


def change_project(session: Session, project: Project, changes: dict[str, Any]) -> Project:
    """Set the given settings, tell open pages, and give the project."""
    changes = {**_parameters_that_stay(project, changes), **changes}
    archived = changes.pop("archived", None)
    if archived is not None:
        project.archived_at = (project.archived_at or now()) if archived else None
    for field, value in changes.items():
        setattr(project, field, value)
    session.flush()
    check_clustering(session, project)
    events.record(session, project.id, ("project", {"changed": "settings"}))
    return project


def _parameters_that_stay(project: Project, changes: dict[str, Any]) -> dict[str, Any]:
    """Another algorithm begins with its own defaults; a new number of clusters takes the place of an older one."""
    if changes.get("algorithm", project.algorithm) != project.algorithm:
        return {"parameters": {}}
    if "n_clusters" in changes and "n_clusters" in project.parameters:
        return {"parameters": {name: value for name, value in project.parameters.items() if name != "n_clusters"}}
    return {}


def check_clustering(session: Session, project: Project) -> None:
    """Refuse an unknown algorithm and a wrong parameter; once there are items, what these do not suffice for."""
    count = item_count(session, project.id)
    found = algorithms.resolve(project, project.algorithm, project.parameters, count or project.n_clusters)
    if count:
        needs.check(session, project, project.algorithm, found)


def delete_project(session: Session, project: Project) -> list[str]:
    """Delete the project with everything in it; give the folders of blobs to remove once that is committed."""
    folders = [blob_folder(project.id), *(f"runs/{number}" for number in queries.run_ids(session, project.id))]
    for table in OWNED:
        session.execute(delete(table).where(table.project_id == project.id))
    session.delete(project)
    return folders


def blob_folder(project_id: int) -> str:
    """Give the folder in storage that holds a project's media and features."""
    return f"projects/{project_id}"


def remove_blobs(storage: Storage, folders: list[str]) -> None:
    """Remove the blobs of a deleted project."""
    for folder in folders:
        storage.delete_folder(folder)


def set_member(
    session: Session, project: Project, *, email: str, role: Role, name: str | None = None
) -> tuple[User, Membership]:
    """Give the person with the address a role; someone not known yet becomes a user."""
    user = accounts.user_by_email(session, email) or make_user(session, name or email.partition("@")[0], email=email)
    member = accounts.membership(session, project.id, user.id)
    if member is None:
        member = Membership(project_id=project.id, user_id=user.id)
        session.add(member)
    else:
        _keep_an_owner(session, member, role)
    member.role = role
    session.flush()
    return user, member


def remove_member(session: Session, project: Project, user_id: int) -> None:
    """Take someone out of the project; their answers stay."""
    member = accounts.membership(session, project.id, user_id)
    if member is None:
        raise NotFound(f"Project '{project.key}' has no member {user_id}.")
    _keep_an_owner(session, member, None)
    session.delete(member)


def _keep_an_owner(session: Session, member: Membership, role: Role | None) -> None:
    if (
        member.role == Role.OWNER
        and role != Role.OWNER
        and accounts.member_count(session, member.project_id, Role.OWNER) == 1
    ):
        raise Conflict("This is the project's only owner: make someone else an owner first.")


def _free_key(session: Session, name: str) -> str:
    """Make a key of the name: plain letters and digits joined by hyphens, numbered if it is taken."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    start = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[: LONGEST_KEY - 8].strip("-") or "project"
    taken = queries.keys_like(session, start)
    if start not in taken:
        return start
    return next(key for n in range(2, len(taken) + 3) if (key := f"{start}-{n}") not in taken)
