"""The page of all runs with their timeline, and the page of two runs side by side."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from tercet.accounts.access import ROLE_MAY, Action, authorize
from tercet.accounts.dependencies import Me
from tercet.history import overview
from tercet.runs import sentences
from tercet.web.dependencies import Blobs, Db
from tercet.web.numbers import Count
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)
RunName = Annotated[str | None, Query(max_length=20)]


@router.get("/projects/{project}/runs")
def runs_page(request: Request, project: str, me: Me, db: Db, after: Count | None = None) -> HTMLResponse:
    """Show the runs of a project, newest first; `after` is the number that a page of older ones begins below."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        page = overview.runs_page(session, access.project, after)
    context: dict[str, Any] = {"why": sentences.why, "may_write": Action.WRITE in ROLE_MAY[access.role]}
    return render(request, "history/runs.html", **context, **vars(page))


@router.get("/projects/{project}/changes")
def changes_page(
    request: Request, project: str, me: Me, db: Db, blobs: Blobs, run: RunName = None, since: RunName = None
) -> HTMLResponse:
    """Show two runs side by side: the current clustering and the run before, unless others are chosen."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        page = overview.changes_page(session, blobs, access.project, run or "latest", since)
    context: dict[str, Any] = {"why": sentences.why, "may_write": Action.WRITE in ROLE_MAY[access.role]}
    return render(request, "history/changes.html", **context, **vars(page))
