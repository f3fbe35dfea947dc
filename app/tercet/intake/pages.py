"""The pages of imports: a new project, one import from its files to its report, and the list of imports."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Query, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tercet.accounts import service as accounts
from tercet.accounts.access import ROLE_MAY, Action, allow_new_project, authorize, identify
from tercet.accounts.dependencies import Me
from tercet.intake import (
    featuring,
    imports,
    options,
    overview,
    pictures,
    queries,
    received,
    service,
    storing,
    uploads,
)
from tercet.intake.feature_files import read_features
from tercet.jobs import lifecycle
from tercet.models import ImportSource, JobKind
from tercet.projects import deleting
from tercet.projects import service as projects
from tercet.projects.schemas import ProjectIn, ProjectPatch
from tercet.web.dependencies import Blobs, Db, Fields
from tercet.web.forms import parse
from tercet.web.numbers import Id
from tercet.web.rendering import render, site_address
from tercet.web.texts import NAME_LENGTH

router = APIRouter(include_in_schema=False)
LISTED = 50


@router.get("/projects/new")
def new_project_page(request: Request, me: Me, db: Db) -> HTMLResponse:
    """Show the page where files are dropped to make a new project."""
    with db.reading() as session:
        allow_new_project(identify(session, me))
    return render(request, "intake/new.html")


@router.post("/projects/new")
def begin_project(fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Create a project without items, which only its owner sees, and the import of its first items."""
    with db.transaction() as session:
        identity = identify(session, me)
        allow_new_project(identity)
        project = projects.create_project(session, identity.user, **parse(ProjectIn, fields).fields_sent())
        row = imports.make(session, project, identity.user, options.DEFAULTS, ImportSource.PAGE)
        return _to_import(project.key, row.number)


@router.get("/projects/{project}/imports")
def imports_page(
    request: Request, project: str, me: Me, db: Db, before: Annotated[Id | None, Query()] = None
) -> HTMLResponse:
    """List the project's imports, below the place where more files can be dropped."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        rows = queries.page_of_imports(session, access.project.id, before, LISTED + 1)
        entries = [overview.ImportEntry.of(session, row, name) for row, name in rows[:LISTED]]
    after = entries[-1].number if len(rows) > LISTED else None
    may_write = Action.WRITE in ROLE_MAY[access.role]
    context: dict[str, Any] = {"project": access.project, "imports": entries, "next": after, "may_write": may_write}
    return render(request, "intake/imports.html", **context)


@router.post("/projects/{project}/imports")
def begin_import(project: str, me: Me, db: Db) -> RedirectResponse:
    """Create an import into a project that exists."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        row = imports.make(session, access.project, access.user, options.DEFAULTS, ImportSource.PAGE)
        return _to_import(project, row.number)


@router.get("/projects/{project}/imports/{number}")
def import_page(request: Request, project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> HTMLResponse:
    """Show one import at its stage; the page updates itself."""
    with db.reading() as session:
        access, row = imports.find(session, me, project, number, Action.READ)
        return render(request, "intake/import.html", **overview.context(session, blobs, access, row))


@router.post("/projects/{project}/imports/{number}/check")
def check_import(project: str, number: Id, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Read the files in the background, with the options of the form."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        imports.check(session, access.project, row, access.user, options.of_form(fields))
    return _to_import(project, number)


@router.post("/projects/{project}/imports/{number}/files/remove")
def remove_import_file(project: str, number: Id, fields: Fields, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Take a file out of an import, which must be checked again then."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        folder = imports.remove_file(session, access.project, row, fields.get("path", ""))
    blobs.delete_folder(folder)
    return _to_import(project, number)


@router.post("/projects/{project}/imports/{number}/start")
def start_import(project: str, number: Id, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Store a checked import in the background; for a new project the form has its name and number of clusters."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        projects.change_project(session, access.project, parse(ProjectPatch, fields).fields_sent())
        imports.start(session, access.project, row, access.user)
    return _to_import(project, number)


@router.post("/projects/{project}/imports/{number}/cancel")
def cancel_import(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Cancel an import that is not done, and delete a project that was created only for it."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        is_draft = overview.view_import(session, access, row).is_draft
        imports.cancel(session, access.project, row)
        folders = deleting.remove_project(session, access.project) if is_draft else [received.folder_of(row)]
    deleting.remove_blobs(blobs, folders)
    return RedirectResponse("/" if is_draft else f"/projects/{project}/imports", 303)


@router.post("/projects/{project}/imports/{number}/undo")
def undo_import(project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> RedirectResponse:
    """Undo an import, if there are no answers about its items."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        unused = imports.undo(session, blobs, access.project, row)
    service.remove_unused(db, blobs, row.project_id, unused)
    return _to_import(project, number)


@router.post("/projects/{project}/imports/{number}/link")
def make_labeling_link(request: Request, project: str, number: Id, me: Me, db: Db, blobs: Blobs) -> HTMLResponse:
    """Create a labeling link and show it beside the import's report; it is shown only this once."""
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.OWN)
        token = accounts.make_share_link(session, access.project)
        context = overview.context(session, blobs, access, row)
    page = render(request, "intake/import.html", **context, link=f"{site_address(request)}/join/{token}")
    page.headers["Cache-Control"] = "no-store"
    return page


@router.post("/projects/{project}/features/make")
def make_features(project: str, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Make the features of all items again in the background, by the groups chosen in the form."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        featuring.choose(session, access.project, featuring.read_form(access.project, fields), access.user)
    return RedirectResponse(f"/projects/{project}/settings#features", 303)


@router.post("/projects/{project}/features")
def upload_features(project: str, array: Annotated[UploadFile, File()], me: Me, db: Db, blobs: Blobs) -> Response:
    """Store an uploaded array as the features of all items."""
    with db.reading() as session:
        authorize(session, me, project, Action.WRITE)
    name = array.filename or "features"
    with uploads.on_disk(array) as path:
        storing.store_features(db, blobs, project, read_features(path, name), name[:NAME_LENGTH])
    return RedirectResponse(f"/projects/{project}/settings#features", 303)


@router.post("/projects/{project}/pictures")
def change_pictures(project: str, fields: Fields, me: Me, db: Db) -> RedirectResponse:
    """Change how sounds are drawn, and draw all pictures again in the background."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        access.project.picture_settings = pictures.read_choice(fields)
        lifecycle.queue(session, access.project.id, JobKind.DRAW_PICTURES, user_id=access.user.id)
    return RedirectResponse(f"/projects/{project}/settings#pictures", 303)


def _to_import(project: str, number: int) -> RedirectResponse:
    return RedirectResponse(f"/projects/{project}/imports/{number}", 303)
