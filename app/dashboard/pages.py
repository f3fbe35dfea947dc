"""The analyst's pages: the list of projects, and the dashboard with its forms, which work without JavaScript."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from app.accounts.access import Action, Me, authorize, identify
from app.clustering import forms, words
from app.clustering import service as clustering
from app.clustering.algorithms import ALGORITHMS
from app.clustering.schedule import request_run
from app.clustering.schemas import ClusterName
from app.dashboard import queries, service
from app.dashboard.schemas import ClustersWanted
from app.dependencies import Blobs, Db
from app.projects.forms import Fields
from app.projects.service import change_project
from app.texts import Text
from app.web import render, site_address

router = APIRouter(include_in_schema=False)
REASONS = {"answers": "new answers", "features": "new features", "request": "asked for", "adopted": "adopted"}
# Of a run beside the project's own it says more what it is for than why it ran.
PURPOSES = {"view": "another clustering", "comparison": "comparison"}


@router.get("/")
def home_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """List the projects of whoever is signed in."""
    with db.reading() as session:
        user = identify(session, me).user
        projects = queries.my_projects(session, user)
    return render(request, "home.html", user=user, projects=projects, address=site_address(request))


@router.get("/projects/{project}")
def dashboard_page(request: Request, project: str, me: Me, db: Db, blobs: Blobs) -> HTMLResponse:
    """Show where a project stands; the page follows what happens from there."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        board = service.board(session, blobs, access.project)
    context: dict[str, Any] = {
        "address": site_address(request),
        "reasons": REASONS,
        "purposes": PURPOSES,
        "choices": forms.CHOICES,
        "describe": words.describe,
        "titles": {name: algorithm.short for name, algorithm in ALGORITHMS.items()},
    }
    return render(request, "dashboard/dashboard.html", **context, **vars(board))


@router.post("/projects/{project}/runs")
def start_run(project: str, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Queue a run; a field left empty takes the project's setting."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        request_run(session, access.project, reason="request", **forms.of_run(access.project.algorithm, fields))
    return _back(project, "runs")


@router.post("/projects/{project}/runs/{run}/cancel")
def cancel_run(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Cancel a run that waits or is computed."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        clustering.cancel_run(session, blobs, access.project, run)
    return _back(project, "runs")


@router.post("/projects/{project}/clusters/{cluster}/name")
def name_cluster(
    project: str,
    cluster: int,
    me: Me,
    db: Db,
    blobs: Blobs,
    run: Annotated[str, Form()],
    name: Annotated[Text, Form(max_length=200)] = "",
    note: Annotated[Text, Form(max_length=20_000)] = "",
    page: Annotated[Literal["", "run"], Form()] = "",
) -> RedirectResponse:
    """Give a cluster the name that people call it by, and go back to the page that it was given on."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        body = ClusterName(name=name.strip(), note=note)
        clustering.name_cluster(session, blobs, access.project, run, cluster, body)
    return _back(f"{project}/runs/{run}" if page else project, f"cluster-{cluster}")


@router.post("/projects/{project}/resolution")
def use_resolution(project: str, body: Annotated[ClustersWanted, Form()], me: Me, db: Db) -> RedirectResponse:
    """Make another number of clusters the project's, and start a run that has it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        change_project(session, access.project, {"n_clusters": body.n_clusters})
        request_run(session, access.project, reason="request")
    return _back(project, "resolution")


def _back(project: str, part: str) -> RedirectResponse:
    return RedirectResponse(f"/projects/{project}#{part}", 303)
