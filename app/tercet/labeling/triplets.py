"""Rows of the triplet table by their items: looked up, or added where they are missing, many at a time."""

import json
from collections.abc import Collection, Iterable, Sequence

from sqlalchemy.orm import Session

from tercet.labeling.canonical import Ids
from tercet.labeling.sql import statements
from tercet.models import Source, now

CHUNK = 500


def find(session: Session, project_id: int, triplets: Sequence[Ids]) -> dict[Ids, int]:
    """Look canonical triplets up, locked so that a refill cannot delete them before this transaction ends."""
    stored: dict[Ids, int] = {}
    for start in range(0, len(triplets), CHUNK):
        parameters = {"project": project_id, "triplets": triplets[start : start + CHUNK]}
        rows = session.connection().execute(statements.FIND_TRIPLETS, parameters)
        stored.update({(a, b, c): triplet_id for a, b, c, triplet_id in rows})
    return stored


def make(session: Session, project_id: int, triplets: Collection[Ids]) -> dict[Ids, int]:
    """Add those canonical triplets that a client is the first to name, and return the numbers of all."""
    insert_new(session, project_id, [(triplet, None, Source.CLIENT) for triplet in triplets])
    return find(session, project_id, list(triplets))


def insert_new(session: Session, project_id: int, rows: Iterable[tuple[Ids, float | None, str]]) -> None:
    """Add (triplet, priority, source) rows, leaving those that exist as they are."""
    # In one order for everybody: two transactions that add the same rows wait for each other, never in a ring.
    values = [(*triplet, priority, source) for triplet, priority, source in sorted(rows, key=lambda row: row[0])]
    if values:
        connection = session.connection()
        statement = statements.ADD_NEW_TRIPLETS[connection.dialect.name]
        connection.execute(statement, {"project": project_id, "triplets": json.dumps(values), "at": now()})
