"""Offers archives for download, and restores them from a file."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tercet.archives.checking import open_archive
from tercet.archives.restoring import restore
from tercet.archives.writing import write_archive
from tercet.database import Database
from tercet.storage import Storage


def pieces_of(database: Database, storage: Storage, project_id: int) -> Iterator[bytes]:
    """Return the bytes of an archive in pieces; errors are raised now, not while they are sent."""
    pieces = write_archive(database, storage, project_id)
    return chain([next(pieces)], pieces)


def restore_file(database: Database, storage: Storage, path: Path, key: str, owner_id: int) -> None:
    """Check an archive and make a project from it; raise Invalid or Conflict, and store nothing then."""
    with open_archive(path) as archive:
        restore(database, storage, archive, key, owner_id)
