"""REST: the audit log, of a project for its owners and of the whole server for administrators."""

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from tercet.accounts.access import Action, authorize, identify_administrator
from tercet.accounts.dependencies import Me
from tercet.audit import chain
from tercet.database import Database
from tercet.web.dependencies import Db
from tercet.web.numbers import Count
from tercet.web.problems import problems
from tercet.web.row_formats import RowFormat

router = APIRouter(prefix="/api/v1", tags=["audit"], responses=problems(401, 403))


EXAMPLE = (
    '{"number": 7, "at": "2026-03-01T09:30:00.000000+00:00", "by_id": 3, "by": "Ada", "address": "192.0.2.7", '
    '"project": "songs", "what": "settings changed", "before": {"n_clusters": 8}, "after": {"n_clusters": 9}, '
    '"hash": "9f2c4e"}'
)
CONTENT = {RowFormat.NDJSON.content_type: {"example": EXAMPLE}}
LINES: dict[int | str, dict[str, Any]] = {200: {"description": "The entries, streamed.", "content": CONTENT}}


@router.get("/audit", response_class=StreamingResponse, responses=LINES)
def get_audit(me: Me, db: Db, after: Count = 0) -> StreamingResponse:
    """Read the whole audit log as NDJSON, for administrators.

    Each line is an entry: who, when, from where, what, before and after. `hash` is the SHA-256 of the hash of the line
    before, a line feed, and the entry without its hash as JSON with sorted keys and without blanks; the first is
    after 64 zeros.
    """
    with db.reading() as session:
        identify_administrator(session, me)
    return StreamingResponse(_lines(db, None, after), media_type=RowFormat.NDJSON.content_type)


@router.get("/projects/{project}/audit", response_class=StreamingResponse, responses={**LINES, **problems(404)})
def get_project_audit(project: str, me: Me, db: Db, after: Count = 0) -> StreamingResponse:
    """Read the audit log of a project as NDJSON, for its owners. Its numbers are those of the whole log."""
    with db.reading() as session:
        key = authorize(session, me, project, Action.OWN).project.key
    return StreamingResponse(_lines(db, key, after), media_type=RowFormat.NDJSON.content_type)


def _lines(db: Database, project: str | None, after: int) -> Iterator[str]:
    with db.snapshot() as session:
        for entry in chain.entries(session, project, after):
            yield chain.as_line(entry)
