"""What a program can do with the API tokens of a project, as operations."""

from tercet.client.operations import Call, Steps, respond
from tercet.client.project_operations import Place, address, get
from tercet.projects.schemas import NewProjectToken, ProjectToken, ProjectTokens


def tokens(project: Place, /) -> Steps[list[ProjectToken]]:
    """Return the API tokens that are for this project alone, whoever has them, newest first."""
    return ProjectTokens.model_validate((yield from get(project, "/tokens")).json()).tokens


def make_token(
    project: Place, /, name: str, *, scope: str = "write", days: int | None = None
) -> Steps[NewProjectToken]:
    """Make an API token that acts for the token's owner in this project alone; its `token` is not shown again.

    Parameters
    ----------
    name : str
        What it is for.
    scope : str
        "read", "label", "write" or "own".
    days : int, optional
        After how many days it ends; where left out, once it is revoked.
    """
    body = {"name": name, "scope": scope, "days": days}
    response = yield from respond(Call("POST", address(project, "/tokens"), {"json": body}, False))
    return NewProjectToken.model_validate(response.json())


def revoke_token(project: Place, /, token: int) -> Steps[None]:
    """End an API token that is for this project alone, whoever has it."""
    yield from respond(Call("DELETE", address(project, f"/tokens/{token}")))
