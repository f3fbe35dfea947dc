"""REST: download a project as an archive, and restore one."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from tercet.accounts.access import Action, Caller, allow_new_project, authorize, identify
from tercet.accounts.dependencies import Me
from tercet.archives import service
from tercet.audit import chain
from tercet.database import Database
from tercet.intake.uploads import spooled
from tercet.projects.queries import project_by_key
from tercet.projects.schemas import Key, ProjectOut
from tercet.web.dependencies import Blobs, Db
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["archives"])
ZIP = "application/zip"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            ZIP: {"schema": {"type": "string", "format": "binary"}, "example": "the bytes of forest-songs.zip"},
            "application/octet-stream": {"example": "the bytes of forest-songs.zip"},
        },
    }
}


@router.get(
    "/{project}/archive",
    response_class=StreamingResponse,
    responses={
        **problems(401, 403, 404, 409),
        200: {"description": "The archive, streamed.", "content": {ZIP: {"example": "bytes"}}},
    },
)
def get_archive(project: str, me: Me, db: Db, blobs: Blobs) -> StreamingResponse:
    """Download the whole project as one ZIP.

    Items, media, all versions of the features, all answers with the names of their labelers, runs with their results,
    names of clusters, settings and bags. Addresses, rights, tokens and links are not in it. Another server can make a
    project of it: see restore below. 409: a file is missing in the storage.
    """
    with db.transaction() as session:
        row = authorize(session, me, project, Action.READ).project
        chain.record(session, "exported", project=row, after={"archive": f"{row.key}.zip"})
    headers = {"Content-Disposition": f'attachment; filename="{row.key}.zip"'}
    return StreamingResponse(service.pieces_of(db, blobs, row.id), media_type=ZIP, headers=headers)


@router.post("/restore", status_code=201, openapi_extra=BODY, responses=problems(401, 403, 409, 413, 422))
async def restore_archive(
    request: Request, me: Me, db: Db, blobs: Blobs, key: Annotated[Key, Query(description="of the new project")]
) -> ProjectOut:
    """Make a new project of an archive, which you then own.

    All of it is checked first, and the project appears when everything is stored; otherwise nothing is. 409: the key
    is taken. 422: errors[] name the file of the archive, and the row, that is missing, changed or not as expected.
    """
    owner_id = await run_in_threadpool(_allow, db, me)
    async with spooled(request) as path:
        await run_in_threadpool(service.restore_file, db, blobs, path, key, owner_id)
    return await run_in_threadpool(_read, db, key)


def _allow(db: Database, me: Caller) -> int:
    """Return the id of the future owner; raise a problem, before the body is read, if they may not make projects."""
    with db.reading() as session:
        identity = identify(session, me)
        allow_new_project(identity)
        return identity.user.id


def _read(db: Database, key: str) -> ProjectOut:
    with db.reading() as session:
        project = project_by_key(session, key)
        assert project is not None, "it has just been stored"
        return ProjectOut.of(project)
