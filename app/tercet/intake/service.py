"""Writes items, bags and features, already checked, to the database in one transaction."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import Conflict, FieldError
from tercet.intake.tables import ItemRow
from tercet.items import queries
from tercet.live import events
from tercet.models import Bag, FeatureSet, Item, Project
from tercet.runs import schedule
from tercet.storage import Storage

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class StoredMedia:
    """Storage keys of one item's media."""

    media_type: str
    media: str
    picture: str
    thumbnail: str
    seconds: float | None = None
    content_hash: str | None = None


@dataclass(frozen=True)
class Written:
    """What a transaction wrote: items added from a position on, and the former values of changed items.

    `replaced` are the keys of items whose media were changed.
    """

    added: int
    first_position: int
    before: list[dict[str, Any]]
    replaced: list[str]


@dataclass(frozen=True)
class StoredFeatures:
    """A feature array that is in storage already."""

    name: str
    n: int
    d: int
    blob: str
    feature_names: list[str]
    recipe: dict[str, Any] | None = None
    words: str = ""
    learned: str | None = None


def add_items(
    session: Session, project: Project, rows: Sequence[ItemRow], media: dict[str, StoredMedia], start: int
) -> None:
    """Add items after the `start` items that the project had when the rows were checked."""
    if queries.item_count(session, project.id) != start:
        raise Conflict("Somebody else added items at the same time: send yours again.")
    bags = bags_of(session, project.id, rows)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        batch = rows[first : first + ROWS_AT_ONCE]
        values = [
            _values(row, project.id, start + first + offset, bags, media.get(row.key))
            for offset, row in enumerate(batch)
        ]
        session.execute(insert(Item), values)
    events.record(session, project.id, ("project", {"changed": "items", "added": len(rows)}))


def write_items(
    session: Session, project: Project, rows: Sequence[ItemRow], media: dict[str, StoredMedia], start: int
) -> Written:
    """Add the new items, and change the existing ones by their rows; answers stay.

    An empty field of a row leaves the item's as it is; metadata are changed by name.
    """
    there = queries.ids_by_key(session, project.id, [row.key for row in rows])
    new = [row for row in rows if row.key not in there]
    if new:
        add_items(session, project, new, media, start)
    changes = [row for row in rows if row.key in there]
    before = _change_items(session, project, changes, there, media)
    if changes:
        events.record(session, project.id, ("project", {"changed": "items", "added": 0}))
    return Written(len(new), start, before, [row.key for row in changes if row.key in media])


def _change_items(
    session: Session, project: Project, rows: Sequence[ItemRow], ids: dict[str, int], media: dict[str, StoredMedia]
) -> list[dict[str, Any]]:
    bags = bags_of(session, project.id, rows)
    before = []
    for row in rows:
        item = session.get_one(Item, ids[row.key])
        changes: dict[str, Any] = {}
        if row.text and row.text != item.text:
            changes["text"] = row.text
        if row.bag and bags[row.bag].id != item.bag_id:
            changes["bag_id"] = bags[row.bag].id
        if row.details and row.details != {name: item.details.get(name) for name in row.details}:
            changes["details"] = {**item.details, **row.details}
        if row.key in media and media[row.key].content_hash != item.content_hash:
            changes |= _media_values(media[row.key])
        if changes:
            before.append({"id": item.id, **{name: getattr(item, name) for name in changes}})
            change_item(item, changes)
    session.flush()
    return before


def change_item(item: Item, values: dict[str, Any]) -> None:
    """Set values of an item."""
    for name, value in values.items():
        setattr(item, name, value)


def blobs_in_use(session: Session, project_id: int, blobs: Sequence[str]) -> set[str]:
    """Return those of the blobs that an item of the project refers to."""
    used: set[str] = set()
    for column in (Item.media, Item.picture, Item.thumbnail):
        for first in range(0, len(blobs), ROWS_AT_ONCE):
            of_project = select(column).where(Item.project_id == project_id)
            used |= set(session.scalars(of_project.where(column.in_(blobs[first : first + ROWS_AT_ONCE]))))
    return used


def remove_unused(database: Database, storage: Storage, project_id: int, blobs: Sequence[str]) -> None:
    """Delete those of the blobs of a project that no item refers to."""
    with database.reading() as session:
        unused = set(blobs) - blobs_in_use(session, project_id, blobs)
    for blob in unused:
        with suppress(OSError):  # this also runs after the storage has failed
            storage.delete(blob)


def _values(
    row: ItemRow, project_id: int, position: int, bags: dict[str, Bag], media: StoredMedia | None
) -> dict[str, object]:
    return {
        "project_id": project_id,
        "key": row.key,
        "position": position,
        "text": row.text,
        "bag_id": bags[row.bag].id if row.bag else None,
        "details": row.details,
        **_media_values(media),
    }


def _media_values(media: StoredMedia | None) -> dict[str, object]:
    return {
        "media_type": media.media_type if media else None,
        "media": media.media if media else None,
        "picture": media.picture if media else None,
        "thumbnail": media.thumbnail if media else None,
        "media_seconds": media.seconds if media else None,
        "content_hash": media.content_hash if media else None,
    }


def bags_of(session: Session, project_id: int, rows: Sequence[ItemRow]) -> dict[str, Bag]:
    """Return the rows' bags, creating new ones. A bag without labels may get some; labels are never changed."""
    bags = queries.bags_by_key(session, project_id)
    for number, row in enumerate(rows, start=1):
        if row.bag is None:
            continue
        bag = bags.get(row.bag)
        if bag is None:
            bag = bags[row.bag] = Bag(project_id=project_id, key=row.bag, labels=[])
            session.add(bag)
        if row.bag_labels and bag.labels and tuple(bag.labels) != row.bag_labels:
            detail = f"bag '{row.bag}' already has other labels: {';'.join(bag.labels)}"
            raise Conflict(f"Row {number}: {detail}.", [FieldError("bag_labels", detail, number)])
        bag.labels = list(row.bag_labels) or bag.labels
    session.flush()
    return bags


def add_features(session: Session, project: Project, features: StoredFeatures) -> FeatureSet:
    """Add the next version of the project's features, and request a run on them if there are items enough."""
    if queries.item_count(session, project.id) != features.n:
        raise Conflict("Somebody else added items at the same time: send the features again, for all items.")
    latest = queries.latest_features(session, project.id)
    added = FeatureSet(
        project_id=project.id,
        version=latest.version + 1 if latest else 1,
        **asdict(features),
    )
    session.add(added)
    session.flush()
    events.record(session, project.id, ("project", {"changed": "features", "version": added.version}))
    if project.parameters.get("n_clusters", project.n_clusters) <= queries.count_in_use(session, project.id):
        schedule.request_run(session, project, reason="features")
    return added
