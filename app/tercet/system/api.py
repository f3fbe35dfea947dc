"""REST: how the server is, for administrators."""

from fastapi import APIRouter, Request

from tercet.accounts.access import identify_administrator
from tercet.accounts.dependencies import Me
from tercet.system.overview import view_system
from tercet.system.schemas import SystemOut
from tercet.web.dependencies import Db
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1", tags=["system"], responses=problems(401, 403))


@router.get("/system")
def get_system(request: Request, me: Me, db: Db) -> SystemOut:
    """Read how the server is: what it holds, what waits, disks, versions, backups and failures."""
    with db.reading() as session:
        identify_administrator(session, me)
    return SystemOut.of(view_system(db, request.app.state.settings))
