"""What a program can do with a whole server, as operations: people with an account, for administrators."""

from typing import Any

from tercet.accounts.schemas import NewUserOut, UserList, UserOut
from tercet.client.operations import Call, Steps, respond


def users(server: object, /) -> Steps[list[UserOut]]:
    """Return the people with an account; for administrators."""
    reply = yield from respond(Call("GET", "users"))
    return UserList.model_validate(reply.json()).users


def add_user(server: object, /, email: str, name: str | None = None) -> Steps[NewUserOut]:
    """Add somebody; their `sign_in_url` works once, within a day, and is not shown again. For administrators."""
    body: dict[str, Any] = {"email": email, "name": name}
    reply = yield from respond(Call("POST", "users", {"json": body}, False))
    return NewUserOut.model_validate(reply.json())


def disable_user(server: object, /, user: int, *, disabled: bool = True) -> Steps[UserOut]:
    """Keep somebody out from now on, by number, or let them come in again. For administrators."""
    reply = yield from respond(Call("PATCH", f"users/{user}", {"json": {"disabled": disabled}}))
    return UserOut.model_validate(reply.json())
