"""Flags: labelers say which items are broken, and analysts read what they said.

A labeler who has flagged an item is not asked about it any more; everybody else is, until an analyst sets it aside.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.accounts.named_labelers import NamedLabeler
from tercet.errors import FieldError, Invalid, NotFound
from tercet.items.queries import ids_by_key
from tercet.labeling.schemas import FlaggedItem, FlaggedState, FlagIn, FlagOut, FlagSeen
from tercet.live import events
from tercet.models import Flag, FlagReason, Item, Lease, Project, Triplet, now
from tercet.translatable import to_translate

_IS_ASIDE = Item.set_aside_at.is_not(None)


def flag(session: Session, access: Access, body: FlagIn) -> FlagOut:
    """Store that an item is broken; another flag by the same labeler takes the place of the one before."""
    item_id = _item_id(session, access.project, body.item)
    about = {"project_id": access.project.id, "item_id": item_id, "labeler_id": access.user.id}
    content = {"reason": body.reason, "note": body.note.strip(), "created_at": now(), "dismissed_at": None}
    upsert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    statement = upsert(Flag).values(**about, **content)
    session.execute(statement.on_conflict_do_update(index_elements=["item_id", "labeler_id"], set_=content))
    leased = select(Triplet.id).where(_asks_about(item_id), Triplet.project_id == access.project.id)
    session.execute(delete(Lease).where(Lease.labeler_id == access.user.id, Lease.triplet_id.in_(leased)))
    events.record(session, access.project.id, ("project", {"changed": "flags"}))
    return FlagOut(item=body.item, reason=body.reason, note=content["note"], created_at=content["created_at"])


def take_back(session: Session, access: Access, key: str) -> FlagOut:
    """Delete the caller's flag of an item, and return it: they are asked about the item again."""
    item_id = ids_by_key(session, access.project.id, [key]).get(key, 0)
    stored = session.scalar(select(Flag).where(Flag.item_id == item_id, Flag.labeler_id == access.user.id))
    if stored is None:
        raise NotFound(to_translate("You have not flagged an item '%(key)s' in this project.", key=key))
    session.delete(stored)
    events.record(session, access.project.id, ("project", {"changed": "flags"}))
    return FlagOut(item=key, reason=FlagReason(stored.reason), note=stored.note, created_at=stored.created_at)


def flagged_by(session: Session, project_id: int, user_id: int) -> set[int]:
    """Return the ids of the items that a labeler has flagged."""
    return set(session.scalars(select(Flag.item_id).where(Flag.project_id == project_id, Flag.labeler_id == user_id)))


def count_open(session: Session, project_id: int) -> int:
    """Count the flagged items that no analyst has dealt with."""
    statement = select(func.count(Flag.item_id.distinct())).join(Item, Item.id == Flag.item_id)
    undecided = ~_IS_ASIDE & Flag.dismissed_at.is_(None)
    return session.scalar(statement.where(Flag.project_id == project_id, undecided)) or 0


def dismiss(session: Session, project: Project, key: str, *, dismissed: bool) -> None:
    """Say that an item is not broken, whatever was flagged so far, or take that back."""
    item_id = _item_id(session, project, key)
    moment = now() if dismissed else None
    changed = update(Flag).where(Flag.item_id == item_id).values(dismissed_at=moment).returning(Flag.id)
    if not session.scalars(changed).all():
        raise NotFound(f"Nobody has flagged the item '{key}'.")
    events.record(session, project.id, ("project", {"changed": "flags"}))


def page(session: Session, project: Project, state: FlaggedState, after: int, limit: int) -> list[FlaggedItem]:
    """Return up to `limit` flagged items of a state after a position, in their order, each with all its flags."""
    return _shown(session, project, select(Item).where(Item.position > after, *_in_state(state)), limit)


def decided(session: Session, project: Project, limit: int) -> list[FlaggedItem]:
    """Return up to `limit` flagged items that are set aside, or fine."""
    is_set_aside, is_dismissed = (and_(*_in_state(state)) for state in (FlaggedState.SET_ASIDE, FlaggedState.DISMISSED))
    return _shown(session, project, select(Item).where(is_set_aside | is_dismissed), limit)


def _shown(session: Session, project: Project, statement: Select[Any], limit: int) -> list[FlaggedItem]:
    flagged = select(Flag.item_id).where(Flag.project_id == project.id)
    statement = statement.where(Item.project_id == project.id, Item.id.in_(flagged))
    items = session.scalars(statement.order_by(Item.position).limit(limit)).all()
    flags = _flags(session, [item.id for item in items]) if items else {}
    return [FlaggedItem.of(project.key, item, **_said(item, flags[item.id])) for item in items]


def _said(item: Item, flags: Sequence[tuple[bool, FlagSeen]]) -> dict[str, Any]:
    """Return the state of an item, and its flags."""
    state = FlaggedState.OPEN if any(is_open for is_open, _ in flags) else FlaggedState.DISMISSED
    return {
        "state": state if item.set_aside_at is None else FlaggedState.SET_ASIDE,
        "flags": [seen for _, seen in flags],
    }


def _in_state(state: FlaggedState) -> list[ColumnElement[bool]]:
    """Return the condition of a state, for flagged items."""
    open_flags = exists().where(Flag.item_id == Item.id, Flag.dismissed_at.is_(None))
    match state:
        case FlaggedState.OPEN:
            return [~_IS_ASIDE, open_flags]
        case FlaggedState.DISMISSED:
            return [~_IS_ASIDE, ~open_flags]
        case FlaggedState.SET_ASIDE:
            return [_IS_ASIDE, Item.deleted_at.is_(None)]


def _flags(session: Session, item_ids: Sequence[int]) -> dict[int, list[tuple[bool, FlagSeen]]]:
    """Return the flags of items, each with whether it is open."""
    labeler = NamedLabeler()
    about = (Flag.item_id, Flag.dismissed_at.is_(None))
    statement: Any = select(*about, Flag.labeler_id, labeler.name, Flag.reason, Flag.note, Flag.created_at)
    statement = labeler.join(statement, Flag.labeler_id, Flag.project_id).where(Flag.item_id.in_(item_ids))
    flags: dict[int, list[tuple[bool, FlagSeen]]] = {item_id: [] for item_id in item_ids}
    for item_id, is_open, labeler_id, name, reason, note, created_at in session.execute(statement.order_by(Flag.id)):
        seen = FlagSeen(labeler=labeler_id, labeler_name=name, reason=reason, note=note, created_at=created_at)
        flags[item_id].append((is_open, seen))
    return flags


def _asks_about(item_id: int) -> ColumnElement[bool]:
    return or_(Triplet.anchor_id == item_id, Triplet.left_id == item_id, Triplet.right_id == item_id)


def _item_id(session: Session, project: Project, key: str) -> int:
    ids = ids_by_key(session, project.id, [key])
    if key not in ids:
        detail = to_translate("there is no item '%(key)s' in this project", key=key)
        raise Invalid(to_translate("There is no such item."), [FieldError("item", detail)])
    return ids[key]
