"""The page that compares systems on a project, and the page of help on which system when."""

from math import exp
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from app.accounts.access import Action, Me, authorize
from app.clustering import service as clustering
from app.clustering.algorithms import ALGORITHMS
from app.comparing import service
from app.dependencies import Blobs, Db
from app.texts import Text
from app.web import render

router = APIRouter(include_in_schema=False)
SHORT = {name: algorithm.short for name, algorithm in ALGORITHMS.items()}


@router.get("/projects/{project}/compare")
def compare_page(request: Request, project: str, me: Me, db: Db) -> HTMLResponse:
    """Show the newest comparison, how far the next one is, and the project's runs."""
    with db.reading() as session:
        view = service.view(session, authorize(session, me, project, Action.READ))
    return render(request, "compare/compare.html", exp=exp, short=SHORT, **vars(view))


@router.post("/projects/{project}/compare")
def start_comparison(
    project: str,
    me: Me,
    db: Db,
    systems: Annotated[list[Text], Form()] = [],  # noqa: B006 - FastAPI copies it
) -> RedirectResponse:
    """Queue a comparison of the systems that were ticked."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        service.request(session, access.project, systems)
    return RedirectResponse(f"/projects/{project}/compare", 303)


@router.post("/projects/{project}/compare/{run}/cancel")
def cancel_comparison(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Cancel the comparison."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        clustering.cancel_run(session, blobs, access.project, run)
    return RedirectResponse(f"/projects/{project}/compare", 303)


@router.post("/projects/{project}/compare/use")
def use_system(project: str, me: Me, db: Db, system: Annotated[Text, Form(max_length=40)]) -> RedirectResponse:
    """Make a system the project's, start a run of it, and go to the dashboard to see it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        service.use(session, access.project, system)
    return RedirectResponse(f"/projects/{project}#runs", 303)


@router.get("/help/systems")
def systems_page(request: Request) -> HTMLResponse:
    """Say which system to take when."""
    return render(request, "help/systems.html")
