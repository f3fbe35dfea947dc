"""The page of administrators: how the server is."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from tercet.accounts.access import identify_administrator
from tercet.accounts.dependencies import Me
from tercet.system.overview import view_system
from tercet.web.dependencies import Db
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/system")
def system_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """Show how the server is."""
    with db.reading() as session:
        identify_administrator(session, me)
    settings = request.app.state.settings
    return render(request, "system/system.html", settings=settings, **vars(view_system(db, settings)))
