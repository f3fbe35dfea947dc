"""Let owners set how many answers each labeler, and all together, are asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    for name in ("labeler_goal", "project_goal"):
        op.add_column("project", sa.Column(name, sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("project", "project_goal")
    op.drop_column("project", "labeler_goal")
