"""Stores labelers' answers as almost all of them are: new ones to known questions.

Answers wait for the turn to write of those before them, so that the turns are short: PostgreSQL is sent all
statements of a turn on one journey, and SQLite past SQLAlchemy (`drivers.py`).
"""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Executable, TextualSelect, bindparam, text

from app.clustering.schedule import STANDING, Standing
from app.labeling import statements
from app.labeling.drivers import ask
from app.labeling.queries import Progress, ask_progress
from app.models import now


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


def _gives_ids(statement: str) -> TextualSelect:
    at = bindparam("at", type_=statements.answer.created_at.type)
    return text(statement).bindparams(at).columns(statements.answer.id)


# The triplets are locked so that a refill cannot delete them. What the parts of one statement count is what was
# there before all of them, so that the new answers to a triplet are added to those that it has. The answers come as
# JSON, and rows are looked for by arrays, for the reason for which others are (`statements.among`).
_STORE_IN_POSTGRES = _gives_ids("""
WITH given AS (
    SELECT sent.*, (
        SELECT id FROM triplet
        WHERE project_id = :project
            AND (triplet.anchor_id, triplet.left_id, triplet.right_id) = (sent.anchor_id, sent.left_id, sent.right_id)
        FOR KEY SHARE
    ) AS triplet_id
    FROM json_to_recordset(CAST(:answers AS json)) AS sent (
        place int, id uuid, anchor_id int, left_id int, right_id int, labeler_id int, value text, response_ms int
    )
), fresh AS (
    INSERT INTO answer (id, project_id, number, triplet_id, labeler_id, value, response_ms, created_at)
    SELECT given.id, project.id, project.answer_number - :count + given.place, given.triplet_id,
        given.labeler_id, given.value, given.response_ms, :at
    FROM given JOIN project ON project.id = :project
    WHERE given.triplet_id IS NOT NULL
    ON CONFLICT (id) DO NOTHING
    RETURNING id, triplet_id, labeler_id
), ended AS (
    DELETE FROM lease WHERE triplet_id = ANY (ARRAY(SELECT triplet_id FROM fresh)) AND EXISTS (
        SELECT FROM fresh WHERE (fresh.triplet_id, fresh.labeler_id) = (lease.triplet_id, lease.labeler_id)
    )
), closed AS (
    UPDATE triplet SET priority = NULL
    WHERE id = ANY (ARRAY(SELECT triplet_id FROM fresh)) AND priority IS NOT NULL
        AND :redundancy <= (SELECT count(*) FROM fresh WHERE triplet_id = triplet.id) + (
            SELECT count(*) FROM answer
            WHERE triplet_id = triplet.id AND withdrawn_at IS NULL AND set_aside_id IS NULL
        )
)
SELECT id FROM fresh
""")
# SQLite changes one table at a time. `CROSS` has it begin with the answers that were given.
_ADD_TO_SQLITE = _gives_ids("""
INSERT INTO answer (id, project_id, number, triplet_id, labeler_id, value, response_ms, created_at)
SELECT json_extract(listed.value, '$.id'), project.id,
    project.answer_number - :count + json_extract(listed.value, '$.place'), triplet.id,
    json_extract(listed.value, '$.labeler_id'), json_extract(listed.value, '$.value'),
    json_extract(listed.value, '$.response_ms'), :at
FROM json_each(:answers) AS listed
CROSS JOIN project ON project.id = :project
CROSS JOIN triplet ON triplet.project_id = project.id
    AND triplet.anchor_id = json_extract(listed.value, '$.anchor_id')
    AND triplet.left_id = json_extract(listed.value, '$.left_id')
    AND triplet.right_id = json_extract(listed.value, '$.right_id')
WHERE true
ON CONFLICT (id) DO NOTHING
RETURNING id
""")
# The new answers are those with the last numbers: one that was here already may have been withdrawn since, and its
# question be on screen again.
_END_LEASES_IN_SQLITE = text("""
DELETE FROM lease WHERE id IN (
    SELECT lease.id FROM project
    CROSS JOIN answer ON answer.project_id = project.id AND answer.number > project.answer_number - :count
    CROSS JOIN lease ON lease.triplet_id = answer.triplet_id AND lease.labeler_id = answer.labeler_id
    WHERE project.id = :project
)
""")
_CLOSE_IN_SQLITE = text("""
UPDATE triplet SET priority = NULL WHERE priority IS NOT NULL AND id IN (
    SELECT answer.triplet_id FROM project
    CROSS JOIN answer ON answer.project_id = project.id AND answer.number > project.answer_number - :count
    WHERE project.id = :project
) AND :redundancy <= (
    SELECT count(*) FROM answer
    WHERE triplet_id = triplet.id AND withdrawn_at IS NULL AND set_aside_id IS NULL
)
""")
# The first of each gives the ids of the answers that are new.
STORE: dict[str, tuple[Executable, ...]] = {
    "postgresql": (_STORE_IN_POSTGRES,),
    "sqlite": (_ADD_TO_SQLITE, _END_LEASES_IN_SQLITE, _CLOSE_IN_SQLITE),
}


def store(
    connection: Connection, project_id: int, redundancy: int, rows: Sequence[Row], labelers: Collection[int]
) -> Stored | None:
    """Number and add answers, end their leases and close their triplets; count the progress of labelers.

    None, and no answer is stored, if not all of them are new answers to triplets that exist: then the caller stores
    them another way or undoes the transaction, as leases of new ones have ended.
    """
    answers = [{"place": place, **row._asdict(), "id": row.id.hex} for place, row in enumerate(rows, 1)]
    raised = {"project": project_id, "count": len(rows)}
    given = {**raised, "answers": json.dumps(answers), "redundancy": redundancy, "at": now()}
    _, added, *_, [standing], counted = ask(
        connection,
        (statements.RAISE_ANSWER_NUMBER, raised),
        *((statement, given) for statement in STORE[connection.dialect.name]),
        (STANDING, {"of_project": project_id}),
        ask_progress(connection, project_id, labelers),
    )
    stored = {row[0] for row in added}
    if len(stored) < len(rows):
        connection.execute(statements.REMOVE_ANSWERS, {"ids": list(stored)})
        connection.execute(statements.RAISE_ANSWER_NUMBER, {"project": project_id, "count": -len(rows)})
        return None
    return Stored(stored, Standing(*standing), [Progress(*row) for row in counted])
