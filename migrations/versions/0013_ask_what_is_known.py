"""Let analysts mark right answers, and owners have a share of questions whose answer is known."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    number = "DOUBLE PRECISION" if op.get_bind().dialect.name == "postgresql" else "DOUBLE"
    op.execute(
        f"ALTER TABLE project ADD COLUMN known_share {number} DEFAULT 0 NOT NULL "
        "CONSTRAINT ck_project_known_share CHECK (known_share >= 0 AND known_share <= 0.5)"
    )
    op.add_column("answer", sa.Column("known_at", tercet.models.base.UtcDateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("answer", "known_at")
    op.drop_column("project", "known_share")
