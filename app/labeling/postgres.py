"""How PostgreSQL stores labelers' answers: in two journeys, the statements and the commit.

Each answer waits for a turn to write that ends with the commit before it. Sent one by one, its statements keep the
turn for seven journeys, and on a busy machine each of them waits twice for a processor. psycopg's pipeline sends
all at once; SQLAlchemy knows no pipelines, so that they are written for psycopg here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import psycopg as dialect
from sqlalchemy.exc import OperationalError

from app.clustering.schedule import STANDING, Standing
from app.labeling import statements
from app.models import now

if TYPE_CHECKING:
    from psycopg import Connection as Driver


class Row(NamedTuple):
    """An answer in canonical order, and the items that it is about."""

    id: UUID
    anchor_id: int
    left_id: int
    right_id: int
    labeler_id: int
    value: str
    response_ms: int | None


class Stored(NamedTuple):
    """The ids of the answers that were stored, and where the project stands with them."""

    ids: set[UUID]
    standing: Standing


# The triplets are locked so that a refill cannot delete them. What the parts of one statement count is what was
# there before all of them, so that the new answers to a triplet are added to those that it has.
STORE = """
WITH given AS (
    SELECT sent.*, (
        SELECT id FROM triplet
        WHERE project_id = %(project)s AND anchor_id = a AND left_id = b AND right_id = c
        FOR KEY SHARE
    ) AS triplet_id
    FROM unnest(
        %(ids)s::uuid[], %(anchors)s::int[], %(lefts)s::int[], %(rights)s::int[], %(labelers)s::int[],
        %(values)s::text[], %(response_ms)s::int[]
    ) WITH ORDINALITY AS sent (id, a, b, c, labeler_id, value, response_ms, place)
), fresh AS (
    INSERT INTO answer (id, project_id, number, triplet_id, labeler_id, value, response_ms, created_at)
    SELECT given.id, project.id, project.answer_number - %(count)s + given.place, given.triplet_id,
        given.labeler_id, given.value, given.response_ms, %(at)s
    FROM given JOIN project ON project.id = %(project)s
    WHERE given.triplet_id IS NOT NULL
    ON CONFLICT (id) DO NOTHING
    RETURNING id, triplet_id, labeler_id
), ended AS (
    DELETE FROM lease USING fresh WHERE (lease.triplet_id, lease.labeler_id) = (fresh.triplet_id, fresh.labeler_id)
), closed AS (
    UPDATE triplet SET priority = NULL
    FROM (SELECT triplet_id, count(*) AS answers FROM fresh GROUP BY triplet_id) AS new
    WHERE triplet.id = new.triplet_id AND priority IS NOT NULL AND %(redundancy)s <= new.answers + (
        SELECT count(*) FROM answer
        WHERE triplet_id = triplet.id AND withdrawn_at IS NULL AND set_aside_id IS NULL
    )
)
SELECT id FROM fresh
"""
_dialect = dialect.dialect()  # type: ignore[no-untyped-call]
_raise = statements.RAISE_ANSWER_NUMBER.compile(dialect=_dialect)
_standing = STANDING.compile(dialect=_dialect)


def store(connection: Connection, project_id: int, redundancy: int, rows: Sequence[Row]) -> Stored | None:
    """Number and add answers, end their leases and close their triplets.

    None, and no answer is stored, if not all of them are new answers to triplets that exist: then the caller stores
    them another way or undoes the transaction, as leases of new ones have ended.
    """
    ids, anchors, lefts, rights, labelers, values, response_ms = (list(column) for column in zip(*rows, strict=True))
    project = {"project": project_id, "count": len(rows)}
    given: dict[str, object] = {"ids": ids, "anchors": anchors, "lefts": lefts, "rights": rights}
    given |= {"labelers": labelers, "values": values, "response_ms": response_ms}
    given |= {"redundancy": redundancy, "at": now()}
    driver = cast("Driver[Any]", connection.connection.driver_connection)
    try:
        with driver.pipeline():
            driver.execute(str(_raise), _raise.construct_params(project))
            added = driver.execute(STORE, {**project, **given})
            stands = driver.execute(str(_standing), _standing.construct_params({"of_project": project_id}))
    except connection.dialect.loaded_dbapi.OperationalError as error:
        raise OperationalError(STORE, None, error) from error
    stored = {row[0] for row in added.fetchall()}
    if len(stored) < len(rows):
        connection.execute(statements.REMOVE_ANSWERS, {"ids": list(stored)})
        connection.execute(statements.RAISE_ANSWER_NUMBER, {"project": project_id, "count": -len(rows)})
        return None
    [standing] = stands.fetchall()
    return Stored(stored, Standing(*standing))
