"""Looks up and adds rows of the triplet table by their items, many at a time."""

import json
from collections.abc import Collection, Iterable, Sequence

from sqlalchemy.orm import Session

from tercet.labeling.canonical import Ids
from tercet.labeling.sql import statements
from tercet.models import Source, now


def find(session: Session, project_id: int, triplets: Sequence[Ids]) -> dict[Ids, int]:
    """Return the ids of stored canonical triplets, locked so that no refill deletes them in this transaction's time."""
    connection = session.connection()
    parameters = {"project": project_id, "triplets": json.dumps(triplets)}
    rows = connection.execute(statements.FIND_TRIPLETS[connection.dialect.name], parameters)
    return {(a, b, c): triplet_id for a, b, c, triplet_id in rows if triplet_id is not None}


def make(session: Session, project_id: int, triplets: Collection[Ids]) -> dict[Ids, int]:
    """Return the ids of canonical triplets that a client sent; add those that are not stored yet."""
    insert_new(session, project_id, [(triplet, None, Source.CLIENT) for triplet in triplets])
    return find(session, project_id, list(triplets))


def insert_new(session: Session, project_id: int, rows: Iterable[tuple[Ids, float | None, str]]) -> None:
    """Add (triplet, priority, source) rows, leaving those that exist as they are."""
    # In one order for all transactions: those that add the same rows cannot deadlock.
    values = [(*triplet, priority, source) for triplet, priority, source in sorted(rows, key=lambda row: row[0])]
    if values:
        connection = session.connection()
        statement = statements.ADD_NEW_TRIPLETS[connection.dialect.name]
        connection.execute(statement, {"project": project_id, "triplets": json.dumps(values), "at": now()})
