"""Call another clustering an alternative, as pages, addresses and code do; it was a view before."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

QUEUED = "CREATE UNIQUE INDEX uq_run_queued ON run (project_id) WHERE status = 'queued' AND purpose = 'current'"


def upgrade() -> None:
    _rename("view", "alternative")


def downgrade() -> None:
    _rename("alternative", "view")


def _rename(before: str, after: str) -> None:
    run = sa.table("run", sa.column("purpose"), sa.column("purpose_before"))
    check = f"CONSTRAINT ck_run_purpose CHECK (purpose IN ('current', '{after}', 'comparison'))"
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE run DROP CONSTRAINT ck_run_purpose")
        op.execute(run.update().where(run.c.purpose == before).values(purpose=after))
        op.execute(f"ALTER TABLE run ADD {check}")
        return
    # SQLite cannot change a constraint, and alembic's own way would copy the whole table: the column is made anew.
    op.drop_index("uq_run_queued", table_name="run")
    op.execute("ALTER TABLE run RENAME COLUMN purpose TO purpose_before")
    op.execute(f"ALTER TABLE run ADD COLUMN purpose VARCHAR(12) DEFAULT 'current' NOT NULL {check}")
    renamed = sa.case((run.c.purpose_before == before, after), else_=run.c.purpose_before)
    op.execute(run.update().values(purpose=renamed))
    op.execute("ALTER TABLE run DROP COLUMN purpose_before")
    op.execute(QUEUED)
