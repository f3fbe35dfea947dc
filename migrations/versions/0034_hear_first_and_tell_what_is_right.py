"""Let owners ask that sounds are heard before an answer, and labelers be told what is right."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    for name in ("hear_first", "feedback"):
        op.add_column("project", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    for name in ("feedback", "hear_first"):
        op.drop_column("project", name)
