"""What a labeler waits for does not grow with the project: PostgreSQL looks rows up instead of reading tables."""

import time

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.storage import Storage
from tests.conftest import connect_to_postgres
from tests.factories import add_features
from tests.labeling.conftest import World, ask, give

# SQLite's plans are looked at in test_labeling_queue.py.
pytestmark = pytest.mark.only_on("postgres")

LARGE = ("answer", "item", "triplet", "user")
# psycopg prepares a statement after five times, and PostgreSQL keeps one plan for it after five more.
ROUNDS = 12
FILL = """
INSERT INTO "user" (name, is_admin, created_at)
SELECT 'someone ' || i, false, now() FROM generate_series(1, 2000) AS i;
INSERT INTO item (project_id, key, position, text, metadata)
SELECT id, 'more-' || i, 12 + i, '', '{}' FROM project, generate_series(1, 3000) AS i;
INSERT INTO triplet (project_id, anchor_id, left_id, right_id, priority, source, created_at)
SELECT a.project_id, a.id, b.id, b.id + 1, CASE WHEN mod(a.position, 2) = 0 THEN random() END, 'random', now()
FROM item AS a, item AS b WHERE b.position < 10 AND a.position > 20;
INSERT INTO answer (id, project_id, number, triplet_id, labeler_id, value, created_at)
SELECT gen_random_uuid(), project_id, row_number() OVER (), id, 10 + mod(id, 1900), 'yes', now()
FROM triplet WHERE priority IS NULL;
UPDATE project SET answer_number = (SELECT count(*) FROM answer);
ANALYZE;
"""


def test_asking_and_answering_read_no_large_table_whole(
    app: FastAPI, world: World, ada: TestClient, ben: TestClient, database_url: str
) -> None:
    with app.state.database.transaction() as session:
        add_features(session, Storage(app.state.settings.resolved_storage_url()), world.project, np.zeros((3012, 2)))
    with connect_to_postgres(database_url) as connection:
        # A connection tells what it has counted within a second, which may be after the reset.
        for statement in (FILL, "SELECT pg_stat_force_next_flush()", "SELECT pg_stat_reset()"):
            connection.execute(statement.encode())
    for _ in range(ROUNDS):
        for labeler in (ada, ben):
            assert give(labeler, ask(labeler, 9)[0]).status_code == 201
    app.state.database.close()  # what a connection counted is told when it ends
    read, looked_up = counts(database_url)
    assert looked_up["triplet"] > ROUNDS
    assert {table: read[table] for table in LARGE} == dict.fromkeys(LARGE, 0)


def counts(database_url: str) -> tuple[dict[str, int], dict[str, int]]:
    """Give for each table how many rows were read in whole readings, and how often rows were looked up."""
    database = Database(database_url)
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    tables = "SELECT relname, seq_tup_read, coalesce(idx_scan, 0) FROM pg_stat_user_tables"
    with database.reading() as session:
        deadline = time.monotonic() + 30
        while session.scalar(sa.text(others)) and time.monotonic() < deadline:
            time.sleep(0.05)
        rows = session.execute(sa.text(tables)).all()
    database.close()
    return {row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows}
