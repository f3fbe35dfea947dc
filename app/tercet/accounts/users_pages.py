"""The administrators' page of people with an account: add one, keep one out, sign one out, remove one.

Administrators are made and removed on the server's own command line alone.
"""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.orm import Session

from tercet.accounts import queries, service
from tercet.accounts.access import Caller, identify_administrator
from tercet.accounts.dependencies import Me
from tercet.accounts.pages import Text, go_to
from tercet.audit import chain
from tercet.database import Database
from tercet.errors import Conflict, Invalid, Problem
from tercet.models import User
from tercet.web.dependencies import Db
from tercet.web.numbers import Id
from tercet.web.rendering import render, site_address

router = APIRouter(include_in_schema=False)


@router.get("/users")
def users_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """List the people with an account."""
    return _page(request, me, db)


def _page(
    request: Request, me: Caller, db: Database, problem: Problem | None = None, link: str = "", email: str = ""
) -> HTMLResponse:
    """Render the page: with what went wrong, or with a link that is not shown again, and whose it is."""
    with db.reading() as session:
        administrator = identify_administrator(session, me).user
        people = queries.users(session)
    status = problem.status if problem else 201 if link else 200
    detail = "" if problem is None else " ".join([problem.detail, *(error.detail for error in problem.errors)])
    values: dict[str, Any] = {"people": people, "me": administrator, "detail": detail, "new_link": link, "email": email}
    page = render(request, "accounts/users.html", status_code=status, **values)
    if link:
        page.headers["Cache-Control"] = "no-store"
    return page


@router.post("/users")
def add_user(
    request: Request, me: Me, db: Db, email: Text, name: Annotated[str, Form(max_length=200)] = ""
) -> HTMLResponse:
    """Add somebody, and show the link that signs them in once."""
    try:
        with db.transaction() as session:
            identify_administrator(session, me)
            token = service.make_sign_in_link(session, service.make_user(session, name or email, email=email))
    except (Conflict, Invalid) as problem:
        return _page(request, me, db, problem, email=email)
    return _page(request, me, db, link=f"{site_address(request)}/sign-in/{token}", email=email)


@router.post("/users/{member}/link")
def make_link(request: Request, member: Id, me: Me, db: Db) -> HTMLResponse:
    """Show a new link that signs somebody in once."""
    with db.transaction() as session:
        identify_administrator(session, me)
        user = service.user_with_account(session, member)
        token = service.make_sign_in_link(session, user)
        email = user.email or user.name
        chain.record(session, "sign-in link made", after={"user": user.id, "email": user.email})
    return _page(request, me, db, link=f"{site_address(request)}/sign-in/{token}", email=email)


@router.post("/users/{member}/disable")
def disable_user(request: Request, member: Id, me: Me, db: Db) -> Response:
    """Keep somebody out from now on."""
    return _change(request, me, db, lambda session, by: service.set_disabled(session, by, member, disabled=True))


@router.post("/users/{member}/enable")
def enable_user(request: Request, member: Id, me: Me, db: Db) -> Response:
    """Let somebody come in again."""
    return _change(request, me, db, lambda session, by: service.set_disabled(session, by, member, disabled=False))


@router.post("/users/{member}/sign-out")
def sign_out_user(request: Request, member: Id, me: Me, db: Db) -> Response:
    """Sign somebody out everywhere."""
    return _change(
        request, me, db, lambda session, _: service.end_sessions(session, service.user_with_account(session, member))
    )


@router.post("/users/{member}/delete")
def delete_user(request: Request, member: Id, me: Me, db: Db) -> Response:
    """Remove somebody who has answered and decided nothing."""
    return _change(
        request, me, db, lambda session, _: service.delete_user(session, service.user_with_account(session, member))
    )


def _change(request: Request, me: Caller, db: Database, change: Callable[[Session, User], object]) -> Response:
    try:
        with db.transaction() as session:
            change(session, identify_administrator(session, me).user)
    except Conflict as problem:
        return _page(request, me, db, problem)
    return go_to("/users")
