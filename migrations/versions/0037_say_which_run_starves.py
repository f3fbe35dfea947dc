"""Say of a run whether it mostly waits for a processor."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.add_column("run", sa.Column("starved", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("run", "starved")
