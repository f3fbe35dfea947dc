"""Let questions need further answers where a run doubts theirs, and wait for one labeler."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

REPEATS = 2  # of projects that are there already


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.execute(
        f"ALTER TABLE project ADD COLUMN repeats_in_doubt INTEGER DEFAULT {REPEATS} NOT NULL "
        "CONSTRAINT ck_project_repeats_in_doubt CHECK (repeats_in_doubt >= 0)"
    )
    op.add_column("triplet", sa.Column("extra_answers", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("triplet", sa.Column("asked_of", sa.Integer()))


def downgrade() -> None:
    op.drop_column("triplet", "asked_of")
    op.drop_column("triplet", "extra_answers")
    op.drop_column("project", "repeats_in_doubt")
