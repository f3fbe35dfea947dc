"""Puts tags on items and takes them off, and counts them."""

from collections.abc import Collection

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.errors import FieldError, Invalid
from tercet.items.queries import ids_by_key
from tercet.live import events
from tercet.models import Item, Tag
from tercet.runs.queries import lock_project
from tercet.tags.schemas import TagChange, TagChanged, TagCount

CHUNK = 5_000


def change(session: Session, access: Access, body: TagChange) -> TagChanged:
    """Put a tag on items and take it off others; what has happened already is no fault."""
    project = lock_project(session, access.project.id)
    ids = ids_by_key(session, project.id, {*body.add, *body.remove})
    _check(body, ids)
    tagged = _tagged(session, body.tag, ids.values())
    added = [key for key in dict.fromkeys(body.add) if ids[key] not in tagged]
    removed = [key for key in dict.fromkeys(body.remove) if ids[key] in tagged]
    if added:
        rows = [{"project_id": project.id, "item_id": ids[key], "name": body.tag} for key in added]
        session.execute(insert(Tag), rows)
    for start in range(0, len(removed), CHUNK):
        chunk = [ids[key] for key in removed[start : start + CHUNK]]
        session.execute(delete(Tag).where(Tag.name == body.tag, Tag.item_id.in_(chunk)))
    if added or removed:
        events.record(session, project.id, ("project", {"changed": "tags"}))
    return TagChanged(tag=body.tag, added=added, removed=removed)


def counts(session: Session, project_id: int) -> list[TagCount]:
    """Return the tags of the items in use, by name, with the number of items."""
    statement = select(Tag.name.label("tag"), func.count().label("items")).join(Item, Item.id == Tag.item_id)
    in_use = (Tag.project_id == project_id) & Item.set_aside_at.is_(None)
    rows = session.execute(statement.where(in_use).group_by(Tag.name))
    return sorted((TagCount.model_validate(row) for row in rows), key=lambda count: count.tag)


def _tagged(session: Session, name: str, item_ids: Collection[int]) -> set[int]:
    """Return which of the items have a tag."""
    ids = sorted(item_ids)
    chunks = (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
    return {
        item_id
        for chunk in chunks
        for item_id in session.scalars(select(Tag.item_id).where(Tag.name == name, Tag.item_id.in_(chunk)))
    }


def _check(body: TagChange, ids: Collection[str]) -> None:
    errors = [
        FieldError(field, f"there is no item '{key}' in this project", row)
        for field in ("add", "remove")
        for row, key in enumerate(getattr(body, field), 1)
        if key not in ids
    ]
    both = set(body.add) & set(body.remove)
    errors += [FieldError("remove", f"'{key}' is in add, too") for key in sorted(both)]
    if errors:
        raise Invalid("Nothing was changed.", errors[:100])
