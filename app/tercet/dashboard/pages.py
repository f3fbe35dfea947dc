"""The analyst's pages: the list of projects, and the dashboard with its forms, which work without JavaScript."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from tercet.accounts.access import Action, authorize, identify
from tercet.accounts.dependencies import Me
from tercet.catalogue import forms
from tercet.catalogue.algorithms import ALGORITHMS
from tercet.catalogue.parameters.common import split
from tercet.dashboard import queries, service, suggestions
from tercet.dashboard.schemas import ClusterCount, SuggestionChange
from tercet.items.filtering import ItemFilter
from tercet.labeling import focus
from tercet.labeling.schemas import FocusIn
from tercet.projects.deleting import DELETED_FOR
from tercet.projects.service import change_project
from tercet.runs import sentences
from tercet.runs import service as runs
from tercet.runs.schedule import request_run
from tercet.runs.schemas import ClusterName
from tercet.web.dependencies import Blobs, Db, Fields
from tercet.web.forms import parse
from tercet.web.numbers import Id
from tercet.web.rendering import render, site_address
from tercet.web.texts import Text

router = APIRouter(include_in_schema=False)


@router.get("/")
def home_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """List the projects of the user."""
    with db.reading() as session:
        identity = identify(session, me)
        user = identity.user
        drafts = queries.drafts(session)
        of_others = {key for key, draft in drafts.items() if draft.user_id != user.id}
        rows = [row for row in queries.my_projects(session, user) if identity.reaches(row.id)]
        projects = [row for row in rows if row.key not in of_others]
        deleted = queries.deleted_projects(session, user) if identity.project_id is None else []
    context: dict[str, Any] = {"user": user, "projects": projects, "drafts": drafts, "address": site_address(request)}
    context |= {"deleted": deleted, "deleted_for": DELETED_FOR}
    return render(request, "dashboard/home.html", **context)


@router.get("/projects/{project}")
def dashboard_page(
    request: Request, project: str, items: Annotated[ItemFilter, Query()], me: Me, db: Db, blobs: Blobs
) -> HTMLResponse:
    """Show a project's figures and clusters, and of these the items that pass the filter; it updates itself then on."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        board = service.dashboard(session, blobs, access.project, items)
    context: dict[str, Any] = {
        "address": site_address(request),
        "why": sentences.why,
        "choices": forms.CHOICES,
        "describe": sentences.describe,
        "restored": sentences.restored(board.summary.latest, board.project.algorithm),
        "titles": {name: algorithm.short for name, algorithm in ALGORITHMS.items()},
    }
    return render(request, "dashboard/dashboard.html", **context, **vars(board))


@router.post("/projects/{project}/runs")
def start_run(project: str, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Queue a run; a field left empty takes the project's setting."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        choice = forms.read_run_choice(access.project.algorithm, fields)
        request_run(session, access.project, reason="request", **choice)
    return _back(project, "runs")


@router.post("/projects/{project}/runs/{run}/cancel")
def cancel_run(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Cancel a run that waits or is computed."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        runs.cancel_run(session, blobs, access.project, run)
    return _back(project, "runs")


@router.post("/projects/{project}/clusters/{cluster}/name")
def name_cluster(
    project: str,
    cluster: Id,
    me: Me,
    db: Db,
    blobs: Blobs,
    run: Annotated[str, Form()],
    name: Annotated[Text, Form(max_length=200)] = "",
    note: Annotated[Text, Form(max_length=20_000)] = "",
    page: Annotated[Literal["", "run"], Form()] = "",
) -> RedirectResponse:
    """Store a cluster's name and note, and go back to the page of the form."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        body = ClusterName(name=name.strip(), note=note)
        runs.name_cluster(session, blobs, access.project, run, cluster, body)
    return _back(f"{project}/runs/{run}" if page else project, f"cluster-{cluster}")


@router.post("/projects/{project}/resolution")
def use_resolution(project: str, body: Annotated[ClusterCount, Form()], me: Me, db: Db) -> RedirectResponse:
    """Set the project's number of clusters, and start a run with it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        change_project(session, access.project, {"n_clusters": body.n_clusters})
        request_run(session, access.project, reason="request")
    return _back(project, "resolution")


@router.post("/projects/{project}/focus")
def change_focus(project: str, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Narrow what questions are about, or let them be about everything again."""
    clusters = split(fields.get("clusters", "")) if fields.get("about") == "clusters" else []
    body = parse(FocusIn, {"about": fields.get("about"), "clusters": clusters})
    with db.transaction() as session:
        focus.change(session, authorize(session, me, project, Action.WRITE).project, body)
    return _back(project, "focus")


@router.post("/projects/{project}/suggestions")
def change_suggestion(project: str, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Dismiss a suggestion, or take that back."""
    subject = {"kind": fields.get("kind"), "clusters": split(fields.get("clusters") or None)}
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        suggestions.change(session, access, parse(SuggestionChange, {**subject, "dismissed": fields.get("dismissed")}))
    return _back(project, "overview")


def _back(project: str, part: str) -> RedirectResponse:
    return RedirectResponse(f"/projects/{project}#{part}", 303)
