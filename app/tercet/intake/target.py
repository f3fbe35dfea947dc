"""The project that items are imported into, as it was at the check, and its features together with new ones.

Once a project has uploaded features, every item must have them: new items need theirs, either as rows for the new
items only, which are added after the existing rows, or as rows for all items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import NotFound
from tercet.intake.faults import fail
from tercet.intake.feature_files import Array, Features, in_item_order
from tercet.items import queries
from tercet.models import FeatureSet, Project
from tercet.projects.queries import project_by_key
from tercet.storage import Storage

UNFEATURED = (
    "this project uses uploaded features: send those of the new items too, as .npy, .npz or .csv, "
    "or let Tercet make the features of all items first"
)


@dataclass(frozen=True)
class Target:
    """The project as it was when the import was checked."""

    id: int
    keys: list[str]  # of all items in order, deleted ones included, whose rows stay
    deleted: frozenset[int]  # positions
    features: FeatureSet | None

    @property
    def count(self) -> int:
        """The number of rows that features have, before new items come."""
        return len(self.keys)

    @property
    def has_uploaded_features(self) -> bool:
        """Whether its features were uploaded, so that Tercet cannot make rows for new items."""
        return self.features is not None and self.features.recipe is None


def find_target(database: Database, project: str) -> Target:
    """Return the project that the checks need, by its key."""
    with database.reading() as session:
        row = project_by_key(session, project)
        if row is None:
            raise NotFound(f"There is no project '{project}'.")
        return target_of(session, row)


def target_of(session: Session, project: Project) -> Target:
    """Return the project that the checks need, from a row of the session."""
    keys = queries.keys_in_order(session, project.id)
    deleted = frozenset(queries.deleted_positions(session, project.id))
    return Target(project.id, keys, deleted, queries.latest_features(session, project.id))


def arrange(storage: Storage, target: Target, new: Sequence[str], features: Features) -> Array:
    """Return the features of all items, old and new, in their order."""
    before = target.features
    if before is None or not 0 < len(features.values) == len(new):
        return _with_rows_of_deleted(target, features, new)
    added = in_item_order(features, new)
    if added.shape[1] != before.d:
        detail = f"{added.shape[1]} numbers for each new item, but the existing items have {before.d}"
        raise fail("features", detail, file=features.file)
    return np.concatenate([storage.memory_map(before.blob), added])


def _with_rows_of_deleted(target: Target, features: Features, new: Sequence[str]) -> Array:
    """Return the rows in the order of the items, with zeros for deleted items, which no file has rows for."""
    stay = [position not in target.deleted for position in range(target.count)] + [True] * len(new)
    keys = [key for key, stays in zip([*target.keys, *new], stay, strict=True) if stays]
    ordered = in_item_order(features, keys)
    if len(keys) == len(stay):
        return ordered
    array: Array = np.zeros((len(stay), ordered.shape[1]), dtype=ordered.dtype)
    array[stay] = ordered
    return array
