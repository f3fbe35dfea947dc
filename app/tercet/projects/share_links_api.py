"""REST: labeling links of a project: list them, make one, give one another address, revoke one."""

from fastapi import APIRouter, Request

from tercet.accounts import queries, service
from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.projects.schemas import NewShareLinkOut, ShareLinkIn, ShareLinkList, ShareLinkOut
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Id
from tercet.web.problems import problems
from tercet.web.rendering import site_address

router = APIRouter(
    prefix="/api/v1/projects", tags=["share links"], responses=problems(401, 403, 404), route_class=JsonRoute
)


@router.get("/{project}/share-links")
def get_share_links(project: str, me: Me, db: Db) -> ShareLinkList:
    """List the labeling links, oldest first; of those that were revoked, only the ones that somebody came by."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        rows = queries.share_links(session, access.project.id, revoked_too=True)
        return ShareLinkList(links=[ShareLinkOut.of(row) for row in rows])


@router.post("/{project}/share-links", status_code=201, responses=problems(422))
def post_share_link(request: Request, project: str, body: ShareLinkIn, me: Me, db: Db) -> NewShareLinkOut:
    """Make a labeling link: people who open `url` label in this project without an account.

    With `labeler` it is that of one new labeler. Otherwise anybody who has it becomes a new labeler, `most` people at
    most. The address is not shown again.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        token = service.make_share_link(session, access.project, **body.model_dump())
        return NewShareLinkOut.of(queries.share_link(session, token), url=f"{site_address(request)}/join/{token}")


@router.post("/{project}/share-links/{link}/renew", responses=problems(409))
def renew_share_link(request: Request, project: str, link: Id, me: Me, db: Db) -> NewShareLinkOut:
    """Give a labeling link another address; the old one ends. 409: it was revoked."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        token = service.renew_share_link(session, access.project, link)
        return NewShareLinkOut.of(queries.share_link(session, token), url=f"{site_address(request)}/join/{token}")


@router.delete("/{project}/share-links/{link}")
def revoke_share_link(project: str, link: Id, me: Me, db: Db) -> ShareLinkOut:
    """End a labeling link, and the sessions of everybody who came by it; their answers stay."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        revoked = service.revoke_share_link(session, access.project, link)
        return ShareLinkOut.of(queries.in_use(session, revoked))
