"""Projects over REST: make, list, change, delete, and who belongs to them."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.accounts.access import Action, Me, allow_new_project, authorize, identify
from app.dependencies import Blobs, Db
from app.projects import queries, service
from app.projects.schemas import (
    Done,
    MemberIn,
    MemberList,
    MemberOut,
    ProjectIn,
    ProjectList,
    ProjectOut,
    ProjectPatch,
)
from app.responses import problems

router = APIRouter(prefix="/api/v1/projects", tags=["projects"], responses=problems(401, 403))
Limit = Annotated[int, Query(ge=1, le=1_000, description="how many at most")]


@router.post("", status_code=201, responses=problems(409, 422))
def post_project(body: ProjectIn, me: Me, db: Db) -> ProjectOut:
    """Make a project.

    You become its owner. 409: the key is taken.
    """
    with db.transaction() as session:
        identity = identify(session, me)
        allow_new_project(identity)
        return ProjectOut.of(service.create_project(session, identity.user, **body.given()))


@router.get("")
def get_projects(me: Me, db: Db, after: str = "", limit: Limit = 100) -> ProjectList:
    """List your projects, in the order of their keys.

    Give `next` of one page as `after` of the next.
    """
    with db.reading() as session:
        found = queries.page_of_projects(session, identify(session, me).user, after, limit + 1)
        page = [ProjectOut.of(project) for project in found[:limit]]
        return ProjectList(projects=page, next=page[-1].key if len(found) > limit else None)


@router.get("/{project}", responses=problems(404))
def get_project(project: str, me: Me, db: Db) -> ProjectOut:
    """Read a project's settings and counters."""
    with db.reading() as session:
        return ProjectOut.of(authorize(session, me, project, Action.LOOK).project)


@router.patch("/{project}", responses=problems(404, 422))
def patch_project(project: str, body: ProjectPatch, me: Me, db: Db) -> ProjectOut:
    """Change settings; what is left out stays as it is.

    Another `algorithm` without `parameters` begins with its defaults; `/api/v1/algorithms` lists what there is.
    The question's kind cannot be changed: answers would lose their meaning. 422: a value is out of range, the
    algorithm has no such parameter, or there are fewer items than clusters.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        return ProjectOut.of(service.change_project(session, access.project, body.given()))


@router.delete("/{project}", responses=problems(404))
def delete_project(project: str, me: Me, db: Db, blobs: Blobs) -> Done:
    """Delete the project with its items, answers, runs and media, for good.

    To only put it away, PATCH `{"archived": true}`.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        folders = service.delete_project(session, access.project)
    service.remove_blobs(blobs, folders)
    return Done(deleted=project)


@router.get("/{project}/members", responses=problems(404))
def get_members(project: str, me: Me, db: Db) -> MemberList:
    """List who belongs to the project, owners first."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        rows = queries.members(session, access.project.id)
        return MemberList(members=[MemberOut.of(user, member) for user, member in rows])


@router.post("/{project}/members", status_code=201, responses=problems(404, 409, 422))
def post_member(project: str, body: MemberIn, me: Me, db: Db) -> MemberOut:
    """Add someone by address, or give a member another role.

    409: the project would be left without an owner.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        return MemberOut.of(*service.set_member(session, access.project, **body.model_dump()))


@router.delete("/{project}/members/{member}", responses=problems(404, 409))
def delete_member(project: str, member: int, me: Me, db: Db) -> Done:
    """Take someone out of the project; their answers stay.

    409: the project would be left without an owner.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        service.remove_member(session, access.project, member)
        return Done(deleted=str(member))
