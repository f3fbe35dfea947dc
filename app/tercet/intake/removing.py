"""Takes single files out of an import that is not done."""

from sqlalchemy.orm import Session

from tercet.intake import queries
from tercet.intake.imports import OPEN
from tercet.models import Import, ImportStatus, Project
from tercet.runs.queries import lock_project
from tercet.web.errors import Conflict, NotFound


def remove_file(session: Session, project: Project, row: Import, path: str) -> str:
    """Take a file out of an import, which has to be checked again then; return the folder of its bytes, to delete."""
    lock_project(session, project.id)
    session.refresh(row)
    if row.status not in OPEN:
        raise Conflict(f"Nothing can be taken out of import {row.number} any more: it is {row.status}.")
    file = queries.file_of(session, row, path)
    if file is None:
        raise NotFound(f"There is no file '{path}' in import {row.number}.")
    folder = file.blob
    session.delete(file)
    row.status = ImportStatus.UPLOADING
    session.flush()
    return folder
