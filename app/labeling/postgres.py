"""How PostgreSQL stores labelers' answers: in three journeys, what is looked up, the statements and the commit.

Answers wait for the turn to write of those before them. Sent one by one, the statements of a turn take nine journeys,
and on a busy machine each of them waits twice for a processor. psycopg's pipeline sends several at once; SQLAlchemy
knows no pipelines, so that they are written for psycopg here.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import Connection, Integer, String, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import psycopg as dialect
from sqlalchemy.exc import OperationalError

from app.accounts.access import Found, users_in_project
from app.clustering.schedule import STANDING, Standing
from app.labeling import statements
from app.labeling.queries import Progress
from app.models import Item, Project, User, now

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
    """The ids of the answers that were stored, and where the project and its labelers stand with them."""

    ids: set[UUID]
    standing: Standing
    progress: list[Progress]


# The triplets are locked so that a refill cannot delete them. What the parts of one statement count is what was
# there before all of them, so that the new answers to a triplet are added to those that it has. The answers come as
# JSON for the reason for which other lists do (`statements.listed`).
STORE = """
WITH given AS (
    SELECT sent.*, (
        SELECT id FROM triplet
        WHERE project_id = %(project)s
            AND (triplet.anchor_id, triplet.left_id, triplet.right_id) = (sent.anchor_id, sent.left_id, sent.right_id)
        FOR KEY SHARE
    ) AS triplet_id
    FROM json_to_recordset(%(answers)s::json) AS sent (
        place int, id uuid, anchor_id int, left_id int, right_id int, labeler_id int, value text, response_ms int
    )
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
_progress = statements.PROGRESS["postgresql"].compile(dialect=_dialect)
_people = users_in_project(User.id.in_(statements.listed(_dialect.name, "users", Integer))).compile(dialect=_dialect)
# An array, planned for each time, but by the index: in JSON it expects a hundred keys, and reads all items.
_items = (
    select(Item.key, Item.id)
    .join(Project, Project.id == Item.project_id)
    .where(Project.key == bindparam("key"), Item.key == func.any(bindparam("keys", type_=ARRAY(String))))
    .compile(dialect=_dialect)
)


def look_up(
    connection: Connection, project_key: str, user_ids: Collection[int], keys: Collection[str]
) -> tuple[dict[int, Found], dict[str, int]]:
    """Give who the users are in the project, and the ids of those of its items with the keys that exist."""
    driver = cast("Driver[Any]", connection.connection.driver_connection)
    askable = [key for key in keys if "\0" not in key]
    with _sending(connection):
        people = driver.execute(str(_people), {"key": project_key, "users": json.dumps(list(user_ids))})
        items = driver.execute(str(_items), {"key": project_key, "keys": askable})
    found = [Found.in_row(row) for row in people.fetchall()]
    return {one.user.id: one for one in found}, dict(items.fetchall())


def store(
    connection: Connection, project_id: int, redundancy: int, rows: Sequence[Row], progress: dict[str, object]
) -> Stored | None:
    """Number and add answers, end their leases and close their triplets; ask for progress with the parameters given.

    None, and no answer is stored, if not all of them are new answers to triplets that exist: then the caller stores
    them another way or undoes the transaction, as leases of new ones have ended.
    """
    answers = [{"place": place, **row._asdict()} for place, row in enumerate(rows, 1)]
    project = {"project": project_id, "count": len(rows)}
    given = {"answers": json.dumps(answers, default=str), "redundancy": redundancy, "at": now()}
    driver = cast("Driver[Any]", connection.connection.driver_connection)
    with _sending(connection):
        driver.execute(str(_raise), _raise.construct_params(project))
        added = driver.execute(STORE, {**project, **given})
        stands = driver.execute(str(_standing), _standing.construct_params({"of_project": project_id}))
        counted = driver.execute(str(_progress), _progress.construct_params(progress))
    stored = {row[0] for row in added.fetchall()}
    if len(stored) < len(rows):
        connection.execute(statements.REMOVE_ANSWERS, {"ids": list(stored)})
        connection.execute(statements.RAISE_ANSWER_NUMBER, {"project": project_id, "count": -len(rows)})
        return None
    [standing] = stands.fetchall()
    return Stored(stored, Standing(*standing), [Progress(*row) for row in counted.fetchall()])


@contextmanager
def _sending(connection: Connection) -> Iterator[None]:
    """Send what the block executes at once, and say of a server that is away what SQLAlchemy would."""
    driver = cast("Driver[Any]", connection.connection.driver_connection)
    try:
        with driver.pipeline():
            yield
    except connection.dialect.loaded_dbapi.OperationalError as error:
        raise OperationalError("a pipeline", None, error) from error
