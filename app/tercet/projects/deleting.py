"""Deletes projects: hidden at once, restorable for 30 days, then removed with everything in them."""

from datetime import timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from tercet.audit import chain
from tercet.database import Database
from tercet.errors import Conflict
from tercet.models import (
    Answer,
    BackgroundJob,
    Bag,
    ClusterNote,
    Dismissal,
    Edit,
    FeatureSet,
    Flag,
    Import,
    ImportFile,
    Item,
    JobStatus,
    Link,
    Project,
    Run,
    RunStatus,
    Tag,
    Triplet,
    now,
)
from tercet.projects import queries
from tercet.projects.service import blob_folder
from tercet.storage import Storage

DELETED_FOR = timedelta(days=30)
# Children before parents. Deleting the project alone would look for the triplets of each item in turn.
OWNED = (Dismissal, Flag, Tag, Link, Edit, Answer, Triplet, ClusterNote, Run, FeatureSet, Item, Bag)


def delete_project(session: Session, project: Project) -> Project:
    """Hide a project for 30 days, after which it is removed; end its computations."""
    project.deleted_at = now()
    ended = {"finished_at": project.deleted_at, "lease_expires_at": None}
    for table, status in ((Run, RunStatus), (BackgroundJob, JobStatus)):
        of_project = update(table).where(table.project_id == project.id)
        session.execute(of_project.where(table.status == status.RUNNING).values(cancel_requested=True))
        queued = of_project.where(table.status == status.QUEUED)
        session.execute(queued.values(status=status.CANCELLED, **ended))
    session.flush()
    chain.record(session, "project deleted", project=project)
    return project


def undelete_project(session: Session, project: Project) -> Project:
    """Restore a deleted project."""
    if project.deleted_at is None:
        raise Conflict(f"Project '{project.key}' is not deleted.")
    project.deleted_at = None
    session.flush()
    chain.record(session, "project restored", project=project)
    return project


def remove_project(session: Session, project: Project) -> list[str]:
    """Remove a project with everything in it, for good; return the folders of blobs to remove after the commit."""
    folders = [blob_folder(project.id)]
    folders += [f"runs/{number}" for number in queries.run_ids(session, project.id)]
    folders += [f"imports/{number}" for number in queries.import_ids(session, project.id)]
    imports = select(Import.id).where(Import.project_id == project.id)
    session.execute(delete(ImportFile).where(ImportFile.import_id.in_(imports)))
    for table in OWNED:
        session.execute(delete(table).where(table.project_id == project.id))
    session.delete(project)
    return folders


def remove_blobs(storage: Storage, folders: list[str]) -> None:
    """Remove the blobs of a project that is gone."""
    for folder in folders:
        storage.delete_folder(folder)


def remove_long_deleted(database: Database, storage: Storage) -> None:
    """Remove the projects that were deleted 30 days ago or earlier."""
    moment = now() - DELETED_FOR
    with database.reading() as session:
        if not queries.deleted_before(session, moment):
            return
    with database.transaction() as session:
        folders = [
            folder for project in queries.deleted_before(session, moment) for folder in remove_project(session, project)
        ]
    remove_blobs(storage, folders)
