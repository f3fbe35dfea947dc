"""The page that restores a project from an archive."""

from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse

from tercet.accounts.access import allow_new_project, identify
from tercet.accounts.dependencies import Me
from tercet.archives import service
from tercet.intake.uploads import on_disk
from tercet.projects.schemas import Key
from tercet.web.dependencies import Blobs, Db
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/restore")
def restore_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """Show the form for an archive."""
    with db.reading() as session:
        allow_new_project(identify(session, me))
    return render(request, "archives/restore.html")


@router.post("/restore")
def restore_upload(
    me: Me, db: Db, blobs: Blobs, archive: Annotated[UploadFile, File()], key: Annotated[Key, Form()]
) -> RedirectResponse:
    """Make a project from the archive, and open it."""
    with db.reading() as session:
        identity = identify(session, me)
        allow_new_project(identity)
    with on_disk(archive) as path:
        assert path is not None, "the form was checked"
        service.restore_file(db, blobs, path, key, identity.user.id)
    return RedirectResponse(f"/projects/{key}", 303)
