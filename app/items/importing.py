"""Items, media and features from files into a project, for the REST API and the command line alike.

Everything is read and checked before anything is stored. Blobs go to storage first, under names made from
their content; then one short transaction makes them visible.

Once a project has features, every item has them: new items come with theirs, either rows for the new items
only, which are put below the existing ones, or rows for all. So a run never meets an item without features.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.database import Database
from app.errors import Conflict, NotFound
from app.items import preparing, queries, service
from app.items.faults import Faults, fail
from app.items.features import Array, Features, in_item_order, npy_bytes, read_features
from app.items.preparing import Opener
from app.items.service import StoredFeatures, StoredMedia
from app.items.tables import ItemRow, check_rows, read_table
from app.models import FeatureSet, Item
from app.projects.queries import project_by_key
from app.projects.service import blob_folder
from app.storage import Storage


@dataclass(frozen=True)
class Target:
    """The project as it was when the import was checked."""

    id: int
    key: str
    keys: list[str]
    features: FeatureSet | None


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
        mine = set(preparing.match_files(rows, list(files), Faults()).values())
        files = {file: opener for file, opener in files.items() if file in mine}
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
    array = _arrange(storage, target, [row.key for row in rows], features)
    folder = blob_folder(target.id)
    with preparing.prepared(media_of, files) as ready:
        media = {key: preparing.store(storage, folder, one) for key, one in ready.items()}
    stored = None if array is None else _store_features(storage, folder, array, features, name)
    return _write(database, target, rows, media, stored)


def find_target(database: Database, project: str) -> Target:
    """Read what the checks need to know of the project."""
    with database.reading() as session:
        found = project_by_key(session, project)
        if found is None:
            raise NotFound(f"There is no project '{project}'.")
        keys = queries.keys_in_order(session, found.id)
        return Target(found.id, found.key, keys, queries.latest_features(session, found.id))


def files_in(folder: Path) -> dict[str, Opener]:
    """Give the files of a folder, by name; hidden ones are left out."""
    if not folder.is_dir():
        raise fail("media", f"'{folder}' is not a folder")
    return {path.name: path.read_bytes for path in sorted(folder.iterdir()) if _is_visible_file(path)}


def _is_visible_file(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def _check(target: Target, rows: Sequence[ItemRow], files: Mapping[str, Opener], table: str | None) -> dict[str, str]:
    """Check the rows among themselves, against the files and against the project; give each item's file."""
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


def _arrange(storage: Storage, target: Target, new: Sequence[str], features: Features | None) -> Array | None:
    """Give the features of all items, old and new, in their order; None if the project stays without."""
    before = target.features
    if features is None:
        if before is not None:
            detail = (
                f"'{target.key}' has features of {before.n} items: send those of the new items in the same request"
            )
            raise Conflict(f"{detail}, as a file in the field 'features'.")
        return None
    covers_new_only = before is not None and 0 < len(features.values) == len(new)
    if before is None or not covers_new_only:
        return in_item_order(features, [*target.keys, *new])
    added = in_item_order(features, new)
    if added.shape[1] != before.d:
        detail = f"{added.shape[1]} numbers for each new item, but the existing items have {before.d}"
        raise fail("features", detail, file=features.file)
    return np.concatenate([storage.memory_map(before.blob), added])


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
        project = service.lock(session, target.id)
        if rows:
            service.add_items(session, project, rows, media, len(target.keys))
        added = service.add_features(session, project, features) if features else None
    database.has_grown(len(rows), Item)
    return Imported(len(rows), added)
