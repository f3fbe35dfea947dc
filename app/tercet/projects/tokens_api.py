"""REST: API tokens that are for one project, as its owners see, make and revoke them."""

from fastapi import APIRouter

from tercet.accounts import queries, service
from tercet.accounts.access import Action, authorize, hash_token
from tercet.accounts.dependencies import Me
from tercet.models import ApiToken
from tercet.projects.schemas import Done, NewProjectToken, ProjectToken, ProjectTokenIn, ProjectTokens
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


@router.post("/{project}/tokens", status_code=201, responses=problems(422))
def post_token(project: str, body: ProjectTokenIn, me: Me, db: Db) -> NewProjectToken:
    """Make an API token that acts for you in this project alone; `token` is not shown again.

    Tokens for all of your projects are made in the browser, or by `tercet user token`.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        asked = body.model_dump()
        token = service.make_api_token(session, access.user, **asked, project=access.project)
        [row] = queries.api_tokens(session, ApiToken.token_hash == hash_token(token))
        return NewProjectToken.of(row, token=token)


@router.delete("/{project}/tokens/{token_id}")
def revoke_token(project: str, token_id: Id, me: Me, db: Db) -> Done:
    """End an API token that is for this project alone."""
    with db.transaction() as session:
        service.revoke_project_token(session, authorize(session, me, project, Action.OWN).project, token_id)
    return Done(deleted=str(token_id))
