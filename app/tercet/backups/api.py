"""REST: everything that the server stores as one file, for administrators."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from tercet.accounts.access import identify_administrator
from tercet.accounts.dependencies import Me
from tercet.audit import chain
from tercet.backups.writing import backup_pieces
from tercet.web.dependencies import Blobs, Db
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1", tags=["server"], responses=problems(401, 403))
ZIP = "application/zip"


@router.get(
    "/backup",
    response_class=StreamingResponse,
    responses={200: {"description": "The backup, streamed.", "content": {ZIP: {"example": "bytes"}}}},
)
def get_backup(me: Me, db: Db, blobs: Blobs) -> StreamingResponse:
    """Download everything that the server stores, while it goes on, for administrators.

    Guard it as you guard the server: it holds addresses of people, hashes of tokens, and secrets of webhooks.
    `tercet check` says whether it came whole, `tercet restore` makes a server of it.
    """
    with db.transaction() as session:
        chain.act_as(identify_administrator(session, me).user)
        chain.record(session, "backup downloaded")
    headers = {"Content-Disposition": 'attachment; filename="tercet-backup.zip"'}
    return StreamingResponse(backup_pieces(db, blobs), media_type=ZIP, headers=headers)
