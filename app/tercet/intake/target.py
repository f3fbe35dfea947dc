"""The project that items go into, as it was when they were checked, and its features with those that come along.

Once a project has features that somebody uploaded, every item has them: new items come with theirs, either rows for
the new items only, which are put below the existing ones, or rows for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.intake.faults import fail
from tercet.intake.feature_files import Array, Features, in_item_order
from tercet.items import queries
from tercet.models import FeatureSet, Project
from tercet.projects.queries import project_by_key
from tercet.storage import Storage
from tercet.web.errors import NotFound

UNFEATURED = (
    "this project uses features that were uploaded: bring those of the new items along as .npy, .npz or .csv, "
    "or let Tercet make the features of all items first"
)


@dataclass(frozen=True)
class Target:
    """The project as it was when the import was checked."""

    id: int
    keys: list[str]  # of all items in order, of the deleted ones too, whose rows stay
    deleted: frozenset[int]  # positions
    features: FeatureSet | None

    @property
    def count(self) -> int:
        """The number of rows that features have, before new items come."""
        return len(self.keys)

    @property
    def has_uploaded_features(self) -> bool:
        """Whether its features are an array of somebody's own, of which Tercet cannot make more rows."""
        return self.features is not None and self.features.recipe is None


def find_target(database: Database, project: str) -> Target:
    """Return what the checks need to know of the project."""
    with database.reading() as session:
        row = project_by_key(session, project)
        if row is None:
            raise NotFound(f"There is no project '{project}'.")
        return target_of(session, row)


def target_of(session: Session, project: Project) -> Target:
    """Return what the checks need to know of a project that the session has read."""
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
    """Return the rows in the order of the items; those of deleted items, which nobody can send, are zeros."""
    stay = [position not in target.deleted for position in range(target.count)] + [True] * len(new)
    keys = [key for key, stays in zip([*target.keys, *new], stay, strict=True) if stays]
    ordered = in_item_order(features, keys)
    if len(keys) == len(stay):
        return ordered
    array: Array = np.zeros((len(stay), ordered.shape[1]), dtype=ordered.dtype)
    array[stay] = ordered
    return array
