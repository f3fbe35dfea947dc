"""Reads imports and their files."""

from collections.abc import Collection
from pathlib import PurePosixPath

from sqlalchemy import false, func, or_, select
from sqlalchemy.orm import Session

from tercet.errors import NotFound
from tercet.models import Answer, Import, ImportFile, Item, Project, Triplet, User

CHUNK = 5_000


def import_by_number(session: Session, project_id: int, number: int) -> Import:
    """Return an import; raise NotFound if there is none of that number."""
    row = session.scalar(select(Import).where(Import.project_id == project_id, Import.number == number))
    if row is None:
        raise NotFound(f"There is no import {number} in this project.")
    return row


def project_number(session: Session, key: str) -> int:
    """Return the id of a project by its key; raise NotFound if it was deleted in the meantime."""
    number = session.scalar(select(Project.id).where(Project.key == key, Project.deleted_at.is_(None)))
    if number is None:
        raise NotFound(f"There is no project '{key}'.")
    return number


def name_of_user(session: Session, row: Import) -> str | None:
    """Return the name of who made an import."""
    return session.scalar(select(User.name).where(User.id == row.user_id))


def next_number(session: Session, project_id: int) -> int:
    """Return the number of the project's next import."""
    last = session.scalar(select(func.max(Import.number)).where(Import.project_id == project_id))
    return (last or 0) + 1


def page_of_imports(
    session: Session, project_id: int, before: int | None, limit: int
) -> list[tuple[Import, str | None]]:
    """Return up to `limit` imports, newest first, each with the name of who made it."""
    statement = select(Import, User.name).outerjoin(User, User.id == Import.user_id)
    statement = statement.where(Import.project_id == project_id)
    if before is not None:
        statement = statement.where(Import.number < before)
    return [(row, name) for row, name in session.execute(statement.order_by(Import.number.desc()).limit(limit))]


def file_of(session: Session, row: Import, path: str) -> ImportFile | None:
    """Return a file of an import."""
    return session.scalar(select(ImportFile).where(ImportFile.import_id == row.id, ImportFile.path == path))


def possible_archives_of(session: Session, row: Import, path: PurePosixPath) -> list[ImportFile]:
    """Return the files that may be archives with this path: "a.zip" may hold "a/b"."""
    folders = [folder for folder in path.parents if folder.name]
    begins = [ImportFile.path.startswith(str(folder), autoescape=True) for folder in folders]
    candidates = select(ImportFile).where(ImportFile.import_id == row.id, or_(false(), *begins))
    return [file for file in session.scalars(candidates) if PurePosixPath(file.path).with_suffix("") in folders]


def files_of(session: Session, row: Import) -> list[ImportFile]:
    """Return all files of an import, in the order of their paths."""
    return list(session.scalars(select(ImportFile).where(ImportFile.import_id == row.id).order_by(ImportFile.path)))


def totals_of(session: Session, row: Import) -> tuple[int, int, int]:
    """Return how many files an import has, their bytes, and how many bytes were received."""
    figures = select(
        func.count(), func.coalesce(func.sum(ImportFile.size), 0), func.coalesce(func.sum(ImportFile.received), 0)
    )
    count, size, received = session.execute(figures.where(ImportFile.import_id == row.id)).one()
    return int(count), int(size), int(received)


def answers_about(session: Session, item_ids: Collection[int]) -> int:
    """Return the number of answers, withdrawn ones included, to questions with one of the items."""
    ids, count = sorted(item_ids), 0
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        about = or_(Triplet.anchor_id.in_(chunk), Triplet.left_id.in_(chunk), Triplet.right_id.in_(chunk))
        statement = select(func.count()).select_from(Answer).join(Triplet, Triplet.id == Answer.triplet_id)
        count += session.scalar(statement.where(about)) or 0
    return count


def items_at(session: Session, project_id: int, first: int, count: int) -> list[Item]:
    """Return the items of a range of positions that are not deleted."""
    between = (Item.position >= first) & (Item.position < first + count)
    return list(session.scalars(select(Item).where(Item.project_id == project_id, between, Item.deleted_at.is_(None))))
