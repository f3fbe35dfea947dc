"""REST: API tokens that are for one project, as its owners see and revoke them."""

from fastapi import APIRouter

from tercet.accounts import queries, service
from tercet.accounts.access import Action, Me, authorize
from tercet.models import ApiToken
from tercet.projects.schemas import Done, ProjectToken, ProjectTokens
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Id
from tercet.web.problems import problems

router = APIRouter(
    prefix="/api/v1/projects", tags=["API tokens"], responses=problems(401, 403, 404), route_class=JsonRoute
)


@router.get("/{project}/tokens")
def get_tokens(project: str, me: Me, db: Db) -> ProjectTokens:
    """List the API tokens that are for this project alone, whoever has them, newest first."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.OWN)
        rows = queries.api_tokens(session, ApiToken.project_id == access.project.id)
        return ProjectTokens(tokens=[ProjectToken.of(row) for row in rows])


@router.delete("/{project}/tokens/{token_id}")
def revoke_token(project: str, token_id: Id, me: Me, db: Db) -> Done:
    """End an API token that is for this project alone."""
    with db.transaction() as session:
        service.revoke_project_token(session, authorize(session, me, project, Action.OWN).project, token_id)
    return Done(deleted=str(token_id))
