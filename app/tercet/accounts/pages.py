"""Pages to sign in and out, to join a project, and to manage API tokens.

The pages of links have one button, and only pressing it does something: mail scanners and previews that follow links
neither use up a link nor add a member.
"""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tercet.accounts import invitations, passwords, queries, service, sessions
from tercet.accounts.access import Action, Caller, authorize, identify_holder, identify_person, user_of_session
from tercet.accounts.dependencies import Me
from tercet.audit import chain
from tercet.errors import Conflict, FieldError, Invalid, NotFound
from tercet.models import Invitation, Project, Role, Scope, User
from tercet.web.dependencies import Db, InWords, asked_for
from tercet.web.languages import COOKIE, LANGUAGES
from tercet.web.numbers import Id
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)

AUDIT_SHOWN = 200
LABELING_PAGE = re.compile(r"/projects/[a-z0-9-]+/label")
Text = Annotated[str, Form(max_length=service.NAME_LENGTH)]
Participant = Annotated[str, Query(max_length=service.NAME_LENGTH)]


def go_to(path: str) -> RedirectResponse:
    """Redirect to a page after a form."""
    return RedirectResponse(path, status_code=303)


@router.get("/sign-in/{token}")
def sign_in_page(request: Request, token: str, db: Db) -> HTMLResponse:
    """Show the button that signs in, or how to get a new link."""
    with db.reading() as session:
        works = queries.link_works(session, token)
    return _sign_in_form(request, works)


def _sign_in_form(request: Request, works: bool) -> HTMLResponse:
    words = asked_for(request)
    detail = "" if works else words.translated(service.LINK_OVER)
    status = 200 if works else 404
    return render(request, "accounts/sign_in.html", status_code=status, works=works, detail=detail, words=words)


@router.post("/sign-in/{token}")
def sign_in(request: Request, token: str, db: Db) -> Response:
    """Sign in the user of a link, which works once."""
    try:
        with db.transaction() as session:
            user = service.use_sign_in_link(session, token)
            cookie = sessions.start(session, request, user)
    except NotFound:
        return _sign_in_form(request, works=False)
    response = go_to("/")
    sessions.forget_visits(response)
    sessions.set_cookie(request, response, cookie)
    return response


@router.get("/sign-in")
def password_page(request: Request) -> HTMLResponse:
    """Show the form for an address and a password."""
    return password_form(request)


def password_form(request: Request, status: int = 200, email: str = "", detail: str = "") -> HTMLResponse:
    """Render the form for an address and a password, with the reason why nobody was signed in."""
    words = asked_for(request)
    detail = words.translated(detail)
    template = "accounts/password_sign_in.html"
    return render(request, template, status_code=status, email=email, detail=detail, words=words)


@router.post("/sign-in")
def sign_in_with_password(request: Request, db: Db, email: Text, password: Text) -> Response:
    """Sign in who has this address and password; `rates.py` says how many tries are looked at."""
    request.app.state.rates.count_password(request.scope, email)
    try:
        with db.transaction() as session:
            user = passwords.user_with_password(session, email, password)
            chain.act_as(user)
            chain.record(session, "signed in", after={"by": "password"})
            cookie = sessions.start(session, request, user)
    except NotFound as problem:
        return password_form(request, 401, email, problem.detail)
    response = go_to("/")
    sessions.forget_visits(response)
    sessions.set_cookie(request, response, cookie)
    return response


@router.post("/account/password")
def set_password(request: Request, me: Me, db: Db, password: Text = "", current: Text = "") -> Response:
    """Set, change or remove the caller's password; all their other sessions end."""
    try:
        with db.transaction() as session:
            user = identify_holder(session, me).user
            passwords.set_password(session, user, password=password, current=current, keep=me.session)
    except Invalid as problem:
        with db.reading() as session:
            view = service.view_account(session, identify_holder(session, me).user)
        return _account(request, me, view, wrong={error.field: error.detail for error in problem.errors})
    return go_to("/account?done=password")


@router.post("/sign-out")
def sign_out(me: Me, db: Db) -> Response:
    """Sign out in this browser."""
    with db.transaction() as session:
        sessions.end_current(session, me)
    response = go_to("/")
    sessions.forget(response)
    return response


@router.post("/language")
def choose_language(language: Text, back: Text = "") -> Response:
    """Keep the language of labelers' pages in this browser, and go back to the page of the form."""
    if language not in LANGUAGES:
        expected = ", ".join(LANGUAGES)
        raise Invalid("There is no such language.", [FieldError("language", f"expected one of {expected}")])
    response = go_to(back if LABELING_PAGE.fullmatch(back) else "/")
    response.set_cookie(COOKIE, language, max_age=sessions.YEAR_SECONDS, samesite="lax", httponly=True)
    return response


@router.get("/join/{token}")
def join_page(
    request: Request, token: str, me: Me, db: Db, words: InWords, participant: Participant = ""
) -> HTMLResponse:
    """Show what there is to label, and the button that starts."""
    # The secret is made here, so that a second press of the button finds the labeler of the first.
    browser = sessions.browser_secret(request)
    with db.reading() as session:
        project, returning = service.view_link(
            session, token, service.Visitor(user_of_session(session, me), browser), participant
        )
    page = render(
        request,
        "accounts/join.html",
        status_code=200 if project else 404,
        project=project,
        participant=participant,
        returning=returning,
        framed=sessions.is_framed_elsewhere(request),
        detail="" if project else words.translated(service.SHARE_OVER),
        words=words,
    )
    if project is not None:
        sessions.set_browser_cookie(request, page, browser)
    return page


@router.post("/join/{token}")
def join(
    request: Request, token: str, me: Me, db: Db, participant: Text = "", name: Text = "", framed: Text = ""
) -> Response:
    """Make the visitor a labeler of the project and open its labeling page."""
    browser = sessions.browser_secret(request)
    with db.transaction() as session:
        user = user_of_session(session, me)
        joined = service.join(session, token, service.Visitor(user, browser), participant=participant, name=name)
        cookie = None if user is joined.user else sessions.start(session, request, joined.user, joined.until)
    response = go_to(f"/projects/{joined.project.key}/label")
    if cookie is not None:
        sessions.set_cookie(request, response, cookie, framed=bool(framed))
    sessions.set_browser_cookie(request, response, browser)
    return response


@router.get("/invitation/{token}")
def invitation_page(request: Request, token: str, me: Me, db: Db) -> HTMLResponse:
    """Show what one is invited to, and the button that accepts it."""
    with db.reading() as session:
        viewed, user = invitations.view(session, token), user_of_session(session, me)
    return _invitation(request, viewed, user)


def _invitation(
    request: Request, viewed: tuple[Invitation, Project] | None, user: User | None, detail: str = ""
) -> HTMLResponse:
    status = 409 if detail else 200 if viewed else 404
    invitation, project = viewed or (None, None)
    words = asked_for(request)
    values: dict[str, Any] = {
        "invitation": invitation,
        "project": project,
        "over": words.translated(invitations.INVITATION_OVER),
        "detail": words.translated(detail),
        "words": words,
    }
    holder = user if user and user.has_account else None
    return render(request, "accounts/invitation.html", status_code=status, holder=holder, **values)


@router.post("/invitation/{token}")
def accept_invitation(request: Request, token: str, me: Me, db: Db, name: Text = "") -> Response:
    """Make who is signed in, or a new account, a member of the project, and open it."""
    try:
        with db.transaction() as session:
            user = user_of_session(session, me)
            accepted = invitations.accept(session, token, user, name)
            cookie = None if user is accepted.user else sessions.start(session, request, accepted.user)
    except (Conflict, NotFound) as problem:
        with db.reading() as session:
            viewed, user = invitations.view(session, token), user_of_session(session, me)
        return _invitation(request, viewed, user, problem.detail if viewed else "")
    page = "/label" if accepted.role == Role.LABELER else ""
    response = go_to(f"/projects/{accepted.project.key}{page}")
    if cookie is not None:
        sessions.set_cookie(request, response, cookie)
    return response


def whole_days(text: str) -> int | None:
    """Return the number of days in the form; None for an empty field, which means no expiry."""
    if text and not text.isdecimal():
        raise Invalid("The number of days is not usable.", [FieldError("days", "expected a whole number or nothing")])
    return int(text) if text else None


@router.get("/projects/{project}/audit")
def audit_page(request: Request, project: str, me: Me, db: Db) -> HTMLResponse:
    """Show the newest entries of the audit log that are about the project."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.OWN)
        newest = chain.newest(session, access.project.key, AUDIT_SHOWN)
        broken = chain.first_break(session)
    entries = [chain.describe(entry) | {"moment": entry.at} for entry in newest]
    return render(request, "accounts/audit.html", project=access.project, entries=entries, broken=broken)


@router.get("/account")
def account_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """List where the caller is signed in, and their API tokens, with a form that makes one."""
    with db.reading() as session:
        view = service.view_account(session, identify_person(session, me).user)
    return _account(request, me, view)


def _account(
    request: Request,
    me: Caller,
    view: service.AccountView,
    new_token: str | None = None,
    wrong: dict[str, str] | None = None,
) -> HTMLResponse:
    status = 422 if wrong else 200 if new_token is None else 201
    context: dict[str, Any] = {"current": me.session, "scopes": list(Scope), "wrong": wrong or {}}
    context["password_set"] = request.query_params.get("done") == "password"
    page = render(request, "accounts/account.html", status_code=status, new_token=new_token, **context, **vars(view))
    if new_token is not None:
        page.headers["Cache-Control"] = "no-store"
    return page


@router.post("/account/sessions/{session_id}/end")
def end_session(session_id: Id, me: Me, db: Db) -> Response:
    """End one session."""
    with db.transaction() as session:
        sessions.end(session, identify_person(session, me).user, session_id)
    return go_to("/account")


@router.post("/account/sessions/end")
def end_all_sessions(me: Me, db: Db) -> Response:
    """Sign the caller out everywhere, here too."""
    with db.transaction() as session:
        sessions.end_all(session, identify_person(session, me).user.id)
    response = go_to("/")
    sessions.forget(response)
    return response


@router.post("/account/tokens")
def make_token(
    request: Request, me: Me, db: Db, name: Text, scope: Annotated[Scope, Form()], days: Text = "", project: Text = ""
) -> HTMLResponse:
    """Make an API token and show it, once."""
    with db.transaction() as session:
        user = identify_holder(session, me).user
        only = authorize(session, me, project, Action.LOOK).project if project else None
        new_token = service.make_api_token(session, user, name, scope, whole_days(days), project=only)
        view = service.view_account(session, user)
    return _account(request, me, view, new_token)


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(token_id: Id, me: Me, db: Db) -> Response:
    """End one API token."""
    with db.transaction() as session:
        user = identify_person(session, me).user
        service.revoke_api_token(session, user, token_id)
    return go_to("/account")
