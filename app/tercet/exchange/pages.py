"""The page that lists all exports."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.exchange.overview import gather
from tercet.web.dependencies import Blobs, Db
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/projects/{project}/export")
def export_page(request: Request, project: str, me: Me, db: Db, blobs: Blobs) -> HTMLResponse:
    """Show what can be exported."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        page = gather(session, blobs, access.project)
    return render(request, "exchange/export.html", **vars(page))
