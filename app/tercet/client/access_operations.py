"""What a program can do with the API tokens of a project, and with what is stored about its labelers, as operations."""

from tercet.client.operations import Call, Steps, respond
from tercet.client.project_operations import Place, address, get
from tercet.people.schemas import ErasedOut, LabelerData
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


def labeler_data(project: Place, /, labeler: int) -> Steps[LabelerData]:
    """Return everything that is stored about a labeler in this project.

    Parameters
    ----------
    labeler : int
        The number that the pseudonym in `answers` ends with.
    """
    return LabelerData.model_validate((yield from get(project, f"/labelers/{labeler}/data")).json())


def erase_labeler(project: Place, /, labeler: int, *, answers: str = "keep") -> Steps[ErasedOut]:
    """Erase a labeler for good: name, links, sign-ins, skips and notes.

    Parameters
    ----------
    labeler : int
        The number that the pseudonym in `answers` ends with.
    answers : "keep" or "remove"
        Whether the answers stay under a pseudonym that leads to nobody, or go too.
    """
    call = Call("DELETE", address(project, f"/labelers/{labeler}"), {"params": {"answers": answers}})
    return ErasedOut.model_validate((yield from respond(call)).json())
