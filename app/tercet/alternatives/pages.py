"""The page of a run and the list of alternatives; forms work without JavaScript."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from tercet.accounts.access import ROLE_MAY, Action, authorize
from tercet.accounts.dependencies import Me
from tercet.alternatives import overview, queries, service
from tercet.alternatives.schemas import AnotherIn
from tercet.catalogue.algorithms import ALGORITHMS
from tercet.runs import sentences
from tercet.web.dependencies import Blobs, Db
from tercet.web.rendering import render
from tercet.web.texts import Text

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
    """Show one run beside the chosen grouping or, for an alternative, beside the run that it differs from."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        page = overview.run_page(session, blobs, access, run, beside)
    return render(request, "alternatives/run.html", titles=TITLES, describe=sentences.describe, **vars(page))


@router.get("/projects/{project}/alternatives")
def alternatives_page(request: Request, project: str, me: Me, db: Db, blobs: Blobs) -> HTMLResponse:
    """Show the list of alternatives and what each shares with each."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        context: dict[str, Any] = {
            "project": access.project,
            "alternatives": overview.list_alternatives(session, blobs, access.project),
            "waiting": queries.unfinished(session, access.project.id),
            "another": overview.another_form_for_current(session, access.project),
            "may_write": Action.WRITE in ROLE_MAY[access.role],
        }
    return render(request, "alternatives/alternatives.html", titles=TITLES, **context)


@router.post("/projects/{project}/runs/{run}/another")
def find_another(project: str, run: str, body: Annotated[AnotherIn, Form()], me: Me, db: Db) -> RedirectResponse:
    """Queue another clustering and go to its page."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        another = service.find_another(session, access.project, run, body)
    return _to(project, another.number)


@router.post("/projects/{project}/runs/{run}/name")
def name_run(
    project: str,
    run: str,
    me: Me,
    db: Db,
    name: Annotated[Text, Form(max_length=200)] = "",
    page: Annotated[Literal["", "alternatives"], Form()] = "",
) -> RedirectResponse:
    """Name a run, and go back to the same page."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        named = service.name_run(session, access.project, run, name)
    if page:
        return RedirectResponse(f"/projects/{project}/alternatives#run-{named.number}", 303)
    return _to(project, named.number)


@router.post("/projects/{project}/runs/{run}/adopt")
def adopt(project: str, run: str, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Make a run's clustering the current one, and show it."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        adopted = service.adopt(session, blobs, access.project, run)
    return _to(project, adopted.number)


def _to(project: str, number: int) -> RedirectResponse:
    return RedirectResponse(f"/projects/{project}/runs/{number}", 303)
