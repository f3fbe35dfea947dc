"""Rows of the triplet table by their content: found, or made where they are missing, many at a time."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.labeling.canonical import Ids
from app.models import Source, Triplet, now

CHUNK = 500


def find(session: Session, project_id: int, triplets: Sequence[Ids]) -> dict[Ids, int]:
    """Look canonical triplets up, locked so that a refill cannot delete them before this transaction ends."""
    found: dict[Ids, int] = {}
    for start in range(0, len(triplets), CHUNK):
        statement = (
            select(Triplet.anchor_id, Triplet.left_id, Triplet.right_id, Triplet.id)
            .where(
                Triplet.project_id == project_id,
                tuple_(Triplet.anchor_id, Triplet.left_id, Triplet.right_id).in_(triplets[start : start + CHUNK]),
            )
            .with_for_update(read=True, key_share=True)
        )
        found.update({(a, b, c): key for a, b, c, key in session.execute(statement)})
    return found


def find_or_make(session: Session, project_id: int, triplets: Iterable[Ids]) -> dict[Ids, int]:
    """Look canonical triplets up and add those that a client brings for the first time."""
    wanted = sorted(set(triplets))
    found = find(session, project_id, wanted)
    missing = [triplet for triplet in wanted if triplet not in found]
    if missing:
        insert_new(session, project_id, [(triplet, None, Source.CLIENT) for triplet in missing])
        found |= find(session, project_id, missing)
    return found


def insert_new(session: Session, project_id: int, rows: Iterable[tuple[Ids, float | None, str]]) -> int:
    """Add (triplet, priority, source) rows, leaving those that exist as they are; give how many are new."""
    dialect = session.get_bind().dialect.name
    statement = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(Triplet)
    # In one order for everybody: two transactions that add the same rows wait for each other, never in a ring.
    values: list[dict[str, Any]] = [
        {
            "project_id": project_id,
            "anchor_id": a,
            "left_id": b,
            "right_id": c,
            "priority": priority,
            "source": source,
            "created_at": now(),
        }
        for (a, b, c), priority, source in sorted(rows, key=lambda row: row[0])
    ]
    added = 0
    for start in range(0, len(values), CHUNK):
        chunk = values[start : start + CHUNK]
        statement_of_chunk = statement.values(chunk).on_conflict_do_nothing().returning(Triplet.id)
        added += len(session.execute(statement_of_chunk).all())
    return added
