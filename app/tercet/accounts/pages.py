"""Pages to sign in and out, to join a project, and to manage API tokens.

The pages of links have one button, and only pressing it does something: mail scanners and previews that follow links
neither use up a link nor add a member.
"""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tercet.accounts import queries, service
from tercet.accounts.access import Me, identify_holder, identify_person
from tercet.models import Scope, User
from tercet.web.dependencies import Db
from tercet.web.errors import FieldError, Invalid, NotFound
from tercet.web.numbers import Id
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Form(max_length=service.NAME_LENGTH)]
Participant = Annotated[str, Query(max_length=service.NAME_LENGTH)]


def go_to(path: str) -> RedirectResponse:
    """Redirect to a page after a form."""
    return RedirectResponse(path, status_code=303)


def start_session(request: Request, user: User) -> None:
    """Sign the user in with a fresh session."""
    request.session.clear()
    request.session["user"] = user.id


def browser_secret(request: Request) -> str:
    """Return the secret that recognises labelers of share links in this browser; made on first use."""
    secret: str = request.session.setdefault("browser", service.make_secret())
    return secret


@router.get("/sign-in/{token}")
def sign_in_page(request: Request, token: str, db: Db) -> HTMLResponse:
    """Show the button that signs in, or how to get a new link."""
    with db.reading() as session:
        works = queries.link_works(session, token)
    return _sign_in_form(request, works)


def _sign_in_form(request: Request, works: bool) -> HTMLResponse:
    detail = "" if works else service.LINK_OVER
    return render(request, "accounts/sign_in.html", status_code=200 if works else 404, works=works, detail=detail)


@router.post("/sign-in/{token}")
def sign_in(request: Request, token: str, db: Db) -> Response:
    """Sign in the user of a link, which works once."""
    try:
        with db.transaction() as session:
            user = service.use_sign_in_link(session, token)
    except NotFound:
        return _sign_in_form(request, works=False)
    start_session(request, user)
    return go_to("/")


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """Sign out in this browser."""
    request.session.clear()
    return go_to("/")


@router.get("/join/{token}")
def join_page(request: Request, token: str, me: Me, db: Db, participant: Participant = "") -> HTMLResponse:
    """Show what there is to label, and the button that starts."""
    with db.reading() as session:
        project = queries.shared_project(session, token)
        returning = None
        if project is not None:
            # The secret is made here, so that a second press of the button finds the labeler of the first.
            visitor = service.Visitor(queries.user(session, me.user_id), browser_secret(request))
            returning = service.find_returning(session, project, visitor, participant)
    return render(
        request,
        "accounts/join.html",
        status_code=200 if project else 404,
        project=project,
        participant=participant,
        returning=returning,
        detail="" if project else service.SHARE_OVER,
    )


@router.post("/join/{token}")
def join(request: Request, token: str, me: Me, db: Db, participant: Text = "", name: Text = "") -> Response:
    """Make the visitor a labeler of the project and open its labeling page."""
    browser = browser_secret(request)
    with db.transaction() as session:
        visitor = service.Visitor(queries.user(session, me.user_id), browser)
        joined = service.join(session, token, visitor, participant=participant, name=name)
    if me.in_browser != joined.user.id:
        start_session(request, joined.user)
        request.session["browser"] = browser
    return go_to(f"/projects/{joined.project.key}/label")


def whole_days(text: str) -> int | None:
    """Return the number of days in the form; None for an empty field, which means no expiry."""
    if text and not text.isdecimal():
        raise Invalid("The number of days is not usable.", [FieldError("days", "expected a whole number or nothing")])
    return int(text) if text else None


@router.get("/account")
def account_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """List the caller's API tokens, with a form that makes one."""
    with db.reading() as session:
        user = identify_person(session, me).user
        tokens = queries.api_tokens(session, user.id)
    return render(request, "accounts/account.html", user=user, tokens=tokens, scopes=list(Scope), new_token=None)


@router.post("/account/tokens")
def make_token(
    request: Request, me: Me, db: Db, name: Text, scope: Annotated[Scope, Form()], days: Text = ""
) -> HTMLResponse:
    """Make an API token and show it, once."""
    with db.transaction() as session:
        user = identify_holder(session, me).user
        new_token = service.make_api_token(session, user, name, scope, whole_days(days))
        tokens = queries.api_tokens(session, user.id)
    page = render(
        request,
        "accounts/account.html",
        status_code=201,
        user=user,
        tokens=tokens,
        scopes=list(Scope),
        new_token=new_token,
    )
    page.headers["Cache-Control"] = "no-store"
    return page


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(token_id: Id, me: Me, db: Db) -> Response:
    """End one API token."""
    with db.transaction() as session:
        user = identify_person(session, me).user
        service.revoke_api_token(session, user, token_id)
    return go_to("/account")
