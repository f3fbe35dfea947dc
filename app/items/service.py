"""What happens to items: rows and features enter the database, already checked, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import insert
from sqlalchemy.orm import Session

from app import events
from app.clustering import schedule
from app.clustering.queries import lock_project
from app.errors import Conflict, FieldError
from app.items import queries
from app.items.tables import ItemRow
from app.models import Bag, FeatureSet, Item, Project

ROWS_AT_ONCE = 2_000


@dataclass(frozen=True)
class StoredMedia:
    """Storage keys of one item's media."""

    media_type: str
    media: str
    picture: str
    thumbnail: str


@dataclass(frozen=True)
class StoredFeatures:
    """A feature array that already lies in storage."""

    name: str
    n: int
    d: int
    blob: str
    columns: list[str]


def add_items(
    session: Session, project: Project, rows: Sequence[ItemRow], media: dict[str, StoredMedia], start: int
) -> None:
    """Add items behind the `start` that were there when the rows were checked."""
    if queries.item_count(session, project.id) != start:
        raise Conflict("Someone else added items at the same moment: send yours again.")
    bags = _bags(session, project.id, rows)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        batch = rows[first : first + ROWS_AT_ONCE]
        values = [
            _values(row, project.id, start + first + offset, bags, media.get(row.key))
            for offset, row in enumerate(batch)
        ]
        session.execute(insert(Item), values)
    events.record(session, project.id, ("project", {"changed": "items", "added": len(rows)}))


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
        "media_type": media.media_type if media else None,
        "media": media.media if media else None,
        "picture": media.picture if media else None,
        "thumbnail": media.thumbnail if media else None,
    }


def _bags(session: Session, project_id: int, rows: Sequence[ItemRow]) -> dict[str, Bag]:
    """Find or make the rows' bags; labels may be added to a bag that has none, never changed."""
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
    """Add the next version of the project's features and start a run on them, if clusters can be made."""
    if queries.item_count(session, project.id) != features.n:
        raise Conflict("Someone else added items at the same moment: send the features again, for all items.")
    latest = queries.latest_features(session, project.id)
    added = FeatureSet(
        project_id=project.id,
        version=latest.version + 1 if latest else 1,
        name=features.name,
        n=features.n,
        d=features.d,
        blob=features.blob,
        feature_names=features.columns,
    )
    session.add(added)
    session.flush()
    events.record(session, project.id, ("project", {"changed": "features", "version": added.version}))
    if project.parameters.get("n_clusters", project.n_clusters) <= features.n:
        schedule.request_run(session, project, reason="features")
    return added


def lock(session: Session, project_id: int) -> Project:
    """Lock the project, so that positions and versions are counted by one writer at a time."""
    return lock_project(session, project_id)
