"""Reads edits and their links."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from tercet.models import MOVING, Edit, Item, Link, User
from tercet.runs.results import Array

_MOVED = Edit.kind.in_(MOVING) & Edit.reverted_at.is_(None)


class PlacedLink(NamedTuple):
    """A link with the positions of its items, and the key of the first one."""

    edit_id: int
    item: int
    other: int
    alike: bool
    key: str


def page(session: Session, project_id: int, before: int | None, limit: int) -> list[tuple[Edit, str]]:
    """Return up to `limit` edits with who made them, newest first; only those before a number, if it is not None."""
    statement = select(Edit, User.name).join(User, User.id == Edit.by_id).where(Edit.project_id == project_id)
    if before is not None:
        statement = statement.where(Edit.id < before)
    return [(edit, name) for edit, name in session.execute(statement.order_by(Edit.id.desc()).limit(limit))]


def find(session: Session, project_id: int, number: int) -> tuple[Edit, str] | None:
    """Return an edit with who made it."""
    statement = select(Edit, User.name).join(User, User.id == Edit.by_id)
    row = session.execute(statement.where(Edit.project_id == project_id, Edit.id == number)).one_or_none()
    return None if row is None else (row[0], row[1])


def edited_since(session: Session, project_id: int, moment: datetime | None) -> Array:
    """Return the positions of the items that were moved, thrown out or split off since then, and not put back."""
    statement = select(Item.position).join(Link, Link.item_id == Item.id).join(Edit, Edit.id == Link.edit_id)
    statement = statement.where(Edit.project_id == project_id, _MOVED)
    if moment is not None:
        statement = statement.where(Edit.created_at >= moment)
    return np.array(sorted(set(session.scalars(statement))), dtype=np.int64)


def links_standing_in(session: Session, project_id: int, n_items: int) -> Array:
    """Return in how many links of items that were moved, thrown out or split off each item stands for a cluster."""
    statement = select(Item.position, func.count()).join(Link, Link.other_id == Item.id)
    statement = statement.join(Edit, Edit.id == Link.edit_id).where(Edit.project_id == project_id, _MOVED)
    statement = statement.where(Item.position < n_items).group_by(Item.position)
    counts = np.zeros(n_items, dtype=np.int64)
    for position, count in session.execute(statement):
        counts[position] = count
    return counts


def links(session: Session, edits: Sequence[Edit]) -> list[PlacedLink]:
    """Return the links of edits, in their order."""
    item, other = aliased(Item), aliased(Item)
    statement = (
        select(Link.edit_id, item.position, other.position, Link.alike, item.key)
        .join(item, item.id == Link.item_id)
        .join(other, other.id == Link.other_id)
        .where(Link.edit_id.in_([edit.id for edit in edits]))
        .order_by(Link.id)
    )
    return [PlacedLink._make(row) for row in session.execute(statement)]
