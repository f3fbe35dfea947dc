"""Makes and changes projects, and manages their members."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from tercet.accounts import invitations
from tercet.accounts import queries as accounts
from tercet.accounts.access import ROLE_MAY, Access, Action
from tercet.accounts.service import end_labeling
from tercet.audit import chain
from tercet.catalogue import algorithms, forms
from tercet.errors import Conflict, FieldError, NotFound
from tercet.items.queries import count_in_use, latest_features
from tercet.jobs import queries as jobs
from tercet.live import events
from tercet.models import (
    ApiToken,
    BackgroundJob,
    FeatureSet,
    Invitation,
    JobKind,
    Membership,
    Project,
    Role,
    User,
    now,
)
from tercet.projects import queries
from tercet.projects.media_settings import Clip, GroupChoice, clips_to_try, groups_to_choose
from tercet.runs import outlook, preconditions
from tercet.runs.queries import last_done
from tercet.webhooks import queries as webhooks

LONGEST_KEY = 80
# Addresses of pages below /projects that are not of a project.
RESERVED_KEYS = {"new"}


@dataclass(frozen=True)
class SettingsView:
    """What the settings page shows."""

    project: Project
    parameters: dict[str, str]
    items: int
    features: FeatureSet | None
    features_job: BackgroundJob | None
    pictures_job: BackgroundJob | None
    groups: list[GroupChoice]
    clips: list[Clip]
    links: list[accounts.LinkInUse]
    members: list[tuple[User, Membership]]
    invitations: list[Invitation]
    tokens: list[accounts.HeldToken]
    webhooks: list[webhooks.WebhookInUse]
    me: User
    may_write: bool
    may_own: bool
    how_people_err: str


def view_settings(session: Session, access: Access) -> SettingsView:
    """Collect what the settings page shows to this member."""
    project = access.project
    features, run = latest_features(session, project.id), last_done(session, project.id)
    return SettingsView(
        project=project,
        parameters=forms.texts(project.algorithm, project.parameters),
        items=count_in_use(session, project.id),
        features=features,
        groups=groups_to_choose(session, project, features),
        clips=clips_to_try(session, project.id),
        features_job=next(iter(jobs.unfinished(session, project.id, JobKind.MAKE_FEATURES)), None),
        pictures_job=next(iter(jobs.unfinished(session, project.id, JobKind.DRAW_PICTURES)), None),
        links=accounts.share_links(session, project.id, revoked_too=True),
        tokens=accounts.api_tokens(session, ApiToken.project_id == project.id),
        members=queries.members(session, project.id),
        invitations=invitations.waiting(session, project.id),
        webhooks=webhooks.webhooks(session, project.id),
        me=access.user,
        may_write=Action.WRITE in ROLE_MAY[access.role],
        may_own=Action.OWN in ROLE_MAY[access.role],
        how_people_err="" if run is None else outlook.of_errors(run.metrics),
    )


def create_project(session: Session, user: User, *, name: str, key: str | None = None, **settings: Any) -> Project:
    """Make a project that the user owns; without a key, one is made from the name."""
    if key in RESERVED_KEYS:
        raise Conflict(f"'{key}' cannot be a project's key.", [FieldError("key", "is the address of another page")])
    holder = None if key is None else queries.holder_of_key(session, key)
    if holder is not None and holder.deleted_at is not None:
        detail = f"A project '{key}' was deleted and can be restored for 30 days: choose another key."
        raise Conflict(detail, [FieldError("key", "is taken by a deleted project")])
    if holder is not None:
        raise Conflict(f"There is already a project '{key}': choose another key.", [FieldError("key", "is taken")])
    key = key or _free_key(session, name)
    project = Project(key=key, name=name, **settings)
    session.add(project)
    try:
        session.flush()
    except IntegrityError as error:
        raise Conflict(f"Someone made a project '{key}' at the same moment: send it again.") from error
    session.add(Membership(project_id=project.id, user_id=user.id, role=Role.OWNER))
    session.flush()
    check_clustering(session, project)
    chain.record(session, "project made", project=project, after={"name": name})
    return project


# What a project copies from another: settings of questions, clustering, features and pictures.
COPIED = (
    "question_kind",
    "question_text",
    "guidelines",
    "n_clusters",
    "algorithm",
    "informative_share",
    "redundancy",
    "repeats_in_doubt",
    "known_share",
    "practice",
    "hear_first",
    "feedback",
    "labeler_goal",
    "project_goal",
    "retention_days",
    "rerun_answers",
    "rerun_idle_seconds",
    "rerun_max_seconds",
    "feature_recipe",
    "picture_settings",
)
# Parameters that name runs or columns of the project which they were chosen for.
OF_ITS_OWN = ("known_runs", "known_columns")


def settings_of(project: Project) -> dict[str, Any]:
    """Return the settings that another project may copy."""
    settings = {name: getattr(project, name) for name in COPIED if getattr(project, name) is not None}
    parameters = {name: value for name, value in project.parameters.items() if name not in OF_ITS_OWN}
    return {**settings, "parameters": parameters}


def change_project(session: Session, project: Project, changes: dict[str, Any]) -> Project:
    """Change settings, record it for open pages, and return the project."""
    changes = {**_parameters_that_stay(project, changes), **changes}
    archived = changes.pop("archived", None)
    if archived is not None:
        project.archived_at = (project.archived_at or now()) if archived else None
    before = {field: getattr(project, field) for field in changes}
    after = {field: value for field, value in changes.items() if value != before[field]}
    for field, value in changes.items():
        setattr(project, field, value)
    session.flush()
    check_clustering(session, project)
    if archived is not None:
        after["archived"] = archived
    if after:
        earlier = {field: value for field, value in before.items() if field in after}
        chain.record(session, "settings changed", project=project, before=earlier, after=after)
    events.record(session, project.id, ("project", {"changed": "settings"}))
    return project


def _parameters_that_stay(project: Project, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters to store with the changes, if not those that are stored.

    Another algorithm begins with its own defaults; a new number of clusters overrides the stored one.
    """
    if changes.get("algorithm", project.algorithm) != project.algorithm:
        return {"parameters": {}}
    if "n_clusters" in changes and "n_clusters" in project.parameters:
        return {"parameters": {name: value for name, value in project.parameters.items() if name != "n_clusters"}}
    return {}


def check_clustering(session: Session, project: Project) -> None:
    """Raise Invalid for an unknown algorithm or a wrong parameter and, once there are items, if they do not suffice."""
    count = count_in_use(session, project.id)
    parameters = algorithms.resolve(project, project.algorithm, project.parameters, count or project.n_clusters)
    if count:
        preconditions.check(session, project, project.algorithm, parameters)


def blob_folder(project_id: int) -> str:
    """Return the folder in storage that holds a project's media and features."""
    return f"projects/{project_id}"


def change_role(session: Session, project: Project, user_id: int, role: Role) -> tuple[User, Membership]:
    """Give a member another role."""
    member = find_member(session, project, user_id)
    _keep_an_owner(session, member, role)
    user, before = session.get_one(User, user_id), member.role
    member.role = role
    after = {"user": user.id, "email": user.email, "role": role}
    chain.record(session, "role", project=project, before={"role": before}, after=after)
    return user, member


def find_member(session: Session, project: Project, user_id: int) -> Membership:
    """Find a member of the project, or raise NotFound."""
    member = accounts.membership(session, project.id, user_id)
    if member is None:
        raise NotFound(f"Project '{project.key}' has no member {user_id}.")
    return member


def remove_member(session: Session, project: Project, user_id: int) -> None:
    """Take someone out of the project; their answers stay."""
    member = find_member(session, project, user_id)
    _keep_an_owner(session, member, None)
    end_labeling(session, project, session.get_one(User, user_id))
    chain.record(session, "member removed", project=project, before={"user": user_id, "role": member.role})
    session.delete(member)


def _keep_an_owner(session: Session, member: Membership, role: Role | None) -> None:
    if (
        member.role == Role.OWNER
        and role != Role.OWNER
        and accounts.member_count(session, member.project_id, Role.OWNER) == 1
    ):
        raise Conflict("This is the project's only owner: make someone else an owner first.")


def _free_key(session: Session, name: str) -> str:
    """Return a key made of the name: plain letters and digits joined by hyphens, numbered if it is taken."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    start = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[: LONGEST_KEY - 8].strip("-") or "project"
    taken = queries.keys_like(session, start) | RESERVED_KEYS
    if start not in taken:
        return start
    return next(key for n in range(2, len(taken) + 3) if (key := f"{start}-{n}") not in taken)
