"""Who sends a request, for handlers: `Me` is a caller who was not looked up yet."""

from typing import Annotated

from fastapi import BackgroundTasks, Depends, Request

from tercet.accounts.access import SESSION_COOKIE, Caller, hash_token
from tercet.accounts.usage import Uses


def caller_of(request: Request) -> Caller:
    """Read the credentials: a bearer token if there is one, else the session cookie."""
    header = request.headers.get("authorization", "")
    if not header:
        cookie = request.cookies.get(SESSION_COOKIE)
        return Caller(session=hash_token(cookie) if cookie else None)
    kind, _, token = header.partition(" ")
    return Caller(token=token.strip() if kind.lower() == "bearer" else "")


async def get_caller(request: Request, background: BackgroundTasks) -> Caller:
    """Read the credentials, and note their use once the answer is sent."""
    caller = caller_of(request)
    uses: Uses = request.app.state.uses
    if caller.token is not None:
        token_hash = hash_token(caller.token)
        if uses.is_due(token_hash):
            background.add_task(uses.note_token, token_hash)
    elif caller.session is not None and uses.is_due(caller.session):
        background.add_task(uses.note_session, caller.session)
    return caller


Me = Annotated[Caller, Depends(get_caller)]
