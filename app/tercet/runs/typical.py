"""Reads which items analysts call typical: they stand for their clusters on pages, in edits and in questions."""

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import MOVING, Edit, EditKind, Item, Link
from tercet.runs.results import Array


def typical_items(session: Session, project_id: int) -> Array:
    """Return the positions of the items that are called typical and were not put elsewhere since, the newest first."""
    counts = (Edit.project_id == project_id) & Edit.reverted_at.is_(None)
    called = select(Link.item_id).join(Edit, Edit.id == Link.edit_id).where(counts, Edit.kind == EditKind.TYPICAL)
    statement = (
        select(Edit.id, Edit.kind, Item.position)
        .join(Link, Link.edit_id == Edit.id)
        .join(Item, Item.id == Link.item_id)
        .where(counts, Edit.kind.in_((EditKind.TYPICAL, *MOVING)), Link.item_id.in_(called))
        .distinct()
        .order_by(Edit.id, Item.position)
    )
    newest: dict[int, str] = {}
    for _, kind, position in session.execute(statement):
        newest.pop(position, None)
        newest[position] = kind
    return np.array([place for place, kind in newest.items() if kind == EditKind.TYPICAL][::-1], dtype=np.int64)
