"""REST: make, list, change and delete projects, and manage their members."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tercet.accounts.access import Action, allow_new_project, authorize, identify
from tercet.accounts.dependencies import Me
from tercet.projects import deleting, queries, service
from tercet.projects.schemas import (
    Done,
    MemberList,
    MemberOut,
    ProjectIn,
    ProjectList,
    ProjectOut,
    ProjectPatch,
    RoleIn,
)
from tercet.runs.queries import lock_project
from tercet.web.dependencies import Db, IfMatch
from tercet.web.entity_tags import check_unchanged, entity_tag
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count, Id
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["projects"], responses=problems(401, 403), route_class=JsonRoute)
COUNTERS = ("answers",)
Limit = Annotated[Count, Query(ge=1, le=1_000, description="how many at most")]


@router.post("", status_code=201, responses=problems(404, 409, 422))
def post_project(body: ProjectIn, me: Me, db: Db) -> ProjectOut:
    """Make a project.

    You become its owner. `settings_of` names a project of yours to copy settings from; settings in the request override
    them. 409: the key is taken.
    """
    with db.transaction() as session:
        identity = identify(session, me)
        allow_new_project(identity)
        fields = body.fields_sent()
        if source := fields.pop("settings_of", None):
            fields = service.settings_of(authorize(session, me, source, Action.READ).project) | fields
        return ProjectOut.of(service.create_project(session, identity.user, **fields))


@router.get("")
def get_projects(me: Me, db: Db, after: str = "", limit: Limit = 100) -> ProjectList:
    """List your projects, in the order of their keys.

    Give `next` of one page as `after` of the next.
    """
    with db.reading() as session:
        rows = queries.page_of_projects(session, identify(session, me), after, limit + 1)
        page = [ProjectOut.of(project) for project in rows[:limit]]
        return ProjectList(projects=page, next=page[-1].key if len(rows) > limit else None)


@router.get("/{project}", responses=problems(404))
def get_project(project: str, me: Me, db: Db, response: Response) -> ProjectOut:
    """Read a project's settings and counters; the ETag is of the settings."""
    with db.reading() as session:
        settings = ProjectOut.of(authorize(session, me, project, Action.LOOK).project)
    response.headers["ETag"] = entity_tag(settings, COUNTERS)
    return settings


@router.patch("/{project}", responses=problems(404, 412, 422))
def patch_project(
    project: str, body: ProjectPatch, me: Me, db: Db, response: Response, if_match: IfMatch = None
) -> ProjectOut:
    """Change settings; what is left out stays as it is.

    Another `algorithm` without `parameters` begins with its defaults; `/api/v1/algorithms` lists what there is.
    The question's kind cannot be changed: answers would lose their meaning. 422: a value is out of range, the
    algorithm has no such parameter, or there are fewer items than clusters.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        locked = lock_project(session, access.project.id)
        check_unchanged(if_match, entity_tag(ProjectOut.of(locked), COUNTERS))
        changed = ProjectOut.of(service.change_project(session, locked, body.fields_sent()))
    response.headers["ETag"] = entity_tag(changed, COUNTERS)
    return changed


@router.delete("/{project}", responses=problems(404))
def delete_project(project: str, me: Me, db: Db) -> Done:
    """Delete the project with its items, answers, runs and media.

    It is hidden at once. For 30 days POST `undelete` restores it; then it is removed for good. To hide it without
    deleting, PATCH `{"archived": true}`.
    """
    with db.transaction() as session:
        deleting.delete_project(session, authorize(session, me, project, Action.OWN).project)
    return Done(deleted=project)


@router.post("/{project}/undelete", responses=problems(404, 409))
def undelete_project(project: str, me: Me, db: Db) -> ProjectOut:
    """Restore a deleted project. 409: it is not deleted."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN, even_deleted=True)
        return ProjectOut.of(deleting.undelete_project(session, access.project))


@router.get("/{project}/members", responses=problems(404))
def get_members(project: str, me: Me, db: Db) -> MemberList:
    """List who belongs to the project, owners first."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        rows = queries.members(session, access.project.id)
        return MemberList(members=[MemberOut.of(user, member) for user, member in rows])


@router.patch("/{project}/members/{member}", responses=problems(404, 409, 422))
def patch_member(project: str, member: Id, body: RoleIn, me: Me, db: Db) -> MemberOut:
    """Give a member another role; others are invited. 409: the project would be left without an owner."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        return MemberOut.of(*service.change_role(session, access.project, member, body.role))


@router.delete("/{project}/members/{member}", responses=problems(404, 409))
def delete_member(project: str, member: Id, me: Me, db: Db) -> Done:
    """Take someone out of the project; their answers stay.

    409: the project would be left without an owner.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        service.remove_member(session, access.project, member)
        return Done(deleted=str(member))
