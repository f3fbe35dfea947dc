"""The page that compares systems on a project; its forms work without JavaScript."""

from math import exp
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.catalogue.algorithms import ALGORITHMS
from tercet.comparisons import service
from tercet.runs import service as runs
from tercet.web.dependencies import Blobs, Db
from tercet.web.rendering import render
from tercet.web.texts import Text

router = APIRouter(include_in_schema=False)
SHORT = {name: algorithm.short for name, algorithm in ALGORITHMS.items()}


@router.get("/projects/{project}/compare")
def compare_page(request: Request, project: str, me: Me, db: Db) -> HTMLResponse:
    """Show the newest comparison, how far the next one is, and the project's runs."""
    with db.reading() as session:
        page = service.comparisons_page(session, authorize(session, me, project, Action.READ))
    return render(request, "comparisons/comparisons.html", exp=exp, short=SHORT, **vars(page))


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
        service.request_comparison(session, access.project, systems)
    return RedirectResponse(f"/projects/{project}/compare", 303)


@router.post("/projects/{project}/compare/{run}/cancel")
def cancel_comparison(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Cancel the comparison."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        runs.cancel_run(session, blobs, access.project, run)
    return RedirectResponse(f"/projects/{project}/compare", 303)


@router.post("/projects/{project}/compare/use")
def use_system(project: str, me: Me, db: Db, system: Annotated[Text, Form(max_length=40)]) -> RedirectResponse:
    """Make a system the project's, start a run of it, and go to the dashboard to see it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        service.use_system(session, access.project, system)
    return RedirectResponse(f"/projects/{project}#runs", 303)
