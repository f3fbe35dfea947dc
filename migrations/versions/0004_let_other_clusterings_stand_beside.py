"""Let other clusterings stand beside the current one: what a run is for, and its name."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

BEFORE = sa.text("status = 'queued'")
AFTER = sa.text("status = 'queued' AND purpose = 'current'")


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.execute(
        "ALTER TABLE run ADD COLUMN purpose VARCHAR(12) DEFAULT 'current' NOT NULL "
        "CONSTRAINT ck_run_purpose CHECK (purpose IN ('current', 'view', 'comparison'))"
    )
    op.execute("ALTER TABLE run ADD COLUMN name VARCHAR(200) DEFAULT '' NOT NULL")
    _index_queued(AFTER)


def downgrade() -> None:
    # Before, there was nothing beside the project's own runs, and several views may wait.
    op.execute("DELETE FROM run WHERE purpose <> 'current'")
    _index_queued(BEFORE)
    op.execute("ALTER TABLE run DROP COLUMN name")
    op.execute("ALTER TABLE run DROP COLUMN purpose")


def _index_queued(where: sa.TextClause) -> None:
    op.drop_index("uq_run_queued", table_name="run")
    op.create_index("uq_run_queued", "run", ["project_id"], unique=True, sqlite_where=where, postgresql_where=where)
