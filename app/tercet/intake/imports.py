"""The life of an import: created, filled with files, checked, started, cancelled, undone.

Every function but `clean_up` runs in the caller's transaction and locks the project first, as every writer does.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from tercet.accounts.access import Access, Action, Caller, authorize
from tercet.audit import chain
from tercet.database import Database
from tercet.errors import Conflict, FieldError, Invalid, NotFound, TooLarge
from tercet.intake import editing, queries, service
from tercet.intake.faults import Faults
from tercet.intake.reading.plan import MOST_FILES
from tercet.intake.received import folder_of, normal_path
from tercet.intake.schemas import ImportOut
from tercet.jobs import lifecycle
from tercet.jobs import queries as jobs
from tercet.models import (
    BackgroundJob,
    Import,
    ImportFile,
    ImportSource,
    ImportStatus,
    Item,
    JobKind,
    JobStatus,
    Project,
    User,
    now,
)
from tercet.runs.queries import lock_project
from tercet.storage import Storage

# The files of an import that nobody continues are removed after this time.
ABANDONED = timedelta(days=1)
OPEN = (ImportStatus.UPLOADING, ImportStatus.READY, ImportStatus.FAILED)
UNDER_WAY = (ImportStatus.CHECKING, ImportStatus.IMPORTING)
JOB_OF = {ImportStatus.CHECKING: JobKind.CHECK_IMPORT, ImportStatus.IMPORTING: JobKind.STORE_IMPORT}


def find(session: Session, me: Caller, project: str, number: int, action: Action) -> tuple[Access, Import]:
    """Return an import, and the caller's access; raise a problem if they may not see it."""
    access = authorize(session, me, project, action)
    return access, queries.import_by_number(session, access.project.id, number)


def show(session: Session, row: Import, name: str | None = None) -> ImportOut:
    """Return an import as REST returns it; `name` is the name of who made it, if known already."""
    job = jobs.newest(session, row.project_id, *JOB_OF.values(), subject=row.number)
    return ImportOut.of(row, queries.totals_of(session, row), job, name or queries.name_of_user(session, row))


def make(session: Session, project: Project, user: User, options: dict[str, Any], source: ImportSource) -> Import:
    """Create an import, to which files can be sent."""
    lock_project(session, project.id)
    number = queries.next_number(session, project.id)
    row = Import(project_id=project.id, number=number, user_id=user.id, source=source, options=options)
    session.add(row)
    session.flush()
    return row


def expect_file(session: Session, row: Import, path: str, size: int, limits: tuple[int, int]) -> ImportFile:
    """Return a file of an import, adding it if it is new; `limits` are the most bytes of a file and of all files."""
    _require_status(row, OPEN, "accepts no more files")
    path = normal_path(path)
    file = queries.file_of(session, row, path)
    if file is not None and file.size == size:
        return file
    if file is not None:
        detail = f"this file was begun with {file.size} bytes, not {size}: begin another import, or send the same file"
        raise Conflict(f"'{path}' has another size than before.", [FieldError("size", detail, file=path)])
    count, total, _ = queries.totals_of(session, row)
    if size > limits[0]:
        raise TooLarge(f"'{path}' has {size:,} bytes; a file may have {limits[0]:,}.")
    if total + size > limits[1]:
        raise TooLarge(f"The files of one import may have {limits[1]:,} bytes together: import them in several goes.")
    if count >= MOST_FILES:
        raise TooLarge(f"One import may have {MOST_FILES:,} files: import them in several goes, or as a ZIP file.")
    file = ImportFile(import_id=row.id, path=path, size=size, received=0, blob="")
    session.add(file)
    session.flush()
    file.blob = f"{folder_of(row)}/files/{file.id}"
    row.status = ImportStatus.UPLOADING
    session.flush()
    return file


def note_received(session: Session, file: ImportFile, offset: int, length: int) -> int:
    """Store that bytes were received; return how many there are now, more if another request brought some too."""
    raised = update(ImportFile).where(ImportFile.id == file.id, ImportFile.received == offset)
    session.execute(raised.values(received=offset + length).execution_options(synchronize_session=False))
    session.refresh(file)
    return file.received


def remove_file(session: Session, project: Project, row: Import, path: str) -> str:
    """Take a file out of an import, which must be checked again; return the storage folder of the file, to delete."""
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


def check(session: Session, project: Project, row: Import, user: User, options: dict[str, Any] | None) -> BackgroundJob:
    """Queue the job that reads the files; `options` replace the former ones unless None."""
    lock_project(session, project.id)
    session.refresh(row)
    _require_status(row, OPEN, "cannot be checked now")
    missing = [file.path for file in queries.files_of(session, row) if file.received < file.size]
    if missing:
        faults = Faults.of([FieldError("file", "is incomplete: send the rest", file=path) for path in missing])
        faults.raise_any(Conflict)
    if queries.totals_of(session, row)[0] == 0:
        raise Invalid("There is nothing to check: send files first.")
    row.options = row.options if options is None else options
    row.status = ImportStatus.CHECKING
    return lifecycle.queue(session, project.id, JobKind.CHECK_IMPORT, subject=row.number, user_id=user.id)


def start(session: Session, project: Project, row: Import, user: User) -> BackgroundJob:
    """Queue the job that stores a checked import; raise Invalid if it has faults and `skip_bad` is not set."""
    lock_project(session, project.id)
    session.refresh(row)
    _require_status(row, (ImportStatus.READY,), "has to be checked first")
    faults = [FieldError(**fault) for fault in row.report["faults"]]
    if faults and not row.options.get("skip_bad"):
        Faults.of(faults).raise_any()
    if not row.report["items"] and row.report["features"] is None:
        raise Invalid("There is nothing in these files that could be imported.")
    row.status = ImportStatus.IMPORTING
    return lifecycle.queue(session, project.id, JobKind.STORE_IMPORT, subject=row.number, user_id=user.id)


def cancel(session: Session, project: Project, row: Import) -> None:
    """Cancel an import that is not done; nothing of it stays."""
    lock_project(session, project.id)
    session.refresh(row)
    _require_status(row, (*OPEN, *UNDER_WAY), "cannot be cancelled any more")
    for job in jobs.unfinished(session, project.id, *JOB_OF.values()):
        if job.subject == row.number:
            lifecycle.cancel(session, job)
    row.status, row.finished_at = ImportStatus.CANCELLED, now()
    _delete_file_rows(session, row)


def undo(session: Session, storage: Storage, project: Project, row: Import) -> list[str]:
    """Delete the items of an import and undo its changes; return their blobs. Raise Conflict where it has answers."""
    lock_project(session, project.id)
    session.refresh(row)
    _require_status(row, (ImportStatus.DONE,), "cannot be undone")
    added = queries.items_at(session, project.id, row.report["first_position"], row.report["added"])
    if count := queries.answers_about(session, [item.id for item in added]):
        answers = "1 answer has" if count == 1 else f"{count:,} answers have"
        raise Conflict(
            f"{answers} been given about the items of this import, so it cannot be undone. "
            "Single items can be set aside."
        )
    before = storage.get_json(f"{folder_of(row)}/before.json")
    for values in before:
        item = session.get(Item, values.pop("id"))
        if item is not None:
            service.change_item(item, values)
    blobs = editing.delete_items(session, project, added)
    row.status = ImportStatus.UNDONE
    chain.record(session, "import undone", project=project, before={"import": row.number, "items": len(added)})
    session.flush()
    return blobs


def _require_status(row: Import, statuses: tuple[ImportStatus, ...], otherwise: str) -> None:
    if row.status not in statuses:
        raise Conflict(f"Import {row.number} {otherwise}: it is {row.status}.")


def _delete_file_rows(session: Session, row: Import) -> None:
    session.execute(delete(ImportFile).where(ImportFile.import_id == row.id))


def clean_up(database: Database, storage: Storage) -> None:
    """End the imports whose job failed, and remove the files of abandoned imports."""
    with database.reading() as session:
        if not _any_to_clean_up(session):
            return
    with database.transaction() as session:
        end_failed(session)
        folders = _abandoned(session)
    for folder in folders:
        storage.delete_folder(folder)


def _any_to_clean_up(session: Session) -> bool:
    """Return whether `clean_up` may have something to do; needs no lock."""
    stale = Import.status.in_(OPEN) & (Import.created_at < now() - ABANDONED)
    return session.scalar(select(Import.id).where(Import.status.in_(UNDER_WAY) | stale).limit(1)) is not None


def end_failed(session: Session) -> list[int]:
    """End the imports whose job failed or was cancelled, with the job's error; return their ids."""
    ended = []
    for row in session.scalars(select(Import).where(Import.status.in_(UNDER_WAY))):
        job = jobs.newest(session, row.project_id, JOB_OF[ImportStatus(row.status)], subject=row.number)
        if job is None or job.status in (JobStatus.FAILED, JobStatus.CANCELLED):
            lock_project(session, row.project_id)
            row.status, row.finished_at = ImportStatus.FAILED, now()
            row.report = row.report | {"error": job.error if job else "The work on it was lost: check it again."}
            row.report = row.report | (job.result if job else {})
            ended.append(row.id)
    return ended


def _abandoned(session: Session) -> list[str]:
    """Cancel the imports that nobody continued; return the storage folders of their files, to delete after that."""
    since = now() - ABANDONED
    stale = select(Import).where(Import.status.in_(OPEN), Import.created_at < since)
    folders = []
    for row in session.scalars(stale):
        lock_project(session, row.project_id)
        row.status, row.finished_at = ImportStatus.CANCELLED, now()
        row.report = row.report | {"error": "Nobody continued it for a day, so its files were removed."}
        _delete_file_rows(session, row)
        folders.append(folder_of(row))
    return folders
