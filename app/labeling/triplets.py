"""Rows of the triplet table by their content: found, or made where they are missing, many at a time."""

import json
from collections.abc import Collection, Iterable, Sequence

from sqlalchemy.orm import Session

from app.labeling import statements
from app.labeling.canonical import Ids
from app.models import Source, now

CHUNK = 500


def find(session: Session, project_id: int, triplets: Sequence[Ids]) -> dict[Ids, int]:
    """Look canonical triplets up, locked so that a refill cannot delete them before this transaction ends."""
    found: dict[Ids, int] = {}
    for start in range(0, len(triplets), CHUNK):
        wanted = {"project": project_id, "triplets": triplets[start : start + CHUNK]}
        rows = session.connection().execute(statements.FIND_TRIPLETS, wanted)
        found.update({(a, b, c): key for a, b, c, key in rows})
    return found


def make(session: Session, project_id: int, triplets: Collection[Ids]) -> dict[Ids, int]:
    """Add canonical triplets that a client brings for the first time, unless somebody else just did."""
    insert_new(session, project_id, [(triplet, None, Source.CLIENT) for triplet in triplets])
    return find(session, project_id, list(triplets))


def insert_new(session: Session, project_id: int, rows: Iterable[tuple[Ids, float | None, str]]) -> None:
    """Add (triplet, priority, source) rows, leaving those that exist as they are."""
    # In one order for everybody: two transactions that add the same rows wait for each other, never in a ring.
    given = [(*triplet, priority, source) for triplet, priority, source in sorted(rows, key=lambda row: row[0])]
    if given:
        connection = session.connection()
        statement = statements.ADD_NEW_TRIPLETS[connection.dialect.name]
        connection.execute(statement, {"project": project_id, "rows": json.dumps(given), "at": now()})
