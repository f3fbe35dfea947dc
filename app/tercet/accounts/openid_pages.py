"""Pages that lead to the OpenID Connect provider of the settings, and back from there."""

import hmac
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from tercet.accounts import openid, sessions
from tercet.accounts.pages import password_form
from tercet.accounts.service import make_secret
from tercet.database import Database
from tercet.errors import NotFound
from tercet.translatable import to_translate
from tercet.web.dependencies import Db
from tercet.web.rendering import site_address

router = APIRouter(include_in_schema=False)
CALLBACK = "/sign-in/openid/callback"
Code = Annotated[str, Query(max_length=4_000)]
OTHER_BROWSER = to_translate("This sign-in was not begun in this browser, or too long ago. Begin it again.")


def _provider(request: Request) -> openid.Provider:
    provider: openid.Provider | None = request.app.state.provider
    if provider is None:
        raise NotFound("This server has no OpenID Connect provider.")
    return provider


# Coroutines, so that no thread waits for the provider.
@router.get("/sign-in/openid")
async def begin(request: Request) -> Response:
    """Send the browser to the provider."""
    attempt = openid.SignInAttempt(make_secret())
    try:
        address = await _provider(request).sign_in_address(attempt, site_address(request) + CALLBACK)
    except openid.SignInRefused as problem:
        return _refuse(request, problem)
    response = RedirectResponse(address, 303)
    sessions.set_attempt_cookie(request, response, attempt.secret)
    return response


@router.get(CALLBACK)
async def finish(request: Request, db: Db, code: Code = "", state: Code = "", error: Code = "") -> Response:
    """Sign in whom the provider sends back, in the browser that went there."""
    provider, attempt = _provider(request), openid.SignInAttempt(sessions.attempt_secret(request))
    try:
        if not attempt.secret or not hmac.compare_digest(attempt.hashed("state").encode(), state.encode()):
            raise openid.SignInRefused(OTHER_BROWSER)
        if error or not code:
            raise openid.SignInRefused(to_translate("%(provider)s did not sign you in.", provider=provider.name))
        claims = await provider.claims_for(attempt, code, site_address(request) + CALLBACK)
        cookie = await run_in_threadpool(_start_session, request, db, claims, provider.new_accounts)
    except openid.SignInRefused as problem:
        return _refuse(request, problem)
    response = RedirectResponse("/", 303)
    sessions.forget_attempt(response)
    sessions.forget_visits(response)
    sessions.set_cookie(request, response, cookie)
    return response


def _start_session(request: Request, db: Database, claims: dict[str, object], new_accounts: bool) -> str:
    with db.transaction() as session:
        return sessions.start(session, request, openid.user_of(session, claims, new_accounts=new_accounts))


def _refuse(request: Request, problem: openid.SignInRefused) -> Response:
    """Show the page for signing in, with the reason why nobody was."""
    response = password_form(request, problem.status, detail=problem.detail)
    sessions.forget_attempt(response)
    return response
