"""Changes, sets aside, puts back and deletes single items.

An item that is set aside stays stored, with its answers, but is in no question, fit or list. A deleted item is set
aside for good: its row stays too, because stored features and results are by position, but it loses its media and its
key, which another item may have then.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from tercet.audit import chain
from tercet.errors import NotFound
from tercet.intake import queries, service
from tercet.intake.faults import Faults
from tercet.intake.tables import ItemRow, check_rows
from tercet.items import queries as items
from tercet.items.schemas import ItemOut
from tercet.jobs import lifecycle
from tercet.jobs import queries as jobs
from tercet.live import events
from tercet.models import Bag, Item, JobKind, JobStatus, Project, Tag, Triplet, now
from tercet.runs import schedule
from tercet.runs.queries import lock_project
from tercet.web.entity_tags import check_unchanged, entity_tag

# Begins the keys of deleted items. No item can have such a key, since names must not hold control characters.
RELEASED = "\x7f"
CHUNK = 5_000


def find(session: Session, project: Project, key: str) -> Item:
    """Return an item; raise NotFound if there is none of that key."""
    item = items.item_by_key(session, project.id, key)
    if item is None:
        raise NotFound(f"There is no item '{key}' in project '{project.key}'.")
    return item


def item_out(session: Session, project: Project, item: Item) -> ItemOut:
    """Show an item with the key of its bag and its tags."""
    bag = None if item.bag_id is None else session.get_one(Bag, item.bag_id).key
    tags = items.tags_by_position(session, project.id, [item.position])
    return ItemOut.of_item(project.key, item, bag, tags)


def change(
    session: Session, project: Project, key: str, changes: dict[str, Any], user_id: int, if_match: str | None = None
) -> Item:
    """Change those fields of an item that were sent; raise ChangedSince if `if_match` is not its entity tag."""
    lock_project(session, project.id)
    item = find(session, project, key)
    check_unchanged(if_match, entity_tag(item_out(session, project, item)))
    _change_content(session, project, item, changes)
    if "set_aside" in changes and changes["set_aside"] != (item.set_aside_at is not None):
        item.set_aside_at = now() if changes["set_aside"] else None
        session.flush()
        _after_setting_aside(session, project, [item.id])
    if changes.keys() & {"text", "metadata"}:
        _remake_features(session, project, user_id)
    events.record(session, project.id, ("project", {"changed": "items", "added": 0}))
    return item


def _change_content(session: Session, project: Project, item: Item, changes: dict[str, Any]) -> None:
    merged = {**item.details, **changes.get("metadata", {})}
    details = {name: value for name, value in merged.items() if value is not None}
    row = ItemRow(item.key, changes.get("text", item.text), changes.get("bag"), details=details)
    faults = Faults()
    check_rows([row], faults, None)
    faults.raise_any()
    item.text, item.details = row.text, details
    if "bag" in changes:
        item.bag_id = None if row.bag is None else service.bags_of(session, project.id, [row])[row.bag].id
    session.flush()


def remove(session: Session, project: Project, key: str) -> list[str] | None:
    """Delete an item and return its blobs; set it aside and return None where it has answers."""
    lock_project(session, project.id)
    item = find(session, project, key)
    if queries.answers_about(session, [item.id]):
        change(session, project, key, {"set_aside": True}, 0)
        chain.record(session, "item set aside", project=project, before={"item": key})
        return None
    chain.record(session, "item deleted", project=project, before={"item": key})
    return delete_items(session, project, [item])


def delete_items(session: Session, project: Project, doomed: Sequence[Item]) -> list[str]:
    """Delete items without answers; return their blobs, which other items may use too."""
    blobs = [blob for item in doomed for blob in (item.media, item.picture, item.thumbnail) if blob]
    ids = [item.id for item in doomed]
    for start in range(0, len(ids), CHUNK):
        session.execute(delete(Triplet).where(_about(ids[start : start + CHUNK])))
        session.execute(delete(Tag).where(Tag.item_id.in_(ids[start : start + CHUNK])))
    for item in doomed:
        item.key, item.text, item.details, item.bag_id = f"{RELEASED}{item.id}", "", {}, None
        item.media = item.picture = item.thumbnail = item.media_type = None
        item.content_hash = item.media_seconds = None
        item.deleted_at = now()
        item.set_aside_at = item.set_aside_at or item.deleted_at
    session.flush()
    _after_setting_aside(session, project, ids)
    events.record(session, project.id, ("project", {"changed": "items", "added": -len(ids)}))
    return blobs


def _about(ids: Sequence[int]) -> Any:
    return or_(Triplet.anchor_id.in_(ids), Triplet.left_id.in_(ids), Triplet.right_id.in_(ids))


def _after_setting_aside(session: Session, project: Project, ids: Sequence[int]) -> None:
    """Take questions about items that are set aside out of the queue, and request a run on the other items."""
    aside = select(Item.id).where(Item.project_id == project.id, Item.set_aside_at.is_not(None))
    for start in range(0, len(ids), CHUNK):
        chunk = list(session.scalars(aside.where(Item.id.in_(ids[start : start + CHUNK]))))
        queued = update(Triplet).where(_about(chunk), Triplet.priority.is_not(None))
        session.execute(queued.values(priority=None).execution_options(synchronize_session=False))
    n_clusters = project.parameters.get("n_clusters", project.n_clusters)
    if items.latest_features(session, project.id) and n_clusters <= items.count_in_use(session, project.id):
        schedule.request_run(session, project, reason="items")


def _remake_features(session: Session, project: Project, user_id: int) -> None:
    """Queue the job that makes features again, if Tercet made them and no such job waits already."""
    latest = items.latest_features(session, project.id)
    waiting = [
        job for job in jobs.unfinished(session, project.id, JobKind.MAKE_FEATURES) if job.status == JobStatus.QUEUED
    ]
    if latest is not None and latest.recipe is not None and not waiting:
        lifecycle.queue(session, project.id, JobKind.MAKE_FEATURES, user_id=user_id)
