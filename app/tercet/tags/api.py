"""REST: put tags on items, take them off, list them."""

from fastapi import APIRouter

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.tags import service
from tercet.tags.schemas import TagChange, TagChanged, TagList
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404), route_class=JsonRoute)


@router.get("/{project}/tags")
def get_tags(project: str, me: Me, db: Db) -> TagList:
    """List the tags of items.

    Each with the number of items that have it. `tag` of `GET .../search` and `GET .../items` lists the items of one.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        return TagList(tags=service.counts(session, access.project.id))


@router.post("/{project}/tags", responses=problems(422))
def post_tags(project: str, body: TagChange, me: Me, db: Db) -> TagChanged:
    """Put a tag on items, and take it off others.

    Up to 5,000 each. The answer names the items that this changed: to undo it, send them the other way round. 422:
    there is no such item.
    """
    with db.transaction() as session:
        return service.change(session, authorize(session, me, project, Action.WRITE), body)
