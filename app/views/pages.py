"""The page of a run, with another grouping beside it, and of all views; their forms work without JavaScript."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from app.accounts.access import ROLE_MAY, Action, Me, authorize
from app.clustering import words
from app.clustering.algorithms import ALGORITHMS
from app.dependencies import Blobs, Db
from app.texts import Text
from app.views import board, queries, service
from app.views.schemas import AnotherIn
from app.web import render

router = APIRouter(include_in_schema=False)
TITLES = {name: algorithm.short for name, algorithm in ALGORITHMS.items()}


@router.get("/projects/{project}/runs/{run}")
def run_page(
    request: Request,
    project: str,
    run: str,
    me: Me,
    db: Db,
    blobs: Blobs,
    beside: Annotated[str | None, Query(alias="with", max_length=200)] = None,
) -> HTMLResponse:
    """Show one run, beside what a person chose or, if it is a view, beside what it was to be unlike."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        seen = board.gather(session, blobs, access, run, beside)
    return render(request, "runs/run.html", titles=TITLES, describe=words.describe, **vars(seen))


@router.get("/projects/{project}/views")
def views_page(request: Request, project: str, me: Me, db: Db, blobs: Blobs) -> HTMLResponse:
    """Show the series of views and what each shares with each."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        context: dict[str, Any] = {
            "project": access.project,
            "series": board.series(session, blobs, access.project),
            "waiting": queries.waiting(session, access.project.id),
            "offer": board.offer_for_current(session, access.project),
            "may_write": Action.WRITE in ROLE_MAY[access.role],
        }
    return render(request, "runs/views.html", titles=TITLES, **context)


@router.post("/projects/{project}/runs/{run}/another")
def find_another(project: str, run: str, body: Annotated[AnotherIn, Form()], me: Me, db: Db) -> RedirectResponse:
    """Queue another clustering and go to its page."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        found = service.find_another(session, access.project, run, body)
    return _to(project, found.number)


@router.post("/projects/{project}/runs/{run}/name")
def name_run(
    project: str,
    run: str,
    me: Me,
    db: Db,
    name: Annotated[Text, Form(max_length=200)] = "",
    page: Annotated[Literal["", "views"], Form()] = "",
) -> RedirectResponse:
    """Name a run, and go back to the page that it was named on."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        found = service.name_run(session, access.project, run, name)
    views = f"/projects/{project}/views#run-{found.number}"
    return RedirectResponse(views, 303) if page else _to(project, found.number)


@router.post("/projects/{project}/runs/{run}/adopt")
def adopt(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Make a run's clustering the current one, and show it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        found = service.adopt(session, blobs, access.project, run)
    return _to(project, found.number)


def _to(project: str, number: int) -> RedirectResponse:
    return RedirectResponse(f"/projects/{project}/runs/{number}", 303)
