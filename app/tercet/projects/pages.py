"""The settings page of a project: plain forms, each with its own button, that work without JavaScript."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tercet.accounts import invitations
from tercet.accounts import service as accounts
from tercet.accounts.access import Action, Caller, allow_new_project, authorize, identify
from tercet.accounts.dependencies import Me
from tercet.catalogue import forms
from tercet.database import Database
from tercet.errors import Conflict, FieldError, Invalid, Problem
from tercet.projects import deleting, service
from tercet.projects.schemas import InvitationIn, ProjectIn, ProjectPatch, RoleIn, ShareLinkIn
from tercet.sounds.colour_maps import COLOUR_MAPS
from tercet.sounds.picture_settings import PRESETS
from tercet.web.dependencies import Db, Fields
from tercet.web.forms import parse
from tercet.web.numbers import Id
from tercet.web.rendering import render, site_address
from tercet.webhooks import service as webhooks
from tercet.webhooks.schemas import WebhookIn

router = APIRouter(include_in_schema=False)
NO_LINK = {"new_link": "", "invited": "", "labeler": "", "new_secret": ""}


@router.get("/projects/{project}/settings")
def settings_page(request: Request, project: str, me: Me, db: Db) -> HTMLResponse:
    """Show the project's settings, share links and members."""
    with db.reading() as session:
        view = service.view_settings(session, authorize(session, me, project, Action.READ))
    return _page(request, view)


@router.post("/projects/{project}/settings")
def change_settings(request: Request, project: str, fields: Fields, me: Me, db: Db) -> Response:
    """Change settings, or show the form again with what is wrong."""
    try:
        with db.transaction() as session:
            access = authorize(session, me, project, Action.WRITE)
            changes = parse(ProjectPatch, forms.without_choice(fields)).fields_sent() | forms.read_choice(fields)
            service.change_project(session, access.project, changes)
    except Invalid as problem:
        return _refused(request, db, me, project, problem, fields)
    return RedirectResponse(f"/projects/{project}/settings?done=saved", 303)  # in the section where the form is


@router.post("/projects/{project}/settings/share-links")
def make_share_link(request: Request, project: str, fields: Fields, me: Me, db: Db) -> HTMLResponse:
    """Make a labeling link and show it, once."""
    try:
        with db.transaction() as session:
            access = authorize(session, me, project, Action.OWN)
            token = accounts.make_share_link(session, access.project, **parse(ShareLinkIn, fields).model_dump())
            view = service.view_settings(session, access)
    except Invalid as problem:
        return _refused(request, db, me, project, problem, fields)
    return _show_link(request, view, f"join/{token}", labeler=fields.get("labeler", ""))


@router.post("/projects/{project}/settings/share-links/{link}/renew")
def renew_share_link(request: Request, project: str, link: Id, me: Me, db: Db) -> HTMLResponse:
    """Give a labeling link another address and show it, once."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        token = accounts.renew_share_link(session, access.project, link)
        view = service.view_settings(session, access)
    labeler = next((row.name for row in view.links if row.link.id == link), None)
    return _show_link(request, view, f"join/{token}", labeler=labeler or "")


def _show_link(
    request: Request, view: service.SettingsView, path: str, *, invited: str = "", labeler: str = ""
) -> HTMLResponse:
    """Show a new link: an invitation, or a labeling link of one labeler, or else anybody's."""
    return _show_once(request, view, new_link=f"{site_address(request)}/{path}", invited=invited, labeler=labeler)


def _show_once(request: Request, view: service.SettingsView, **secret: str) -> HTMLResponse:
    """Render the page with what is not shown again."""
    page = _page(request, view, 201, new_link=NO_LINK | secret)
    page.headers["Cache-Control"] = "no-store"
    return page


@router.post("/projects/{project}/settings/share-links/{link}/revoke")
def revoke_share_link(project: str, link: Id, me: Me, db: Db) -> Response:
    """End a labeling link."""
    with db.transaction() as session:
        accounts.revoke_share_link(session, authorize(session, me, project, Action.OWN).project, link)
    return _back(project, "links")


@router.post("/projects/{project}/settings/invitations")
def invite(request: Request, project: str, fields: Fields, me: Me, db: Db) -> Response:
    """Invite somebody and show the link, once."""
    try:
        with db.transaction() as session:
            access = authorize(session, me, project, Action.OWN)
            values = parse(InvitationIn, fields).model_dump()
            invitation, token = invitations.invite(session, access.project, **values)
            view = service.view_settings(session, access)
    except (Invalid, Conflict) as problem:
        return _refused(request, db, me, project, problem, fields)
    return _show_link(request, view, f"invitation/{token}", invited=invitation.email)


@router.post("/projects/{project}/settings/invitations/{invitation}/revoke")
def revoke_invitation(project: str, invitation: Id, me: Me, db: Db) -> Response:
    """End an invitation."""
    with db.transaction() as session:
        invitations.revoke(session, authorize(session, me, project, Action.OWN).project, invitation)
    return _back(project, "members")


@router.post("/projects/{project}/settings/members/{member}")
def change_role(request: Request, project: str, member: Id, fields: Fields, me: Me, db: Db) -> Response:
    """Give a member another role."""
    try:
        with db.transaction() as session:
            access = authorize(session, me, project, Action.OWN)
            service.change_role(session, access.project, member, parse(RoleIn, fields).role)
    except (Invalid, Conflict) as problem:
        return _refused(request, db, me, project, problem)
    return _back(project, "members")


@router.post("/projects/{project}/settings/members/{member}/remove")
def remove_member(project: str, member: Id, me: Me, db: Db) -> Response:
    """Take a member out of the project."""
    with db.transaction() as session:
        service.remove_member(session, authorize(session, me, project, Action.OWN).project, member)
    return _back(project, "members")


@router.post("/projects/{project}/settings/tokens/{token_id}/revoke")
def revoke_token(project: str, token_id: Id, me: Me, db: Db) -> Response:
    """End an API token that is for this project alone, whoever has it."""
    with db.transaction() as session:
        accounts.revoke_project_token(session, authorize(session, me, project, Action.OWN).project, token_id)
    return _back(project, "tokens")


@router.post("/projects/{project}/settings/webhooks")
def make_webhook(request: Request, project: str, fields: Fields, me: Me, db: Db) -> HTMLResponse:
    """Make a webhook and show its secret, once."""
    private_too = request.app.state.settings.webhooks_to_private
    try:
        with db.transaction() as session:
            access = authorize(session, me, project, Action.OWN)
            asked = parse(WebhookIn, {"every_answers": 0} | {name: value for name, value in fields.items() if value})
            webhook = webhooks.make_webhook(session, access.project, **asked.model_dump(), private_too=private_too)
            view = service.view_settings(session, access)
    except (Invalid, Conflict) as problem:
        return _refused(request, db, me, project, problem, fields)
    return _show_once(request, view, new_secret=webhook.secret)


@router.post("/projects/{project}/settings/webhooks/{webhook}/test")
def send_test(project: str, webhook: Id, me: Me, db: Db) -> Response:
    """Send a webhook a message that only says that it is a test."""
    with db.transaction() as session:
        webhooks.queue_test(session, authorize(session, me, project, Action.OWN).project, webhook)
    return _back(project, "webhooks")


@router.post("/projects/{project}/settings/webhooks/{webhook}/remove")
def remove_webhook(project: str, webhook: Id, me: Me, db: Db) -> Response:
    """Remove a webhook."""
    with db.transaction() as session:
        webhooks.remove_webhook(session, authorize(session, me, project, Action.OWN).project, webhook)
    return _back(project, "webhooks")


@router.post("/projects/{project}/settings/delete")
def delete_project(request: Request, project: str, fields: Fields, me: Me, db: Db) -> Response:
    """Delete the project, if its key was typed to confirm it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        if fields.get("confirm") != project:
            wrong = [FieldError("confirm", f"type {project} to delete it")]
            view = service.view_settings(session, access)
            return _page(request, view, 422, typed=fields, detail="The project was not deleted.", errors=wrong)
        deleting.delete_project(session, access.project)
    return RedirectResponse("/", 303)


@router.post("/projects/{project}/undelete")
def undelete_project(project: str, me: Me, db: Db) -> Response:
    """Restore a deleted project."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN, even_deleted=True)
        deleting.undelete_project(session, access.project)
    return RedirectResponse("/", 303)


@router.post("/projects/{project}/settings/copy")
def copy_settings(project: str, fields: Fields, me: Me, db: Db) -> Response:
    """Make a project with the settings of this one, and open its import page."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        allow_new_project(identify(session, me))
        settings = service.settings_of(access.project) | parse(ProjectIn, fields).fields_sent()
        copy = service.create_project(session, access.user, **settings)
        return RedirectResponse(f"/projects/{copy.key}/imports", 303)


def _refused(
    request: Request, db: Database, me: Caller, project: str, problem: Problem, typed: dict[str, str] | None = None
) -> HTMLResponse:
    """Show the page again with what is wrong."""
    with db.reading() as session:
        view = service.view_settings(session, authorize(session, me, project, Action.WRITE))
    return _page(request, view, problem.status, typed=typed, detail=problem.detail, errors=problem.errors)


def _page(
    request: Request,
    view: service.SettingsView,
    status: int = 200,
    *,
    typed: dict[str, str] | None = None,
    detail: str = "",
    errors: list[FieldError] | None = None,
    new_link: dict[str, str] | None = None,
) -> HTMLResponse:
    """Render the page; `typed` are the values of a refused form, shown again with the errors."""
    wrong = {error.field: error.detail for error in errors or []}
    choice = {"choices": forms.CHOICES, "algorithm": view.project.algorithm, "held": view.parameters}
    if typed and "algorithm" in typed:
        choice |= {"algorithm": typed["algorithm"], "held": typed}
    context: dict[str, Any] = {**vars(view), **choice, "typed": typed or {}, "detail": detail, "wrong": wrong}
    context |= {**(new_link or NO_LINK), "presets": PRESETS, "colour_maps": list(COLOUR_MAPS)}
    saved = request.query_params.get("done") == "saved"
    return render(request, "projects/settings.html", status_code=status, saved=saved, **context)


def _back(project: str, what: str) -> RedirectResponse:
    """Redirect to the page after a form, so that a reload does not send the form again."""
    return RedirectResponse(f"/projects/{project}/settings#{what}", 303)
