"""Makes the features of a project's items by its recipe, the chosen or the default one; a run on them follows."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import Conflict, FieldError, Invalid
from tercet.features import recipes
from tercet.features.computing import FeatureTable, compute
from tercet.features.inputs import FeatureInput
from tercet.features.media import Remark
from tercet.features.recipes import GroupSettings, Recipe
from tercet.intake import service
from tercet.intake.service import StoredFeatures
from tercet.intake.work import Progress, Work, part
from tercet.items import queries
from tercet.jobs import lifecycle
from tercet.jobs import queries as jobs
from tercet.models import FeatureSet, Item, JobKind, JobStatus, Project, User
from tercet.projects.service import blob_folder
from tercet.runs.queries import lock_project
from tercet.storage import Storage
from tercet.web.zip_stream import npy_bytes, npz_bytes

# Items may be added while features are made, which then have to be made again: at most this many times.
ATTEMPTS = 5
MOST_NAMED = 3
AVERAGE = "; its features are those of the average item"
GROUP, WEIGHT, NUMBERS = "group.", "weight.", "numbers."
USUAL = "usual"  # the button of the form for the default recipe


@dataclass(frozen=True)
class ItemsToMeasure:
    """The items of a project that are not deleted, and the number of positions, deleted items included."""

    project: Project
    count: int
    items: list[Item] = field(default_factory=list)
    features: FeatureSet | None = None  # those that the project has


def make_features(work: Work) -> None:
    """Make the features of all items of the job's project."""
    make(work.database, work.storage, work.job.project_id, work)


def make(database: Database, storage: Storage, project_id: int, progress: Progress) -> FeatureSet | None:
    """Make the features of all items by the project's recipe, store them as a version, and request a run on them."""
    for _ in range(ATTEMPTS):
        with database.reading() as session:
            batch = _items(session, project_id)
        stored = _compute(storage, batch, part(progress, 0.0, 0.95)) if batch.items else None
        with database.transaction() as session:
            project = lock_project(session, project_id)
            if queries.item_count(session, project_id) != batch.count:
                continue  # items were added in the meantime
            if stored is None:
                progress.finish(session, "There are no items to make features of")
                return None
            added = service.add_features(session, project, stored)
            progress.finish(session, stored.words)
            return added
    raise Conflict("Items were added all the time while features were made: make them again when all are there.")


def _items(session: Session, project_id: int) -> ItemsToMeasure:
    of_project = select(Item).where(Item.project_id == project_id, Item.deleted_at.is_(None))
    items = list(session.scalars(of_project.order_by(Item.position)))
    project, count = session.get_one(Project, project_id), queries.item_count(session, project_id)
    return ItemsToMeasure(project, count, items, queries.latest_features(session, project_id))


def _compute(storage: Storage, batch: ItemsToMeasure, report: Any) -> StoredFeatures:
    with tempfile.TemporaryDirectory(prefix="tercet-features-") as folder:
        inputs = []
        for number, item in enumerate(batch.items, start=1):
            report(0.0, f"Fetching {number:,} of {len(batch.items):,} items")
            inputs.append(_input(storage, item, Path(folder)))
        recipe, n_clusters = _recipe(batch.project), None
        if recipe is None:
            recipe, n_clusters = _default_recipe(batch, inputs), batch.project.n_clusters
        table = compute(recipe, inputs, _sound_range(batch.project), report, n_clusters)
    values = _by_position(table, batch)
    folder = f"{blob_folder(batch.project.id)}/features"
    blob = storage.put_content(folder, npy_bytes(values), ".npy")
    learned = storage.put_content(folder, npz_bytes(table.fitted.arrays()), ".npz")
    n, d = values.shape
    words = table.words + _average_items(table.faults)
    settled = {**table.fitted.recipe.as_dict(), "group_of_column": table.groups}
    return StoredFeatures("features", n, d, blob, table.names, settled, words, learned)


def _average_items(faults: Sequence[Remark]) -> str:
    """Return a clause that names items which could not be measured fully, with the reason for the first one."""
    keys = list(dict.fromkeys(fault.key for fault in faults))
    if not keys:
        return ""
    first = ", ".join(f"'{key}'" for key in keys[:MOST_NAMED]) + (" and others" if len(keys) > MOST_NAMED else "")
    sentence = faults[0].detail + ("" if faults[0].is_measured else AVERAGE)
    count = "1 item" if len(keys) == 1 else f"{len(keys):,} items"
    return f"; {count} could not be measured fully ({first}; the first one: {sentence})"


def _by_position(table: FeatureTable, batch: ItemsToMeasure) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a row for every position, zeros for deleted items, which no run uses."""
    values = np.zeros((batch.count, table.values.shape[1]), dtype=np.float32)
    values[[item.position for item in batch.items]] = table.values
    return values


def _input(storage: Storage, item: Item, folder: Path) -> FeatureInput:
    """Return an item in the form that features are computed from; media in a bucket are fetched first."""
    path = None
    if item.media:
        path = storage.local_path(item.media)
        if path is None:
            path = folder / f"{item.position}{Path(item.media).suffix}"
            path.write_bytes(storage.get(item.media))
    return FeatureInput(item.key, item.text, item.details, item.media_type, path)


def _recipe(project: Project) -> Recipe | None:
    return None if project.feature_recipe is None else Recipe.from_dict(project.feature_recipe)


def _default_recipe(batch: ItemsToMeasure, inputs: list[FeatureInput]) -> Recipe:
    """Return the default recipe, with the weights of the present features: a few more items seldom change them."""
    recipe = recipes.default_recipe(inputs)
    before = batch.features.recipe if batch.features else None
    return next((choice for choice in recipes.weightings(recipe) if before and _is_of(before, choice)), recipe)


def _is_of(features: dict[str, Any], recipe: Recipe) -> bool:
    return bool(features["groups"] == recipe.as_dict()["groups"])


def _sound_range(project: Project) -> tuple[float, float] | None:
    """Return the lowest and highest frequency that the project's pictures show, if they are set."""
    settings = project.picture_settings or {}
    low, high = settings.get("low_hz"), settings.get("high_hz")
    return None if low is None or high is None else (float(low), float(high))


def read_form(project: Project, fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the recipe of a form, None for the default one; without fields of a recipe, the project's."""
    if USUAL in fields:
        return None
    if not any(name.startswith(WEIGHT) for name in fields):
        return project.feature_recipe
    kinds = [name.removeprefix(GROUP) for name in fields if name.startswith(GROUP)]
    return read_groups(
        [
            {"kind": kind, "numbers": fields.get(NUMBERS + kind, "0"), "weight": fields.get(WEIGHT + kind, "1")}
            for kind in kinds
        ]
    )


def read_groups(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a recipe as a project stores it; raise Invalid with a sentence if it is not a valid one."""
    try:
        settings = [GroupSettings(str(g["kind"]), int(g["numbers"]), float(g["weight"])) for g in groups]
        return Recipe(tuple(settings)).as_dict()
    except ValueError as error:
        raise Invalid(f"Nothing was changed: {error}.", [FieldError("groups", str(error))]) from error


def choose(session: Session, project: Project, recipe: dict[str, Any] | None, user: User) -> None:
    """Store a recipe, None for the default one, and queue the job that makes features by it."""
    project.feature_recipe = recipe
    waiting = jobs.unfinished(session, project.id, JobKind.MAKE_FEATURES)
    # A job that is running has read the recipe before, so only a waiting one will do.
    if not any(job.status == JobStatus.QUEUED for job in waiting):
        lifecycle.queue(session, project.id, JobKind.MAKE_FEATURES, user_id=user.id)
