"""Items, media and features from files into a project, for the REST API and the command line alike.

Everything is read and checked before anything is stored. Blobs go to storage first, under names made from
their content; then one short transaction makes them visible.

Once a project has features, every item has them: new items come with theirs, either rows for the new items
only, which are put below the existing ones, or rows for all. So every item of a run has features.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.intake import preparing, service
from tercet.intake.faults import Faults, fail
from tercet.intake.features import Array, Features, in_item_order, read_features
from tercet.intake.preparing import Opener
from tercet.intake.service import StoredFeatures, StoredMedia
from tercet.intake.tables import ItemRow, check_rows, read_table
from tercet.items import queries
from tercet.models import FeatureSet, Item, Project
from tercet.projects.queries import project_by_key
from tercet.projects.service import blob_folder
from tercet.runs.queries import lock_project
from tercet.storage import Storage
from tercet.web.errors import Conflict, NotFound
from tercet.web.zip_stream import npy_bytes


@dataclass(frozen=True)
class Target:
    """The project as it was when the import was checked."""

    id: int
    key: str
    keys: list[str]  # of all items in order, of the deleted ones too, whose rows stay
    deleted: frozenset[int]  # positions
    features: FeatureSet | None

    @property
    def count(self) -> int:
        """The number of rows that features have, before new items come."""
        return len(self.keys)


@dataclass(frozen=True)
class Imported:
    """What an import added."""

    added: int
    features: FeatureSet | None


def import_items(
    database: Database,
    storage: Storage,
    project: str,
    *,
    table: Path | None = None,
    media: Path | None = None,
    features: Path | None = None,
    name: str = "features",
) -> Imported:
    """Import from files: a CSV table, a folder of media, a feature array; any of the three may be missing.

    With a table, only the files that belong to its rows are taken from the folder; without one, each file
    becomes an item.
    """
    rows = read_table(table, table.name) if table else None
    files = files_in(media) if media else {}
    if rows is not None:
        named = set(preparing.match_files(rows, list(files), Faults()).values())
        files = {file: opener for file, opener in files.items() if file in named}
    array = read_features(features, features.name) if features else None
    return add(database, storage, project, rows, files, array, table=table.name if table else None, name=name)


def add(
    database: Database,
    storage: Storage,
    project: str,
    rows: Sequence[ItemRow] | None,
    files: Mapping[str, Opener],
    features: Features | None,
    *,
    table: str | None = None,
    name: str = "features",
) -> Imported:
    """Check everything, then add items and features.

    Without rows, each file becomes an item; `table` names the rows' file in messages, `name` the features.
    """
    target = find_target(database, project)
    if rows is None:
        rows = preparing.rows_of_files(list(files))
    if not rows and features is None:
        raise fail("items", "There is nothing to import: give items, media files or features.")
    media_of = _check(target, rows, files, table)
    array = arrange(storage, target, [row.key for row in rows], features)
    folder = blob_folder(target.id)
    with preparing.prepared(media_of, files) as ready:
        media = {key: preparing.store(storage, folder, prepared) for key, prepared in ready.items()}
    stored = None if array is None else _store_features(storage, folder, array, features, name)
    return _write(database, target, rows, media, stored)


def find_target(database: Database, project: str) -> Target:
    """Return what the checks need to know of the project."""
    with database.reading() as session:
        row = project_by_key(session, project)
        if row is None:
            raise NotFound(f"There is no project '{project}'.")
        return _target_of(session, row)


def find_target_by_id(session: Session, project_id: int) -> Target:
    """Return the same of a project whose number is at hand."""
    return _target_of(session, session.get_one(Project, project_id))


def _target_of(session: Session, project: Project) -> Target:
    keys = queries.keys_in_order(session, project.id)
    deleted = frozenset(queries.deleted_positions(session, project.id))
    return Target(project.id, project.key, keys, deleted, queries.latest_features(session, project.id))


def files_in(folder: Path) -> dict[str, Opener]:
    """Return the files of a folder, by name; hidden ones are left out."""
    if not folder.is_dir():
        raise fail("media", f"'{folder}' is not a folder")
    return {path.name: path.read_bytes for path in sorted(folder.iterdir()) if _is_visible_file(path)}


def _is_visible_file(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def _check(target: Target, rows: Sequence[ItemRow], files: Mapping[str, Opener], table: str | None) -> dict[str, str]:
    """Check the rows among themselves, against the files and against the project; return the file of each item."""
    faults = Faults()
    check_rows(rows, faults, table)
    media_of = preparing.match_files(rows, list(files), faults, table)
    for file in sorted(set(files) - set(media_of.values())):
        faults.add("media", f"the file '{file}' belongs to no row: name it in the column 'media'", file=file)
    faults.raise_any()
    stored = set(target.keys)
    for number, row in enumerate(rows, start=1):
        if row.key in stored:
            faults.add("key", f"the project already has an item '{row.key}'", row=number, file=table)
    faults.raise_any(Conflict)
    return media_of


def arrange(storage: Storage, target: Target, new: Sequence[str], features: Features | None) -> Array | None:
    """Return the features of all items, old and new, in their order; None if the project stays without."""
    before = target.features
    if features is None:
        if before is not None:
            detail = f"'{target.key}' has features of {before.n} items: send those of the new items in the same request"
            raise Conflict(f"{detail}, as a file in the field 'features'.")
        return None
    covers_new_only = before is not None and 0 < len(features.values) == len(new)
    if before is None or not covers_new_only:
        return _with_rows_of_deleted(target, features, new)
    added = in_item_order(features, new)
    if added.shape[1] != before.d:
        detail = f"{added.shape[1]} numbers for each new item, but the existing items have {before.d}"
        raise fail("features", detail, file=features.file)
    return np.concatenate([storage.memory_map(before.blob), added])


def _with_rows_of_deleted(target: Target, features: Features, new: Sequence[str]) -> Array:
    """Return the rows in the order of the items; those of deleted items, which nobody can send, are zeros."""
    stay = [position not in target.deleted for position in range(target.count)] + [True] * len(new)
    keys = [key for key, stays in zip([*target.keys, *new], stay, strict=True) if stays]
    ordered = in_item_order(features, keys)
    if len(keys) == len(stay):
        return ordered
    array: Array = np.zeros((len(stay), ordered.shape[1]), dtype=ordered.dtype)
    array[stay] = ordered
    return array


def _store_features(
    storage: Storage, folder: str, array: Array, features: Features | None, name: str
) -> StoredFeatures:
    blob = storage.put_content(f"{folder}/features", npy_bytes(array), ".npy")
    n, d = array.shape
    return StoredFeatures(name, n, d, blob, features.names if features else [])


def _write(
    database: Database,
    target: Target,
    rows: Sequence[ItemRow],
    media: dict[str, StoredMedia],
    features: StoredFeatures | None,
) -> Imported:
    with database.transaction() as session:
        project = lock_project(session, target.id)  # positions and versions are counted by one writer at a time
        if rows:
            service.add_items(session, project, rows, media, target.count)
        added = service.add_features(session, project, features) if features else None
    database.has_grown(len(rows), Item)
    return Imported(len(rows), added)
